//! libtorch's results in candle without a copy: the adopting allocator at work.
//!
//! ```text
//! adapters/tch/libtorch.sh cargo run --example tch_to_candle --features candle,tch
//! ```
//!
//! candle's storage is a `Vec`, and libtorch's memory is not. The allocator that this program installs lets a `Vec` own
//! that memory all the same, and gives it back to libtorch when candle frees the last tensor.

use std::alloc::System;
use std::time::Instant;

use comfy_table::{Table, presets};
use dlbridge::adopting::Adopting;
use dlbridge::candle::candle_core::{Device, Tensor as Candle};
use dlbridge::tch::{data_ptr, tch};
use dlbridge::{Bridge, CopyPolicy, Tensor};
use tch::{Kind, Tensor as Torch};

#[global_allocator]
static ALLOCATOR: Adopting<System> = Adopting::new(System);

const CPU: (Kind, tch::Device) = (Kind::Float, tch::Device::Cpu);

type Compute = fn() -> Torch;

/// What libtorch computes. Each result is the only handle to its memory, so that candle may write it.
const RESULTS: [(&str, Compute); 5] = [
    ("matrix product", || Torch::randn([512, 256], CPU).matmul(&Torch::randn([256, 512], CPU))),
    ("transposed", || Torch::randn([512, 1024], CPU).tr()),
    ("a column block", || Torch::randn([1024, 1024], CPU).narrow(1, 100, 300)),
    ("softmax of 256 MiB", || Torch::randn([1 << 16, 1 << 10], CPU).softmax(-1, Kind::Float)),
    ("ten numbers", || Torch::randn([10], CPU)),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["result of libtorch", "shape", "libtorch had it at", "candle has it at", "how", "time"]);
    for (name, compute) in RESULTS {
        let torch = compute();
        let (shape, here) = (format!("{:?}", torch.size()), data_ptr(&torch)?);
        let start = Instant::now();
        let candle = torch.convert_with::<Candle>(CopyPolicy::IfNeeded)?;
        let time = format!("{:.1?}", start.elapsed());
        let there = candle.value.share::<Tensor>()?.data();
        let how = candle.copied.map_or("shared".to_owned(), |reason| format!("copied, because {reason}"));
        assert_eq!(candle.copied.is_none(), here == there);
        table.add_row([name, &shape, &format!("{here:p}"), &format!("{there:p}"), &how, &time]);
    }
    println!("{table}");

    // candle computes on libtorch's memory as on its own.
    let torch = Torch::ones([128, 128], CPU);
    let candle: Candle = torch.share()?;
    let sum = candle.matmul(&Candle::eye(128, candle.dtype(), &Device::Cpu)?)?.sum_all()?.to_scalar::<f32>()?;
    println!("ones · identity sums up to {sum}");
    Ok(())
}
