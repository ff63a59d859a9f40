//! Tensors, borrowed and owned: who may read and write the memory, how long it lives, and how it crosses the C ABI.
//!
//! Three terms have a fixed meaning in this crate:
//! - The *elements* are the values that shape and strides reach.
//! - The *extent* reaches from the lowest element to the highest, with the gaps between them.
//! - The *memory* is the whole allocation that the owner keeps alive. The extent is a part of it.

mod abi;
mod aliased;
mod copied;
mod owned;
mod owner;
mod view;

pub use aliased::Aliased;
pub use owned::Tensor;
pub use owner::{Buffer, Memory};
pub use view::{TensorMut, TensorRef};
