//! The ways that a tensor goes between Python and Rust, one file each; what none of them tells of torch's tensors; and
//! the streams that GPUs have ready data on.

pub(crate) mod buffer;
pub(crate) mod capsule;
pub(crate) mod exchange_api;
pub(crate) mod numpy;
pub(crate) mod stream;
pub(crate) mod torch;
