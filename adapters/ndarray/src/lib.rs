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

/// The framework, at the version that this adapter is built for. Its names are here as well: `dlbridge::ndarray::Array2`.
pub use ndarray;
#[doc(no_inline)]
pub use ndarray::*;

/// Stands for ndarray in the type parameters of the traits; Rust always infers it.
#[derive(Debug)]
pub enum NdArray {}

const NAME: &str = "ndarray";
