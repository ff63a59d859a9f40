//! candle tensors as DLPack tensors without a copy, and back.
//!
//! | type | export | import |
//! |---|---|---|
//! | `candle_core::Tensor`, `&Tensor` | shared, read-only, any layout; a variable is copied | shared if it was made from a candle tensor, owns a whole `Vec` in row-major order, or is writable and [adopted](#adoption), else one copy |
//! | `ReadOnly<candle_core::Tensor>` | shared, read-only | as above, and read-only memory is adopted as well |
//! | `candle_core::DType`, `Device` | exchanged | exchanged |
//!
//! All dtypes on the CPU can be exported and imported; sub-byte elements are packed. candle has no bool, i8, u16 or
//! u64: these are errors, never reinterpreted. Tensors on a GPU are refused; move them with `to_device` first.
//!
//! # While an export lives
//! candle tensors change through `&self` (`slice_set`, `zero_set`, in-place custom ops). The export holds the storage's
//! read lock until it is dropped, on whatever thread that happens: candle can still read, and **writes wait**. So a
//! thread that writes in place to a tensor whose export it holds itself waits forever. Nothing of this crate waits for
//! such a writer: `share`, `convert` and `route` of the same storage answer meanwhile. (candle's own
//! `storage_and_layout` does wait for it.)
//!
//! The first export of a storage waits, as every reader of candle's does, for writes that have begun or are queued. So
//! it can wait for ever where such a reader can: within a custom operation on the same storage; under candle's own
//! guard of it (`storage_and_layout`); and while the thread holds an export of another tensor, if others write that one
//! from this (`other.slice_set(&this, …)`) and this one, too.
//!
//! A variable is written in place by every step of an optimiser, so that `share` refuses it: `convert` copies it, and
//! `var.as_detached_tensor().share()` shares it if no step is taken meanwhile. [`export_unguarded`] shares without the
//! lock, for callers who rule out writes themselves.
//!
//! # Adoption
//! candle's storage is a `Vec`, which foreign memory is not. If the application has installed the [adopting
//! allocator](dlbridge_core::adopting), foreign memory of 16 KiB or more can be shared all the same, in nearly any
//! layout without negative strides (Fortran order, pitched, stepped, broadcast), if its element type is a Rust type.
//! Everything else takes one copy, onto huge pages where the system has them. `route` tells which it will be. Without
//! the allocator, [`lend`] gives candle foreign memory for the length of a closure; it is `unsafe`.
//!
//! # Read-only memory
//! candle has no read-only tensors. Memory that it must not write (a mapped file, an Arrow column that others hold,
//! memory whose gaps may be somebody else's) arrives without a copy as [`ReadOnly`](dlbridge_core::ReadOnly) only, and
//! a plain tensor of it is a copy. A `ReadOnly` tensor derefs to a tensor, so that it goes wherever candle takes a
//! `&Tensor`: `layer.forward(&x)`, `x.matmul(&w)`. A layer that keeps its weights takes `(*w).clone()`, which shares
//! the memory. Operations that write in place are not for it: the storage is *sealed*, by a read lock that is never
//! given back, and such an operation waits forever instead of writing. A `ReadOnly` tensor of candle's own memory,
//! which came from candle or is a copy, is like any other of candle's tensors.
//!
//! # What the proofs rest on
//! Axioms about candle-core 0.11.1, each with the test that fails if candle changes:
//!
//! | axiom | claim | where it was read | test |
//! |---|---|---|---|
//! | *lock* | candle writes a storage, or replaces its vector, only under the storage's write lock | `Tensor::storage_mut` and `storage_mut_and_layout` in `tensor.rs`, and their callers | `f1_f5_candle_cannot_write_what_it_shares` |
//! | *place* | a storage is behind one shared allocation of the tensors that use it, and does not move in it | the field `storage` in `tensor.rs` | `many_threads_share_and_write_one_storage` |
//! | *recursion* | a custom operation gets the storage under a read lock that does not wait for writers in the queue | `Tensor::storage` in `tensor.rs`, `apply_op1_no_bwd` in `custom_op.rs` | `while_a_writer_waits_for_an_export_everything_else_answers` |
//! | *vector* | the elements of a storage on the CPU are one `Vec`, which is freed with the storage | `CpuStorage` in `cpu_backend/mod.rs` | `any_layout_without_negative_strides_is_adopted` |
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

/// The framework, at the version that this adapter is built for. Its names are here as well:
/// `dlbridge::candle::Tensor`.
pub use candle_core;
#[doc(no_inline)]
pub use candle_core::*;

/// The marker of this adapter, which is always inferred.
#[derive(Debug)]
pub enum Candle {}

const NAME: &str = "candle";

fn failed(error: candle_core::Error) -> dlbridge_core::Error {
    dlbridge_core::Error::Framework { framework: NAME, message: error.to_string().into() }
}
