//! candle tensors as DLPack tensors without a copy, and back.
//!
//! | type | out | in |
//! |---|---|---|
//! | `candle_core::Tensor`, `&Tensor` | shared, read-only, any layout | shared if it was made from a candle tensor, owns a whole `Vec` (an ndarray `Array`, a fresh copy) in row-major order, or is [adopted](#adoption), else one copy |
//! | `candle_core::DType`, `Device` | exchanged | exchanged |
//!
//! All dtypes on the CPU can be exported and imported; sub-byte elements are packed. candle has no bool, i8, u16 or
//! u64: these are errors, never reinterpreted. Tensors on a GPU are refused; move them with `to_device` first.
//!
//! # While an export lives
//! candle tensors change through `&self` (`slice_set`, `zero_set`, `Var::set`, in-place custom ops). The export holds
//! the storage's read lock until it is dropped, on whatever thread that happens: candle can still read, but **writes
//! wait**. A thread that writes in place to a tensor whose export it still holds waits forever; and while a writer
//! waits, so do `share`, `convert` and `route` of the same storage. [`export_unguarded`] shares without the lock, for
//! callers who rule out writes themselves.
//!
//! # Adoption
//! candle's storage is a `Vec`, which foreign memory is not. If the application has installed the [adopting
//! allocator](dlbridge_core::adopting), foreign memory of 16 KiB or more can be shared all the same, in nearly any
//! layout without negative strides (Fortran order, pitched, stepped, broadcast), if its element type is a Rust type.
//! Memory that is read-only (a mapped file, an Arrow column) or has gaps between its elements is imported **sealed**:
//! an operation that would write in place waits forever instead of writing. candle's own operations can still read; but
//! once a writer waits, whoever asks for `storage_and_layout`, as `share` and `route` do, waits behind it. Everything
//! else takes one copy, onto huge pages where the system has them. `route` tells which it will be. Without the
//! allocator, [`lend`] gives candle foreign memory for the length of a closure; it is `unsafe`.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use dlbridge_core::{Bridge, Exchange, DataType};
//! use dlbridge_candle as _; // the facade does this for you
//!
//! let candle = Tensor::arange(0f32, 6., &Device::Cpu)?.reshape((2, 3))?.t()?;
//! let tensor: dlbridge_core::Tensor = (&candle).share()?;
//! assert_eq!(tensor.shape(), [3, 2]);
//! assert_eq!(tensor.strides(), [1, 3]);
//! assert_eq!(candle.dtype().exchange::<DataType>()?.to_string(), "float32");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adopt;
mod dtype;
mod export;
mod import;
mod lock;
mod scoped;

pub use export::export_unguarded;
pub use scoped::lend;

/// The framework, at the version that this adapter is built for.
pub use candle_core;

/// The marker of this adapter, which is always inferred.
#[derive(Debug)]
pub enum Candle {}

const NAME: &str = "candle";

fn failed(error: candle_core::Error) -> dlbridge_core::Error {
    dlbridge_core::Error::Framework { framework: NAME, message: error.to_string().into() }
}
