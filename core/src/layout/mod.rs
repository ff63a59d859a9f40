//! Shapes and strides as plain numbers: one rule each for size, extent, contiguity and overlap.
//!
//! Lengths and strides are in elements, as in DLPack. Everything here is checked arithmetic; no element is read or
//! written.

pub(crate) mod descriptor;
mod dims;
mod rules;
mod strides;

pub use dims::Dims;
pub use rules::{
    count, extent_of, fill_row_major, fills_extent, is_column_major, is_row_major, may_overlap, validate, Extent,
};
pub(crate) use rules::{count_usize, is_normal, normalise};
pub use strides::{Strides, StridesIter};
