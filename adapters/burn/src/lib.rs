//! burn tensors as DLPack tensors without a copy, and back.
//!
//! | type | export | import |
//! |---|---|---|
//! | `Tensor<D, K>` on the backend flex | shared, any layout | shared, any layout |
//! | `FlexTensor`, the primitive of that backend | shared, any layout | shared, any layout |
//! | `NdArrayTensor` (feature `ndarray`) | shared, any layout | shared in row-major order, else one copy |
//! | `Tensor<D, K>` on any other backend | [`to_host`], copied | [`from_host`], copied |
//! | `burn_std::DType`, `burn_tensor::Device` | exchanged | exchanged |
//!
//! Tensors are float, int or bool, with or without autodiff. They and the primitives are exported by reference as well.
//! An export is writable if it is the only handle to its memory.
//!
//! `NdArrayTensor` is the primitive of the backend ndarray, which burn has deprecated. To share a tensor on that
//! backend, convert it with `tensor.try_into_primitive::<NdArray>()`, and back with
//! `Tensor::from_primitive::<NdArray>`. The backend has no `f16` and no `bf16`, and copies borrowed memory in most
//! operations, even to make a view. Its own arrays, once exported and imported again, are borrowed memory to it.
//!
//! All types of flex can be exported and imported: floats (`f16` and `bf16` too), signed and unsigned integers, and
//! booleans of one byte. `Flex32` is `float32` in memory. Quantized tensors and booleans of four bytes are errors. A
//! tensor keeps its element type: nothing is converted to a device's default.
//!
//! If the exported tensor is the only handle to its memory and that memory is a vector, the vector owns the export, and
//! candle and ndarray take it over. The results of some operations (`matmul`, `zeros`) are no vectors of their element
//! type, but memory aligned to 16 bytes: these are exported as writable, and candle and ndarray copy them. Memory that
//! burn has yet to read from a file cannot be shared: `convert` reads it and copies it.
//!
//! # Copy-on-write
//! burn writes in place only if one tensor alone holds the memory. An export counts as a further handle, so whatever
//! burn does to the tensor afterwards happens in other memory. An import holds foreign memory that nobody may write:
//! the first operation that would write in place copies it, **and releases the foreign memory at once**. The copy takes
//! everything between the lowest and the highest element, gaps included.
//!
//! # Automatic differentiation
//! A tensor with autodiff is exported as the tensor inside; no gradient flows through what others do with its memory.
//! `Tensor::autodiff` makes an imported tensor track gradients, without a copy.
//!
//! # GPUs
//! Sharing GPU memory with cubecl's runtimes is not built yet; [`to_host`] and [`from_host`] copy through host memory.
//! For CUDA, an export without a copy would work like this: burn's primitive holds a handle whose resource
//! (`client.get_resource`) pins a device address while it lives. The export would keep that handle, and give the
//! address once the client has synchronised, which is needed because its stream is not public. With fusion, the tensor
//! would be resolved first. Strides may be pitched, which DLPack can express. An import would have to copy, because
//! cubecl registers no foreign memory.
//!
//! # burn-tch
//! burn's libtorch backend has no feature here: it is deprecated, and would pin `tch` to an old version. Its tensors
//! hold a public `tch::Tensor`, which `dlbridge-tch` can share if it is built with burn-tch's version of tch; see
//! `examples/burn-tch` in the repository.
//!
//! # What the proofs rest on
//! Axioms about burn-flex and burn-ndarray 0.22.1, and about burn-std's `Bytes`, which are those of cubecl-environment
//! 0.11.3. Each comes with the tests that fail if another version breaks it:
//!
//! | axiom | claim | where it was read | tests |
//! |---|---|---|---|
//! | *unique* | flex reaches the bytes of a tensor through its `Arc` only, and writes them, or hands them over, only if nobody else has that `Arc` | burn-flex: `storage_mut`, `try_storage_mut` and `into_data` of `FlexTensor` in `tensor.rs` | `no_operation_writes_what_is_exported`, `an_export_is_a_view_that_burn_does_not_write` |
//! | *place* | bytes are where their controller has them, which is in a box of its own: they stay there until they are written or dropped, also if the `Bytes` move | `Bytes` in `bytes/base.rs`; the controllers in `default_controller.rs`, `shared_arc.rs`, `shared.rs` and `file.rs` beside it | `an_export_is_a_view_that_burn_does_not_write`, `the_only_handle_goes_out_writable_and_as_its_vector` |
//! | *initialised* | `Bytes` are initialised up to their length, and burn writes initialised bytes only | the promises of those who call `Bytes::from_controller` and `AllocationController::memory_mut`, in `bytes/base.rs` | – |
//! | *alone* | what `Bytes::write` gives is reached through these bytes only: memory that others have is copied first, or not given | `memory_mut` of the same controllers | `the_only_handle_goes_out_writable_and_as_its_vector`, `a_copy_on_write_is_burns_own`, `bytes_that_others_hold_are_copied` |
//! | *const* | nothing writes bytes that were asked for to read, so that memory under a controller is written through its `memory_mut` only (but see below) | `Bytes::read` and `deref` in `bytes/base.rs`; burn-flex: `FlexTensor::storage` | `no_operation_writes_foreign_memory_whatever_the_layout`, `what_burn_does_to_bytes_leaves_foreign_memory_alone` |
//! | *borrowed* | a borrowed array of the backend ndarray begins where its bytes do, lies within them in row-major order, and is copied before it is written | burn-ndarray: `NdArrayStorage` in `storage.rs`, `try_from_data_borrowed` in `tensor.rs` | `no_operation_of_the_backend_ndarray_writes_borrowed_memory`, `the_backend_ndarray_borrows_and_hands_over_arrays` |
//!
//! burn itself breaks *const* in one place. What `to_data` reads from its backend `cpu` is the memory of the tensor,
//! not a copy, and a later operation on the tensor may write it in place (`CpuAllocController` in cubecl-cpu 0.11.3).
//! [`to_host`] copies such bytes. Whoever makes a tensor of flex or ndarray from them has, in burn as well as here, a
//! tensor whose elements may change.
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
/// burn's own crates, at the version that this adapter is built for.
pub use {burn_std, burn_tensor};

/// Stands for burn in the type parameters of the traits; Rust always infers it.
#[derive(Debug)]
pub enum Burn {}

const NAME: &str = "burn";
