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
//! operation that could write the storage, through whatever tensor shares it. That includes the running statistics
//! which `batch_norm` updates in training.
//!
//! Reading works as usual, with these exceptions: operations that only read, but ask libtorch for a writable address
//! all the same, and are refused, too. The tests try some 500 operations of libtorch 2.13 on the CPU, and find no
//! others:
//!
//! | refused | if these are sealed |
//! |---|---|
//! | `lstm`, unless of doubles, and its gradient | all but the biases |
//! | convolution with kernels and strides of 1, of doubles or integers, or on a single thread | the input |
//! | `scaled_dot_product_attention` | a mask of floats |
//! | `weight_norm`, `int_mm`, `to_mkldnn`, `mkldnn_linear` | all |
//! | `max`, `min` and `aminmax` of all elements of a tensor of booleans | it |
//! | `channel_shuffle`, `native_channel_shuffle` | the input |
//! | `poisson`, `binomial`, `standard_gamma`, `sample_dirichlet`, and their gradients | all |
//! | `fake_quantize_…`, `make_per_…_quantized_tensor`, `saturate_weight_to_fp16` | the input and what it is scaled by |
//! | sparse tensors: products, sums, `add`, `mul`, `softmax`, `coalesce`, `sparse_mask`, `spdiags` | what they are made of, and dense operands |
//! | tch's `data_ptr` | use [`data_ptr`] |
//! | tch's `copy_data`, and with it `Vec::try_from` and conversions to ndarray | use `tensor.convert::<Vec<f32>>()` |
//! | tch's `write_npy`, `write_npz`, `write_safetensors` | `save` is not refused |
//!
//! All of them take a copy, made by `tensor.copy()`, or the result of the unsafe [`unsealed`], which copies nothing.
//!
//! A refusal is an error of tch's `f_` functions, and a panic of its others. With a number among the arguments
//! (`f_fill_(0.)`, `f_add_scalar_(1.)`) it is a panic in any case: tch looks for libtorch's error only after it has
//! freed the number, and freeing panics on any error that it finds.
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
//! # What the proofs rest on
//! Axioms about libtorch 2.13 and tch 0.26, each with the tests that fail if another version breaks it:
//!
//! | axiom | claim | where it was read | tests |
//! |---|---|---|---|
//! | *handle* | a `tch::Tensor` is a pointer to an `at::Tensor`, which lives as long as it does and is deleted by it | torch-sys: `torch_api.h`, `torch_api.cpp`; tch: `wrappers/tensor.rs` | `libtorch_results_are_read_by_everybody_without_a_copy` |
//! | *numbers* | scalar types and devices have the numbers in `dtype.rs`, and elements of the size and meaning that DLPack gives them | `torch/headeronly/core/ScalarType.h`, `c10/core/DeviceType.h` | the compiler, by assertions in `shim.cpp`; `candle_and_libtorch_use_the_same_memory` |
//! | *metadata* | sizes and strides are in the tensor's `TensorImpl`, and only an operation in place on one of its handles changes them; that no other thread does so meanwhile is libtorch's own rule for its callers | `c10/core/TensorImpl.h`, `c10/core/impl/SizesAndStrides.h` | `a_description_does_not_follow_its_source`, `an_export_does_not_follow_its_source` |
//! | *storage* | the `nbytes` bytes of a storage can be read until it is resized, is given other memory, or is dropped; operations reach these bytes only, unless a `resize_` has failed, which leaves any tensor of libtorch's too large | `c10/core/StorageImpl.h`, `ATen/native/Resize.h` | `no_view_reaches_beyond_its_storage`, `a_tensor_that_outgrew_its_storage_is_refused` |
//! | *deleter* | a storage's deleter runs once, when the last reference to the storage is dropped, or before, when the storage is given other memory; on whatever thread, and also if there are no elements | `c10/util/UniqueVoidPtr.h`, `c10/core/StorageImpl.h` | `the_deleter_runs_after_the_last_view_on_whatever_thread`, `a_writable_import_may_grow_and_lets_go_of_foreign_memory` |
//! | *counts* | every tensor, view and autograd graph that can reach a storage has a counted reference to it, made from another one; counts are atomic; a view refers to its base | `c10/util/intrusive_ptr.h`, `ATen/core/TensorBase.h` | `only_the_last_handle_is_shared_for_writing`, `a_tensor_in_an_autograd_graph_is_not_shared` |
//! | *apart* | memory that is not one storage's alone (copy-on-write, mapped files, `from_blob`) has a context that is not the memory itself | `c10/core/impl/COW.h`, `c10/core/Allocator.h`, `ATen/ops/from_blob.h` | `memory_that_is_shared_behind_the_storage_is_not_unique` |
//! | *seal* | writable addresses come from `mutable_data` and `mutable_data_ptr` of the storage only, which first call its materializer or look at its flag; the seal survives a refusal, and a move of the storage | `c10/core/StorageImpl.h`, `c10/core/StorageMaterializer.h`, `c10/core/TensorImpl.h` | `no_operation_writes_sealed_memory`, `a_sealed_tensor_that_grows_moves_away_from_the_memory_it_shared` |
//! | *const* | no operation writes through an address that it has asked for to read | `ATen/core/TensorBase.h`, whose `const_data_ptr` can only say `const` | `no_operation_writes_sealed_memory`, `the_list_of_refused_reads_is_exact` |
//! | *initialised* | the memory of any tensor counts as initialised, also that of `empty`, which libtorch hands out as it comes from the allocator | `c10/core/CPUAllocator.h` | – |
//! | *copy* | `copy_` writes every element of its target and nothing else, or throws | `ATen/ops/copy.h` | `candle_and_libtorch_use_the_same_memory`, `e6_lazy_views_are_resolved_in_a_copy` |
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
mod sealed;
mod shim;

pub use export::export_shared;
pub use sealed::{data_ptr, unsealed};

/// The framework, at the version that this adapter is built for. Its names are here as well: `dlbridge::tch::Tensor`.
pub use tch;
#[doc(no_inline)]
pub use tch::*;

/// The marker of this adapter, which is always inferred.
#[derive(Debug)]
pub enum Tch {}

const NAME: &str = "tch";
