//! One model, two frameworks, the same memory: `cargo run --example burn_and_candle --features burn,candle`.
//!
//! A batch of inputs and the weights of a small classifier are candle tensors. burn shares them, both frameworks run
//! the classifier, and the outputs are compared. The table gives the address of every tensor in either framework.

use comfy_table::{Table, presets};
use dlbridge::burn::burn_flex::Flex;
use dlbridge::burn::burn_tensor::{Tensor as Burn, activation};
use dlbridge::candle::candle_core::{self, Device, Tensor as Candle};
use dlbridge::{Bridge, CopyPolicy, Tensor};

/// A layer of each framework: weights, and a bias for each output.
struct Layer<T> {
    weights: T,
    bias: T,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let normal = |shape: (usize, usize)| Candle::randn(0f32, 1., shape, &Device::Cpu);
    let inputs = normal((64, 32))?;
    let hidden = Layer { weights: normal((32, 128))?, bias: normal((1, 128))? };
    let output = Layer { weights: normal((128, 10))?, bias: normal((1, 10))? };

    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["tensor", "shape", "candle has it at", "burn has it at"]);
    let mut share = |name: &str, candle: &Candle| -> Result<Burn<2>, dlbridge::Error> {
        let burn: Burn<2> = candle.share()?;
        let here = candle.share::<Tensor>()?.data();
        table.add_row([name, &format!("{:?}", candle.dims()), &format!("{here:p}"), &format!("{:p}", address(&burn))]);
        Ok(burn)
    };
    let burn_inputs = share("inputs", &inputs)?;
    let burn_hidden =
        Layer { weights: share("hidden weights", &hidden.weights)?, bias: share("hidden bias", &hidden.bias)? };
    let burn_output =
        Layer { weights: share("output weights", &output.weights)?, bias: share("output bias", &output.bias)? };
    println!("{table}");

    let there = run_burn(burn_inputs, burn_hidden, burn_output);
    let here = run_candle(&inputs, &hidden, &output)?;
    // The result is in burn's own memory, and there is no other handle to it, so candle takes over its vector.
    let there = there.convert_with::<Candle>(CopyPolicy::IfNeeded)?;
    println!(
        "burn's output as a candle tensor: {}",
        there.copied.map_or("shared".to_owned(), |reason| reason.to_string())
    );
    let difference: f32 = (here - there.value)?.abs()?.flatten_all()?.max(0)?.to_scalar()?;
    println!("the outputs of candle and burn differ by at most {difference:.1e}.");
    assert!(difference < 1e-4);
    Ok(())
}

fn run_candle(inputs: &Candle, hidden: &Layer<Candle>, output: &Layer<Candle>) -> candle_core::Result<Candle> {
    let hidden = inputs.matmul(&hidden.weights)?.broadcast_add(&hidden.bias)?.relu()?;
    let scores = hidden.matmul(&output.weights)?.broadcast_add(&output.bias)?;
    let exp = scores.broadcast_sub(&scores.max_keepdim(1)?)?.exp()?;
    exp.broadcast_div(&exp.sum_keepdim(1)?)
}

fn run_burn(inputs: Burn<2>, hidden: Layer<Burn<2>>, output: Layer<Burn<2>>) -> Burn<2> {
    let hidden = activation::relu(inputs.matmul(hidden.weights) + hidden.bias);
    activation::softmax(hidden.matmul(output.weights) + output.bias, 1)
}

/// The address of the first element in burn's own primitive.
fn address(tensor: &Burn<2>) -> *const u8 {
    let primitive = tensor.clone().try_into_primitive::<Flex>().expect("an import is on flex");
    primitive.bytes()[primitive.layout().start_offset() * primitive.dtype().size()..].as_ptr()
}
