//! Arrow columns and record batches as DLPack tensors and back, without a copy.
//!
//! | type | export | import |
//! |---|---|---|
//! | `PrimitiveArray<T>` of numbers | shared, 1-D | shared, 1-D |
//! | `FixedSizeListArray`, nested to any depth | shared, N-D | shared in row-major order, 2-D to 64-D |
//! | `BooleanArray`, and lists of booleans | one copy (unpacked) | one copy (packed) |
//! | `DictionaryArray<K>` of numbers | one copy (decoded) | – |
//! | `ArrayRef` | as the array in it | as the array in it |
//! | [`Column`]: an array with its `Field` and [`Options`] | shared | shared, also with permuted axes |
//! | `RecordBatch` of equal columns | shared if equally spaced, else one copy | shared, 2-D in column-major order |
//! | [`Matrix`]: a record batch with [`Options`] | as the record batch | – |
//! | `Buffer`, `ScalarBuffer<T>` | shared, 1-D (`Buffer` as bytes) | shared in row-major order (`Buffer`: bytes, 1-D) |
//! | `arrow_schema::DataType` | exchanged | exchanged |
//!
//! Arrays, columns, record batches and matrices are exported by reference as well. A [`Column`] brings its extension
//! type along: `arrow.fixed_shape_tensor` says in which order the axes lie in memory, and `arrow.bool8` holds booleans
//! of one byte. A record batch becomes a tensor of shape `[rows, columns]`; it is shared if its columns are equally
//! spaced in one allocation.
//!
//! An array that is handed over by value and is the only handle to its memory is exported as writable. If its buffer is
//! a vector (Parquet readers and `from` make such buffers), that vector is the tensor's owner, and candle and ndarray
//! take it over without a copy. Arrow does not show by reference what a buffer is made of, so `route` expects a
//! read-only tensor in this one case. Arrow never writes imported memory. Memory whose alignment Arrow would refuse is
//! copied by `convert` and refused by `share`.
//!
//! # What is a choice
//! Whatever would change the meaning of values happens only if you ask for it, by a [`Column`] or a [`Matrix`] with
//! [`Options`].
//!
//! | in the column | without an option | options |
//! |---|---|---|
//! | nulls | [`Error::Nulls`] | [`Options::fill_nulls`] (one copy), [`Options::keep_nulls`] (shared) |
//! | dates, timestamps, month intervals, … | [`Error::NeedsOption`] | [`Options::temporal_as_integers`] (shared) |
//! | decimals | as above | [`Options::decimals_as_integers`] (shared), [`Options::decimals_as_floats`] (one copy) |
//! | lists | as above | [`Options::lists_as_axis`] (shared, if all have one length) |
//! | extension types unknown here | as above | [`Options::extensions_as_storage`] (shared) |
//! | strings, binary, structs, unions, maps, … | [`Error::UnsupportedType`] | – |
//!
//! Nulls outside of a slice do not count. Where nulls are kept, [`Column::validity`] is the mask, and the column is
//! shared if it would be shared without nulls. Errors name the type, the option, and the column if it has a name.
//!
//! # What the proofs rest on
//! Axioms about arrow-buffer 60.1.0 and what arrow-array 60.1.0 does with its buffers, each with the tests that fail if
//! another version breaks it:
//!
//! | axiom | claim | where it was read | tests |
//! |---|---|---|---|
//! | *bytes* | what a `Buffer` shows are initialised bytes of its allocation, which every handle to it, clone or slice, keeps alive; they stay in place if a handle moves, and if a `MutableBuffer` becomes a `Buffer` | `Buffer` in `buffer/immutable.rs`, `Bytes` in `bytes.rs`, `MutableBuffer::into_buffer` in `buffer/mutable.rs` | `every_number_goes_both_ways_at_one_address`, `lists_are_axes_to_any_depth` |
//! | *unwritten* | nobody writes an allocation while there is a `Buffer` of it: Arrow writes through a `MutableBuffer` or a vector only, and neither is made of an allocation that has another handle | `Buffer::into_mutable`, `into_vec` and `shrink_to_fit` in `buffer/immutable.rs` | `arrow_writes_nothing_that_is_exported` |
//! | *sole* | `Buffer::into_vec` and `into_mutable` give the only handle to an allocation of Rust's, from its beginning on, without moving it | the same functions | `the_only_handle_is_taken_over_by_other_frameworks`, `every_number_goes_both_ways_at_one_address` |
//! | *foreign* | Arrow never writes, moves or frees memory that came by `from_custom_allocation`, and drops its owner with the last handle | `Deallocation::Custom` in `alloc/mod.rs`, and where `bytes.rs` and `buffer/mutable.rs` look for it | `foreign_memory_in_arrow_stays_read_only`, `arrow_writes_no_foreign_memory` |
//! | *allocation* | `data_ptr` and `capacity` are the address and the size of an allocation, as far as Arrow knows it; every `Buffer` of it lies within, and up to the end of each of them its bytes are initialised | `Buffer::data_ptr` and `capacity` in `buffer/immutable.rs`, `Bytes::capacity` in `bytes.rs` | `a_batch_of_one_buffer_is_a_strided_view`, `buffers_of_one_allocation_have_its_address_and_size` |
//!
//! [`Error::Nulls`]: dlbridge_core::Error::Nulls
//! [`Error::NeedsOption`]: dlbridge_core::Error::NeedsOption
//! [`Error::UnsupportedType`]: dlbridge_core::Error::UnsupportedType
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
mod node;
mod options;
mod source;
mod stream;

pub use column::Column;
pub use matrix::Matrix;
pub use options::{Options, Scalar};
pub use stream::{Batches, Select, Tensors};

/// Arrow's own crates, at the version that this adapter is built for.
pub use {arrow_array, arrow_buffer, arrow_schema};

/// Stands for Arrow in the type parameters of the traits; Rust always infers it.
#[derive(Debug)]
pub enum Arrow {}

const NAME: &str = "arrow";

/// An error that Arrow itself reports, with Arrow's message.
fn failed(error: impl std::fmt::Display) -> dlbridge_core::Error {
    dlbridge_core::Error::Framework { framework: NAME, message: error.to_string().into() }
}
