//! DLPack's integers as open Rust types that print: element types, devices, flags; and the Rust types that are
//! elements.

mod device;
mod dtype;
mod element;
mod flags;

pub use device::{Device, DeviceType};
pub use dtype::{DataType, DataTypeCode};
pub use element::{types as element_types, Element};
pub use flags::Flags;
