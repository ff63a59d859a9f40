//! Tensors of burn's libtorch backend, which burn has deprecated, shared without a copy.
//!
//! The backend's primitive holds a public `tch::Tensor`, which `dlbridge-tch` can share:
//!
//! ```text
//! cd examples/burn-tch && TORCH_VERSION=2.9.0 ../../adapters/tch/libtorch.sh cargo run
//! ```

#![expect(deprecated, reason = "burn has deprecated the backend; this is for those who still use it")]

use burn_tch::{LibTorch, TchTensor};
use burn_tensor::{Device, Tensor as Burn};
use candle_core::Tensor as Candle;
use dlbridge::tch::tch;
use dlbridge::{Bridge, ReadOnly, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Export: from burn's tensor to its primitive, to the tch tensor in it, to DLPack.
    let burn = Burn::<2>::from_data([[1f32, 2.], [3., 4.]], &Device::libtorch());
    let torch = primitive(&burn)?.tensor;
    let address = torch.data_ptr() as *const u8;
    drop(burn);
    let shared: Tensor = shared(torch)?;
    println!("burn has it at {address:p}, shared at {:p}", shared.data());
    assert_eq!(shared.data(), address);
    drop(shared);

    // Import: memory that libtorch may write becomes a tensor of burn's. Read-only memory becomes a `ReadOnly` tensor.
    let result = Burn::<2>::from_data([[1f32, 2.], [3., 4.]], &Device::libtorch()).matmul(burn_of(vec![1f32; 4])?);
    println!("{}", result.to_data());
    let candle = Candle::new(&[[1f32, 2.], [3., 4.]], &candle_core::Device::Cpu)?;
    let read_only: ReadOnly<tch::Tensor> = candle.share()?;
    println!("candle's memory in libtorch, read-only: {:?}", read_only.size());
    Ok(())
}

fn primitive(tensor: &Burn<2>) -> Result<TchTensor, String> {
    tensor.clone().try_into_primitive::<LibTorch>().map_err(|error| format!("{error:?}"))
}

/// Shares a tensor to which burn has no handle any more. While burn keeps one, sharing is `unsafe`, because burn's
/// operations may write in place without Rust noticing; `convert` copies in that case.
fn shared(torch: tch::Tensor) -> Result<Tensor, dlbridge::Error> {
    torch.share()
}

/// A 2 × 2 tensor of burn's over the memory of a vector.
fn burn_of(elements: Vec<f32>) -> Result<Burn<2>, dlbridge::Error> {
    let torch: tch::Tensor = Tensor::new(elements, &[2, 2])?.share()?;
    Ok(Burn::from_primitive::<LibTorch>(TchTensor::new(torch)))
}
