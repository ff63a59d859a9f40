//! The words of every error. They are lower-case, and say what was found, what was expected and what to do.

use core::fmt;

use super::remedy::Remedy;
use super::Error;

/// Makes `Display` of a table with the fields and the words of every variant, and the variants' names for `Debug`.
macro_rules! words {
    ($($variant:ident $({ $($field:ident),* })? => $words:literal $(, $argument:expr)*;)*) => {
        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant $({ $($field),* })? => write!(f, $words $(, $argument)*),)*
                }
            }
        }

        impl Error {
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => stringify!($variant),)*
                }
            }
        }
    };
}

words! {
    UnsupportedVersion { major, minor } =>
        "the tensor has DLPack version {major}.{minor}, this build reads major version 1: \
         ask the producer for max_version=(1, 3)";
    NegativeNdim { ndim } => "ndim is {ndim}, expected 0 or more";
    NullShape { ndim } => "shape is NULL, expected {ndim} lengths";
    NegativeLength { axis, length } => "axis {axis} has length {length}, expected 0 or more";
    NullData { elements } => "data is NULL, expected {elements} elements";
    Overflow { quantity } => "the {quantity} does not fit the address space";
    DTypeMismatch { expected, found } =>
        "the tensor holds {found}, expected {expected}: cast it first, types are never reinterpreted";
    UnsupportedDType { framework, dtype } => "{framework} has no element type {dtype}: cast the tensor first";
    UnsupportedDevice { framework, device } =>
        "{framework} cannot use memory on {device}: move the tensor to a device that both sides have";
    DeviceUnavailable { framework, device } =>
        "{framework} finds no device {device} in this process: check the driver and how {framework} was built";
    NotOnHost { device } => "the tensor is on {device}, which the CPU cannot read: move it to the CPU first";
    NdimMismatch { expected, shape } =>
        "the shape is {shape:?}, expected {expected} {}: reshape the tensor, or ask for a type that can have {}",
        axes(*expected), shape.len();
    AxisMismatch { axis, expected, found } =>
        "axis {axis} has length {found}, expected {expected} as in the tensors beside it";
    LengthMismatch { expected, found } => "the buffer has {found} elements, the shape asks for {expected}";
    Misaligned { address, align } =>
        "the first element is at {address:#x}, expected a multiple of {align} bytes: \
         use `convert`, which copies when it must";
    NotContiguous =>
        "the tensor is not contiguous in row-major order: read it element by element, or copy it with `to_vec`";
    ReadOnly => "the tensor is read-only: copy it before writing";
    Overlap => "elements of the tensor overlap in memory (a broadcast axis?): copy it before writing";
    InvalidBool { index, value } =>
        "boolean {index} is stored as {value}, expected 0 or 1: read the tensor as uint8";
    IndexMismatch { ndim, found } => "an element is found by {ndim} indices, one for each axis, and not by {found}";
    IndexOutOfBounds { axis, index, length } => "index {index} is behind axis {axis} of length {length}";
    OutOfStorage { framework, needed, available } =>
        "the {framework} layout reaches element {needed} of a storage of {available} elements";
    Inexpressible { framework, what } =>
        "DLPack cannot express {what} of {framework}: make it a plain dense tensor first";
    RequiresGrad { framework } => "the {framework} tensor requires grad: detach it first";
    Unsupported { framework, what } => "{framework} has no {what}";
    Nulls { count, found, option } => "{count} of {found:?} are null: set {option} to say what becomes of them";
    NeedsOption { found, option } => "{found:?} is no plain number: set {option} to say how it is read";
    UnsupportedType { framework, found } =>
        "the {framework} type {found:?} has no equivalent in DLPack: cast it to numbers first";
    Ragged { row, expected, found } =>
        "list {row} has {found} elements, expected {expected}: pad all lists to one length";
    SchemaMismatch { expected, found } =>
        "the column holds {found:?}, its schema says {expected:?}: give it the schema that it came with";
    InvalidMetadata { name, problem } => "the metadata of {name} are wrong: {problem}";
    NotRepresentable { what, dtype } => "{what} is no {dtype}";
    InColumn { column, error } => "column {column:?}: {error}";
    CopyRequired { framework, reason } =>
        "{framework} cannot share this tensor without a copy, because {reason}: {}", Remedy { framework, reason: *reason };
    OutOfMemory { bytes } => "no memory for a copy of {bytes} bytes";
    UnknownName { what, name } => "{name:?} names no {what}";
    Framework { framework, message } => "{framework} failed: {message}";
}

fn axes(count: usize) -> &'static str {
    if count == 1 {
        "axis"
    } else {
        "axes"
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::format;
    use alloc::string::ToString;
    use core::error::Error as _;

    use super::*;
    use crate::Excerpt;

    fn nulls() -> Error {
        Error::Nulls { count: 3, found: Excerpt::new("Int32"), option: "Options::fill_nulls" }
    }

    #[test]
    fn what_main_prints_is_the_name_and_the_message() {
        let message = "3 of \"Int32\" are null: set Options::fill_nulls to say what becomes of them";
        assert_eq!(nulls().to_string(), message);
        assert_eq!(format!("{:?}", nulls()), format!("Nulls: {message}"));
        assert_eq!(format!("{:?}", Error::ReadOnly), format!("ReadOnly: {}", Error::ReadOnly));
    }

    #[test]
    fn an_error_in_a_column_says_all_at_once() {
        let column = Excerpt::new("customer_lifetime_value_in_euro");
        let error = Error::InColumn { column, error: Box::new(nulls()) };
        assert_eq!(error.to_string(), format!("column \"customer_lifetime_value_in_euro\": {}", nulls()));
        assert!(error.source().is_none(), "nothing is printed twice");
        assert_eq!(*error.root(), nulls());
    }

    #[test]
    fn a_wrong_number_of_axes_says_what_to_do() {
        let error = Error::NdimMismatch { expected: 1, shape: [2, 3].into() };
        let words = "the shape is [2, 3], expected 1 axis: reshape the tensor, or ask for a type that can have 2";
        assert_eq!(error.to_string(), words);
        let error = Error::IndexMismatch { ndim: 2, found: 1 };
        assert_eq!(error.to_string(), "an element is found by 2 indices, one for each axis, and not by 1");
    }
}
