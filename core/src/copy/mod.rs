//! Loops that read or copy elements through pointers: walking them, making them row-major, and stacking tensors. What
//! the pointers lead to is described by [`Descriptor`](crate::Descriptor)s; nothing here owns memory.

mod elements;
pub(crate) mod relayout;
pub(crate) mod stack;

pub use elements::Elements;
pub(crate) use elements::Offsets;
