//! DLPack's integers as Rust types that can be printed and keep unknown values: element types, devices and flags. Also
//! the Rust types that can be elements.

mod device;
mod dtype;
mod element;
mod flags;

pub use device::{Device, DeviceType};
pub use dtype::{DataType, DataTypeCode};
pub use element::{types as element_types, Element};
pub use flags::Flags;
