//! A tour among the pure-Rust frameworks: `cargo run --example tour --features ndarray,candle`.
//!
//! One buffer goes from ndarray to candle and back, and each step prints where its elements are and whether they were
//! shared or copied. Nothing needs to be installed.

use comfy_table::{Table, presets};
use dlbridge::candle::candle_core::{DType, Device, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{Array2, ArrayView2, ArrayViewMut2, Ix2, array};
use dlbridge::{Bridge, CopyPolicy, DataType, Exchange, Lend, LendMut, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut steps = Steps::new();

    // An ndarray array becomes a candle tensor: candle takes over its vector.
    let array = array![[1f32, 2., 3.], [4., 5., 6.]];
    steps.row("ndarray Array", array.as_ptr(), "made here");
    let candle = array.convert_with::<Candle>(CopyPolicy::IfNeeded)?;
    let exported: Tensor = (&candle.value).share()?;
    steps.row("→ candle", exported.data(), &how(candle.copied));
    drop(exported);

    // candle computes, and the result becomes a DLPack tensor with the same strides.
    let doubled = (candle.value.t()? * 2.)?;
    let transposed: Tensor = doubled.t()?.share()?;
    steps.row("candle 2x, transposed", transposed.data(), "shared");

    // ndarray reads candle's memory, as a borrowed view or as an owned array.
    let view: ArrayView2<f32> = transposed.lend()?;
    assert_eq!(view, array![[2., 4., 6.], [8., 10., 12.]]);
    steps.row("→ ndarray ArrayView2", view.as_ptr(), "lent");
    let owned: Owned<f32, Ix2> = transposed.share()?;
    steps.row("→ ndarray Owned", owned.as_ptr(), "shared");

    // An `Array` can hold only memory that Rust allocated for it, so this is a copy, and the result says why.
    let copied = owned.convert_with::<Array2<f32>>(CopyPolicy::IfNeeded)?;
    steps.row("→ ndarray Array", copied.value.as_ptr(), &how(copied.copied));

    // A tensor that nobody else uses can be written in place. At the end it becomes a vector again.
    let mut tensor: Tensor = copied.value.share()?;
    tensor.lend_mut::<ArrayViewMut2<f32>>()?.mapv_inplace(f32::sqrt);
    steps.row("→ written in place", tensor.data(), "shared");
    let vec: Vec<f32> = tensor.share()?;
    steps.row("→ Vec", vec.as_ptr(), "shared");

    println!("{}", steps.0);
    let dtype: DataType = DType::BF16.exchange()?;
    let device: dlbridge::Device = Device::Cpu.exchange()?;
    println!("candle's BF16 is {dtype} to everybody else, and its Cpu is {device}.");
    Ok(())
}

fn how(copied: Option<dlbridge::Reason>) -> String {
    copied.map_or_else(|| "shared".to_owned(), |reason| format!("copied, because {reason}"))
}

struct Steps(Table);

impl Steps {
    fn new() -> Self {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN).set_header(["step", "first element at", "how"]);
        Self(table)
    }

    fn row<T>(&mut self, step: &str, data: *const T, how: &str) {
        self.0.add_row([step, &format!("{data:p}"), how]);
    }
}
