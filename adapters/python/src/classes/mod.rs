//! The Python classes: their methods, and which arguments become one of them.

pub(crate) mod device;
pub(crate) mod dtype;
mod home;
mod tensor;
