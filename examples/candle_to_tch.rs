//! Tensors that candle has loaded are used by libtorch without a copy, and libtorch's result is taken back.
//!
//! ```text
//! adapters/tch/libtorch.sh cargo run --example candle_to_tch --features ndarray,candle,tch [FILE]
//! ```
//!
//! `FILE` is a safetensors file. Every tensor in it is shared with libtorch, if libtorch has its dtype. Without a file,
//! the example first writes a small one (a batch of inputs and the weights of a linear layer), and also runs that layer
//! in both frameworks.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::ptr::null;

use comfy_table::{Table, presets};
use dlbridge::candle::candle_core::{self, DType, Device, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::Ix2;
use dlbridge::tch::tch;
use dlbridge::{Bridge, CopyPolicy, ReadOnly, Route, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = tempfile::tempdir()?;
    let file = match &given {
        Some(file) => file.clone(),
        None => write_layer(folder.path())?,
    };
    let tensors: BTreeMap<String, Candle> = candle_core::safetensors::load(&file, &Device::Cpu)?.into_iter().collect();
    println!("{}: {} tensors\n", file.display(), tensors.len());

    let mut steps = Steps::new();
    let mut shared = BTreeMap::new();
    for (name, candle) in &tensors {
        let out: Tensor = candle.share()?;
        match candle.share::<ReadOnly<tch::Tensor>>() {
            Ok(torch) => {
                let data = dlbridge::tch::data_ptr(&torch)?;
                assert_eq!(data, out.data(), "libtorch uses candle's own memory");
                steps.row(name, &out, "candle → tch", [out.data(), data], &Route::Shared);
                shared.insert(name.as_str(), torch);
            }
            // libtorch does not know some of candle's small floats.
            Err(error) => steps.row(name, &out, "candle → tch", [out.data(), null()], &Route::Impossible(error)),
        }
    }

    if given.is_none() {
        let (inputs, weights) = (&shared["inputs"], &shared["weights"]);
        let probabilities = inputs.matmul(weights).softmax(-1, tch::Kind::Float);
        let candle = tensors["inputs"].matmul(&tensors["weights"])?;
        let difference = compare(probabilities, &candle, &mut steps)?;
        println!("{}", steps.0);
        println!("softmax(inputs · weights) in libtorch and in candle differ by at most {difference:.1e}.");
    } else {
        println!("{}", steps.0);
    }
    Ok(())
}

/// Imports libtorch's result into ndarray and into candle, and compares it with candle's own result.
fn compare(probabilities: tch::Tensor, product: &Candle, steps: &mut Steps) -> Result<f32, Box<dyn std::error::Error>> {
    // There is no other handle to this new result, so it is shared as writable memory.
    let result: Tensor = probabilities.share()?;
    let data = result.data();
    let array: Owned<f32, Ix2> = result.share()?;
    let result: Tensor = array.share()?;
    steps.row("result", &result, "tch → ndarray", [data, result.data()], &Route::Shared);

    // candle can hold only memory that Rust allocated; the route says so in advance.
    let route = result.route::<Candle>();
    let torch = result.convert_with::<Candle>(CopyPolicy::IfNeeded)?.value;
    let out: Tensor = (&torch).share()?;
    steps.row("result", &out, "tch → candle", [data, out.data()], &route);
    drop(out);

    let exp = product.broadcast_sub(&product.max_keepdim(1)?)?.exp()?;
    let candle = exp.broadcast_div(&exp.sum_keepdim(1)?)?;
    Ok((candle - torch)?.abs()?.flatten_all()?.max(0)?.to_scalar()?)
}

/// A batch of inputs and a linear layer, as a model on disk would have them.
fn write_layer(folder: &Path) -> Result<PathBuf, candle_core::Error> {
    let file = folder.join("layer.safetensors");
    let tensors = HashMap::from([
        ("inputs", Candle::randn(0f32, 1., (128, 64), &Device::Cpu)?),
        ("weights", Candle::randn(0f32, 0.1, (64, 10), &Device::Cpu)?),
        ("embeddings", Candle::randn(0f32, 1., (1000, 32), &Device::Cpu)?.to_dtype(DType::BF16)?),
        ("tokens", Candle::arange(0i64, 128, &Device::Cpu)?.reshape((4, 32))?),
    ]);
    candle_core::safetensors::save(&tensors, &file)?;
    Ok(file)
}

struct Steps(Table);

impl Steps {
    fn new() -> Self {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header(["tensor", "dtype", "shape", "step", "first element at", "afterwards at", "how"]);
        Self(table)
    }

    fn row(&mut self, name: &str, tensor: &Tensor, step: &str, [from, to]: [*const u8; 2], how: &Route) {
        let (dtype, shape) = (tensor.dtype().to_string(), format!("{:?}", tensor.shape()));
        self.0.add_row([name, &dtype, &shape, step, &format!("{from:p}"), &format!("{to:p}"), &how.to_string()]);
    }
}
