//! burn tensors as DLPack tensors without a copy, and back.
//!
//! | type | out | in |
//! |---|---|---|
//! | `Tensor<D, K>`, `&Tensor<D, K>` on the backend flex (float, int, bool; with or without autodiff) | shared, any layout; writable if it is the only handle | shared, any layout |
//! | `FlexTensor`, `&FlexTensor` (the backend's primitive) | as above | as above |
//! | `Tensor<D, K>` on any other backend | [`to_host`], copied | [`from_host`], copied |
//! | `NdArrayTensor`, `&NdArrayTensor` (feature `ndarray`; the primitive of a backend that burn has deprecated) | shared, any layout; writable if it is the only handle | shared in row-major order, else one copy |
//! | `burn_std::DType`, `burn_tensor::Device` | exchanged | exchanged |
//!
//! For a tensor on the backend ndarray, take the primitive: `tensor.try_into_primitive::<NdArray>()`, and
//! `Tensor::from_primitive::<NdArray>`. That backend has no `f16` and no `bf16`, and copies borrowed memory in most
//! operations, views included; its own arrays come back as borrowed memory.
//!
//! All types of flex go both ways: floats (`f16` and `bf16` too), integers of both signs, booleans of one byte.
//! `Flex32` is `float32` in memory. Quantized tensors and booleans of four bytes are errors. The type that a tensor has
//! is the type that arrives: nothing is converted to a device's default.
//!
//! The only handle goes out as the vector that its memory is, so that candle and ndarray take it over. The results of
//! some operations (`matmul`, `zeros`) are no vectors of their type, but memory aligned to 16 bytes: these are writable,
//! and candle and ndarray copy them. Memory that burn has yet to read from a file is a copy, and is read for it.
//!
//! # Copy-on-write
//! burn writes in place only to memory that one tensor alone holds. An export is a handle, so whatever burn does to the
//! tensor meanwhile happens in memory of its own. An import holds foreign memory that nobody may write: the first
//! operation that would write in place copies it, **and lets go of the foreign memory at once**. The copy takes what
//! lies between the lowest and the highest element, gaps included.
//!
//! # Automatic differentiation
//! A tensor with autodiff goes out as the tensor inside; no gradient flows through what others do with its memory.
//! `Tensor::autodiff` puts an imported tensor onto the tape, without a copy.
//!
//! # GPUs
//! Sharing GPU memory with cubecl's runtimes is not built yet; `to_host` and `from_host` copy through host memory, under
//! their names. What the way without a copy will be: for CUDA, burn's primitive holds a handle whose resource
//! (`client.get_resource`) pins a device address while it lives, so that an export can keep the handle and give that
//! address once the client has synchronised, because its stream is not public; with fusion, the tensor is resolved
//! first. Strides may be pitched, which DLPack can say. An import has to copy: cubecl registers no foreign memory.
//!
//! # burn-tch
//! burn's libtorch backend has no feature here: it is deprecated, and would pin `tch` to an old version. Its tensors hold
//! a public `tch::Tensor`, which `dlbridge-tch` takes at burn-tch's own version (`examples/burn-tch` in the repository).
//!
//! ```
//! use burn_tensor::{Device, Tensor};
//! use dlbridge_burn as _; // the facade does this for you
//! use dlbridge_core::Bridge;
//!
//! let tensor = Tensor::<2>::from_data([[1f32, 2., 3.], [4., 5., 6.]], &Device::flex());
//! let shared: dlbridge_core::Tensor = tensor.transpose().share()?;
//! assert_eq!(shared.shape(), [3, 2]);
//! assert_eq!(shared.strides(), [1, 3]);
//!
//! let back: Tensor<2> = shared.share()?; // the same memory
//! assert_eq!((back + 1.0).to_data().to_vec::<f32>().unwrap(), [2., 5., 3., 6., 4., 7.]);
//! # Ok::<(), dlbridge_core::Error>(())
//! ```

mod dtype;
#[cfg(feature = "flex")]
mod export;
mod host;
#[cfg(feature = "flex")]
mod import;
#[cfg(any(feature = "flex", feature = "ndarray"))]
mod memory;
#[cfg(feature = "ndarray")]
#[expect(deprecated, reason = "burn has deprecated the backend; it is still used")]
mod ndarray;

pub use host::{from_host, to_host};

#[cfg(feature = "flex")]
pub use burn_flex;
#[cfg(feature = "ndarray")]
#[expect(deprecated, reason = "burn has deprecated the backend; it is still used")]
pub use burn_ndarray;
/// The framework, at the version that this adapter is built for.
pub use {burn_std, burn_tensor};

/// The marker of this adapter; always inferred.
#[derive(Debug)]
pub enum Burn {}

const NAME: &str = "burn";
