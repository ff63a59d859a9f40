//! What can go wrong: one enum for the whole project.
#![forbid(unsafe_code)]

mod excerpt;
mod names;
mod reason;
mod rejected;
mod remedy;
mod words;

use alloc::boxed::Box;

use crate::types::{DataType, Device};
pub use excerpt::Excerpt;
pub use reason::Reason;
pub use rejected::Rejected;

/// Why an operation was refused. Nothing was read or written, and nothing leaked.
///
/// Every variant carries what was found and, where it is not obvious, what was expected; the message adds what to do.
///
/// The message is whole: that of an error in a column says the column and what went wrong in it, so that printing with
/// `{}` is enough. [`source`](core::error::Error::source) gives nothing therefore, and what prints a chain of errors
/// says nothing twice; [`Error::root`] gives the error in the column as data. `Debug`, with which `main` prints what it
/// returns, is the variant's name and the message.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum Error {
    /// The managed tensor has another major version (DLPack 1.x: "call the deleter and stop").
    UnsupportedVersion {
        /// Major version found; this crate reads 1.
        major: u32,
        /// Minor version found.
        minor: u32,
    },
    /// `ndim` is negative.
    NegativeNdim {
        /// The value found.
        ndim: i32,
    },
    /// `shape` is NULL although there are axes.
    NullShape {
        /// The number of axes.
        ndim: i32,
    },
    /// A length in `shape` is negative.
    NegativeLength {
        /// The axis.
        axis: usize,
        /// The value found.
        length: i64,
    },
    /// `data` is NULL although there are elements.
    NullData {
        /// The number of elements.
        elements: usize,
    },
    /// A size does not fit the address space.
    Overflow {
        /// Which one: `"element count"`, `"size in bytes"`, `"strides"` or `"byte_offset"`.
        quantity: &'static str,
    },
    /// The elements have another type than the one asked for. Types are never reinterpreted.
    DTypeMismatch {
        /// The type asked for.
        expected: DataType,
        /// The type of the tensor.
        found: DataType,
    },
    /// The framework has no such element type.
    UnsupportedDType {
        /// Who refuses.
        framework: &'static str,
        /// The type found.
        dtype: DataType,
    },
    /// The framework cannot use memory of this device.
    UnsupportedDevice {
        /// Who refuses.
        framework: &'static str,
        /// The device found.
        device: Device,
    },
    /// The framework knows this kind of device, but the device is not available in this process.
    DeviceUnavailable {
        /// Who refuses.
        framework: &'static str,
        /// The device asked for.
        device: Device,
    },
    /// The memory cannot be read by the CPU.
    NotOnHost {
        /// Where it is.
        device: Device,
    },
    /// The tensor has another number of axes than the one asked for.
    NdimMismatch {
        /// The number asked for.
        expected: usize,
        /// The shape found, with another number of axes.
        shape: Box<[i64]>,
    },
    /// An axis has another length than the same axis of the tensors beside it.
    AxisMismatch {
        /// The axis.
        axis: usize,
        /// The length of the others.
        expected: i64,
        /// The length found.
        found: i64,
    },
    /// A buffer has another number of elements than the shape says.
    LengthMismatch {
        /// The number that the shape asks for.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// The first element is not aligned for its type.
    Misaligned {
        /// The address of the first element.
        address: usize,
        /// The alignment needed, in bytes.
        align: usize,
    },
    /// The elements are not next to each other in row-major order.
    NotContiguous,
    /// The memory must not be written.
    ReadOnly,
    /// Several elements lie in the same place, so a mutable view would alias itself.
    Overlap,
    /// A boolean is stored as something other than 0 or 1.
    InvalidBool {
        /// The element, counted in row-major order.
        index: usize,
        /// The byte found.
        value: u8,
    },
    /// An element is asked for with too few or too many indices.
    IndexMismatch {
        /// The number of axes.
        ndim: usize,
        /// The number of indices.
        found: usize,
    },
    /// An index is past the end of its axis.
    IndexOutOfBounds {
        /// The axis.
        axis: usize,
        /// The index.
        index: usize,
        /// The length of the axis.
        length: usize,
    },
    /// A layout reaches elements that its storage does not have.
    OutOfStorage {
        /// The framework that holds the layout.
        framework: &'static str,
        /// One past the last element that the layout reaches.
        needed: usize,
        /// The number of elements in the storage.
        available: usize,
    },
    /// The framework's tensor is of a kind that DLPack cannot express (sparse, quantized, …).
    Inexpressible {
        /// The framework that holds the tensor.
        framework: &'static str,
        /// What it is.
        what: &'static str,
    },
    /// The tensor takes part in automatic differentiation, which does not see what others do with its memory.
    RequiresGrad {
        /// The framework that holds the tensor.
        framework: &'static str,
    },
    /// The framework has no tensor of this kind.
    Unsupported {
        /// Who refuses.
        framework: &'static str,
        /// What it lacks.
        what: &'static str,
    },
    /// A column or list has nulls, and no option says what becomes of them.
    Nulls {
        /// The number of nulls.
        count: usize,
        /// The type that has them.
        found: Excerpt,
        /// The options that can say it.
        option: &'static str,
    },
    /// The framework's elements are not plain numbers, and the caller has not chosen how to read them.
    NeedsOption {
        /// The type found.
        found: Excerpt,
        /// The option that makes the choice.
        option: &'static str,
    },
    /// The framework's type has no equivalent in DLPack, and no option makes one.
    UnsupportedType {
        /// Who has the type.
        framework: &'static str,
        /// The type found.
        found: Excerpt,
    },
    /// Lists that should make up an axis differ in length. Null lists do not count.
    Ragged {
        /// The first list that is not null and differs.
        row: usize,
        /// The length of the first list that is not null.
        expected: usize,
        /// The length of the list that differs.
        found: usize,
    },
    /// A schema describes a column of another type.
    SchemaMismatch {
        /// The type that the schema says.
        expected: Excerpt,
        /// The type of the column.
        found: Excerpt,
    },
    /// The metadata that say how to read a column contradict the data, or themselves.
    InvalidMetadata {
        /// What the metadata describe.
        name: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// A value to be written cannot be represented in the element type.
    NotRepresentable {
        /// Which value.
        what: &'static str,
        /// The element type.
        dtype: DataType,
    },
    /// What went wrong in one column of a table.
    InColumn {
        /// The name of the column.
        column: Excerpt,
        /// What went wrong.
        error: Box<Error>,
    },
    /// Sharing was asked for, and only a copy would do.
    CopyRequired {
        /// Who would have to copy.
        framework: &'static str,
        /// Why.
        reason: Reason,
    },
    /// There is no memory for a copy.
    OutOfMemory {
        /// The size asked for.
        bytes: usize,
    },
    /// A string names no dtype, device or column.
    UnknownName {
        /// `"dtype"`, `"device"` or `"column"`.
        what: &'static str,
        /// The string.
        name: Excerpt,
    },
    /// The framework itself failed. Only this variant has text that this project did not write.
    Framework {
        /// Who failed.
        framework: &'static str,
        /// Its own words.
        message: Box<str>,
    },
}

impl core::error::Error for Error {}

impl Error {
    /// The error itself, without the column that it occurred in.
    pub fn root(&self) -> &Self {
        match self {
            Self::InColumn { error, .. } => error.root(),
            _ => self,
        }
    }
}
