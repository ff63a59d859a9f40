//! tch (libtorch) tensors as DLPack tensors and back, without a copy.
//!
//! | type | export | import |
//! |---|---|---|
//! | `tch::Tensor` | shared, writable, if it is the only handle; else one copy | shared if writable, else one copy |
//! | `&tch::Tensor` | one copy, or shared by the unsafe [`export_shared`] | – |
//! | `ReadOnly<tch::Tensor>` | shared, read-only | shared, read-only |
//! | `tch::Kind`, `tch::Device` | exchanged | exchanged |
//!
//! An import is one copy if the memory is misaligned or has negative strides, which libtorch cannot hold.
//!
//! All element types that libtorch and DLPack have in common can be exported and imported, also those that tch's `Kind`
//! has no name for (u16, u32, u64, …). Sparse, quantized and meta tensors are refused. So is a tensor that requires
//! grad: `detach` it first. Conjugate and negative views, whose elements libtorch computes when they are read, are
//! copied.
//!
//! # Read-only memory
//! libtorch has no read-only tensors, and `shallow_clone` makes a handle that can write from any `&tch::Tensor`. A
//! [`ReadOnly`](dlbridge_core::ReadOnly) tensor is therefore *sealed*: libtorch itself refuses, with an error, every
//! operation that could write the storage, through whatever tensor shares it. Reading works as usual. tch's own
//! `data_ptr` and `copy_data` (and with it `Vec::try_from`) ask libtorch for a writable pointer, so they are refused
//! too: use [`data_ptr`], and read elements with `tensor.convert::<Vec<f32>>()` or after `tensor.copy()`.
//!
//! # Devices and streams
//! CPU, pinned and managed memory become CPU tensors; CUDA memory keeps its device index, and is refused if libtorch
//! does not see that device. A copy stays on its device: moving a tensor is for `to_device`, not for `convert`.
//!
//! Nothing is synchronised here, because DLPack leaves that to the two sides. When a tensor is imported, the producer's
//! work on the memory must be complete, or be ordered before libtorch's current stream of that device. Before an
//! exported CUDA tensor is used on another stream, `tch::Cuda::synchronize` must have run. Releasing is not ordered
//! either: synchronise before the last handle to an imported or exported CUDA tensor is dropped while kernels may still
//! use it.
//!
//! ```
//! use dlbridge_core::{Bridge, ReadOnly, Tensor};
//! use dlbridge_tch as _; // the facade does this for you
//!
//! let tensor = Tensor::new(vec![1f32, 2., 3., 4.], &[2, 2])?;
//! let torch: tch::Tensor = tensor.share()?;
//! let product = torch.matmul(&torch);
//! let back: Vec<f32> = product.share::<Tensor>()?.to_vec()?;
//! assert_eq!(back, [7., 10., 15., 22.]);
//! # Ok::<(), dlbridge_core::Error>(())
//! ```

mod dtype;
mod export;
mod import;
mod shim;

pub use export::export_shared;

/// The framework's own crate, at the version that this adapter is built for.
pub use tch;

/// Stands for tch in the type parameters of the traits; Rust always infers it.
#[derive(Debug)]
pub enum Tch {}

const NAME: &str = "tch";

/// The address of the first element, for reading only.
///
/// tch's own `data_ptr` asks libtorch for a writable address, which libtorch refuses for a sealed tensor.
///
/// # Errors
/// As for the export: the tensor has no memory that DLPack can express.
pub fn data_ptr(tensor: &tch::Tensor) -> Result<*const u8, dlbridge_core::Error> {
    shim::Dense::read(tensor, |dense| Ok(dense.data()))
}
