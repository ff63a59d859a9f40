//! Passes over the memory of tensors, from pointer to pointer: walking elements, making them row-major, stacking. What
//! they read and write is described by [`Descriptor`](crate::Descriptor)s; nothing here owns memory.

mod elements;
pub(crate) mod relayout;
pub(crate) mod stack;

pub use elements::Elements;
pub(crate) use elements::Offsets;
