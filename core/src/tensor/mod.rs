//! Tensors, borrowed and owned: who may read and write the memory, how long it lives, and how it crosses the C ABI.

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
