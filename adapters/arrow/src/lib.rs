//! Arrow columns and record batches as DLPack tensors and back, without a copy.
//!
//! | type | out | in |
//! |---|---|---|
//! | `PrimitiveArray<T>`, `&PrimitiveArray<T>` of numbers | shared, 1-D | shared, 1-D |
//! | `FixedSizeListArray`, `&FixedSizeListArray`, nested to any depth | shared, N-D (of booleans one copy) | shared in row-major order, 2-D to 64-D (of booleans one copy) |
//! | `BooleanArray`, `&BooleanArray` | one copy (unpacked) | one copy (packed) |
//! | `DictionaryArray<K>`, `&DictionaryArray<K>` of numbers | one copy (decoded) | – |
//! | `ArrayRef`, `&ArrayRef` | as the array in it | as the array in it |
//! | [`Column`], `&Column`: an array with its `Field` and [`Options`] | shared, extension types included | shared, also in permuted order (`arrow.fixed_shape_tensor`), booleans as `arrow.bool8` |
//! | `RecordBatch`, `&RecordBatch` of equal columns | shared as `[rows, columns]` if the columns are equally spaced in one allocation, else one copy | shared, 2-D in column-major order |
//! | [`Matrix`], `&Matrix`: a record batch with [`Options`] | as the record batch | – |
//! | `Buffer`, `ScalarBuffer<T>` | shared, 1-D (`Buffer` as bytes) | shared in row-major order (`Buffer`: bytes, 1-D) |
//! | `arrow_schema::DataType` | exchanged | exchanged |
//!
//! An array handed over by value that is the only handle to its memory goes out writable, and if its buffer is a
//! vector (as Parquet readers and `from` make them), as that vector: candle and ndarray take it over without a copy.
//! Arrow does not show by reference what a buffer is made of, so `route` foresees the read-only tensor in this one case.
//! Memory that comes in is never written by Arrow. Memory that Arrow would refuse for its alignment is copied by
//! `convert` and refused by `share`.
//!
//! # What is a choice
//! Whatever would change the meaning of values needs a word of yours: a [`Column`] or a [`Matrix`] with [`Options`].
//!
//! | in the column | without a choice | choices |
//! |---|---|---|
//! | nulls (those outside a slice do not count) | [`Error::Nulls`](dlbridge_core::Error::Nulls) | [`Options::fill_nulls`] (one copy), [`Options::keep_nulls`] (shared if the column is otherwise) with [`Column::validity`] as the mask |
//! | dates, times, timestamps, durations, intervals of months | `Error::NeedsOption` | [`Options::temporal_as_integers`] (shared) |
//! | decimals | `Error::NeedsOption` | [`Options::decimals_as_integers`] (shared), [`Options::decimals_as_floats`] (one copy) |
//! | lists | `Error::NeedsOption` | [`Options::lists_as_axis`] (shared, if all have one length) |
//! | extension types other than `arrow.fixed_shape_tensor` and `arrow.bool8` | `Error::NeedsOption` | [`Options::extensions_as_storage`] (shared) |
//! | strings, binary, structs, unions, maps, … | `Error::UnsupportedType` | – |
//!
//! Errors name the column, if it has a name, the type and the option.
//!
//! ```
//! use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array};
//! use dlbridge_arrow::{Column, Options};
//! use dlbridge_core::{Bridge, Tensor};
//!
//! let column = Float32Array::from(vec![1.0, 2.0, 3.0]);
//! let tensor: Tensor = (&column).share()?; // the column's own memory
//! assert_eq!(tensor.data(), column.values().as_ptr().cast());
//!
//! let matrix: FixedSizeListArray = Tensor::new(vec![0u8; 12], &[3, 4])?.share()?;
//! assert_eq!(matrix.value_length(), 4);
//!
//! let gaps = Column::from(Float32Array::from(vec![Some(1.0), None])).with(Options::new().fill_nulls(0.0));
//! assert_eq!(gaps.convert::<Vec<f32>>()?, [1.0, 0.0]);
//! # Ok::<(), dlbridge_core::Error>(())
//! ```

mod column;
mod decode;
mod dtype;
mod export;
mod extension;
mod import;
mod matrix;
mod options;
mod source;
mod stream;

pub use column::Column;
pub use matrix::Matrix;
pub use options::{Options, Scalar};
pub use stream::{Batches, Select, Tensors};

/// The framework, at the version that this adapter is built for.
pub use {arrow_array, arrow_buffer, arrow_schema};

/// The marker of this adapter; always inferred.
#[derive(Debug)]
pub enum Arrow {}

const NAME: &str = "arrow";

/// What arrow itself says of an error.
fn failed(error: impl std::fmt::Display) -> dlbridge_core::Error {
    dlbridge_core::Error::Framework { framework: NAME, message: error.to_string().into() }
}
