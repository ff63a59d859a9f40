//! ndarray arrays as DLPack tensors and back, without a copy.
//!
//! | type | export | import |
//! |---|---|---|
//! | `Array<A, D>` | shared, writable | shared if it was made from an array or a vector, else one copy |
//! | `ArcArray<A, D>` | shared, writable if it is the only handle | as `Array` |
//! | [`Owned<A, D>`] | shared | shared, any layout, from any framework |
//! | `ArrayView<A, D>`, `ArrayViewMut<A, D>` | one copy (or lent by [`with_ref`]) | borrowed by `lend` and `lend_mut` |
//! | `&Array<A, D>` | one copy (or lent by [`with_ref`]) | – |
//!
//! Any layout goes both ways: Fortran order, slices, steps, negative strides, broadcast axes, 0-d, empty. `D` is a
//! fixed rank or `IxDyn`; lending to a fixed rank allocates nothing. `A` is any
//! [`Element`](dlbridge_core::Element).
//!
//! An array in standard (row-major) order is exported as its vector, which candle and `Vec` take over without a copy.
//! They cannot take over an array that begins behind the start of its vector, as it may after `slice_move`. ndarray
//! does not tell this in advance: `route` then says that the memory will be shared, `share` refuses, and `convert`
//! copies.
//!
//! # What the proofs rest on
//! Axioms about ndarray 0.17.2, each with the tests that fail if another version breaks it:
//!
//! | axiom | claim | where it was read | tests |
//! |---|---|---|---|
//! | *layout* | `as_ptr`, `shape` and `strides` say where the elements of an array or a view are; while it is borrowed, they can be read, and nobody writes them | `ArrayBase` in `lib.rs`, `ArrayRef` in `impl_ref_types.rs` | `an_array_lies_in_its_vector`, `elements_are_those_of_a_walk` |
//! | *storage* | from its lowest element to its highest, an `Array` or an `ArcArray` lies within its vector, all of whose elements are initialised | `ArrayBase` in `lib.rs`, `OwnedRepr` in `data_repr.rs`, `can_index_slice` in `dimension/mod.rs`, `append` in `impl_owned_array.rs` | `an_array_lies_in_its_vector` |
//! | *owned* | nobody but an `Array` has its vector, which may be written at the address that `as_mut_ptr` gives; it stays in place if the array moves or gets another rank type | `OwnedRepr` in `data_repr.rs` and `data_traits.rs`, `into_dyn` in `impl_methods.rs` | `an_array_is_exported_where_it_is`, `f3_unique_memory_arrives_writable` |
//! | *shared* | an `ArcArray` writes elements, or gives them away in `try_into_owned_nocopy`, only if it is the only handle to them; they stay in place if it moves or gets another rank type | `OwnedArcRepr` in `data_traits.rs`, `deref_mut` in `impl_ref_types.rs` | `no_array_writes_what_is_exported` |
//! | *vector* | `into_raw_vec_and_offset` gives an array's vector as it is, and the index of the first element in it; in standard order the others come next | `into_raw_vec_and_offset` in `impl_owned_array.rs`, `is_layout_c` in `dimension/mod.rs` | `an_array_lies_in_its_vector` |
//! | *view* | `from_shape_ptr` and `invert_axis` make views of just the elements that address, lengths and strides give, and no view reads or writes what lies between its elements | `impl_raw_views.rs`; `invert_axis` and `try_as_slice_memory_order_mut` in `impl_methods.rs` | `elements_are_those_of_a_walk`, `a1_negative_strides_are_read_and_written`, `a_view_leaves_the_gaps_alone` |
//!
//! ```
//! use dlbridge_core::{Bridge, Lend, Tensor};
//! use dlbridge_ndarray as _; // the facade does this for you
//! use ndarray::{Array2, ArrayView2, array};
//!
//! let tensor: Tensor = array![[1.0f32, 2.0], [3.0, 4.0]].reversed_axes().share()?;
//! let view: ArrayView2<f32> = tensor.lend()?;
//! assert_eq!(view, array![[1.0, 3.0], [2.0, 4.0]]);
//! let array: Array2<f32> = tensor.share()?; // the array that it was made from
//! # assert_eq!(array.strides(), [1, 2]);
//! # Ok::<(), dlbridge_core::Error>(())
//! ```
#![no_std]

extern crate alloc;

mod export;
mod import;
mod rank;
mod view;

pub use export::with_ref;
pub use import::Owned;

/// The framework, at the version that this adapter is built for. Its names are here as well:
/// `dlbridge::ndarray::Array2`.
pub use ndarray;
#[doc(no_inline)]
pub use ndarray::*;

/// Stands for ndarray in the type parameters of the traits; Rust always infers it.
#[derive(Debug)]
pub enum NdArray {}

const NAME: &str = "ndarray";
