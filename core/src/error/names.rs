//! Parses element types and devices from the names that they print as. This is done here and not beside the types,
//! because parsing can fail, and the types' own module does not know errors.

use core::str::FromStr;

use super::{Error, Excerpt};
use crate::types::{DataType, Device};

impl FromStr for DataType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::named(name).ok_or_else(|| Error::UnknownName { what: "dtype", name: Excerpt::new(name) })
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::named(name).ok_or_else(|| Error::UnknownName { what: "device", name: Excerpt::new(name) })
    }
}
