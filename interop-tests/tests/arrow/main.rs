//! Arrow columns and record batches: what is shared, what only the caller can choose, and what is refused.
//!
//! A letter and a number in front of a test's name stand for a reported fault, as `tests/cases/main.rs` explains.
#![cfg(all(feature = "arrow", feature = "candle", feature = "ndarray"))]

mod batches;
mod encodings;
mod nulls;
mod numbers;
mod refusals;
mod streams;
mod tensors;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{ArrowError, DataType as ArrowType, Field, Schema};
use dlbridge::arrow::{Batches, Column, Matrix, Options, Select, arrow_array, arrow_buffer, arrow_schema};
use dlbridge::candle::candle_core::Tensor as Candle;
use dlbridge::ndarray::ndarray::{Array2, ArrayView2, ArrayView3, array};
use dlbridge::{
    Bridge, CopyPolicy, DataType, Descriptor, Device, Element, Error, Excerpt, Exchange, Flags, Lend, Reason, Route,
    Tensor, TensorRef,
};
use half::f16;
use interop_tests::raw::{ABIS, Abi, Producer};

fn field(name: &str, dtype: ArrowType) -> Arc<Field> {
    Arc::new(Field::new(name, dtype, true))
}

/// Lists of `size` elements over `values`.
fn lists(size: i32, values: impl Array + 'static) -> FixedSizeListArray {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    FixedSizeListArray::try_new(item, size, Arc::new(values), None).unwrap()
}

/// A field with an extension type.
fn extension(dtype: &ArrowType, name: &str, metadata: &str) -> Arc<Field> {
    let metadata = [("ARROW:extension:name", name), ("ARROW:extension:metadata", metadata)];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Arc::new(Field::new("column", dtype.clone(), true).with_metadata(std::collections::HashMap::from(metadata)))
}

fn in_column(column: &str, error: Error) -> Error {
    Error::InColumn { column: Excerpt::new(column), error: Box::new(error) }
}

fn nulls(count: usize, found: &str) -> Error {
    let option = "Options::fill_nulls or Options::keep_nulls";
    Error::Nulls { count, found: Excerpt::new(found), option }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A record batch of floats whose columns are parts of one buffer.
fn columns_of_one_buffer(rows: usize, columns: usize) -> RecordBatch {
    let all = ScalarBuffer::from((0..rows * columns).map(|n| n as f32).collect::<Vec<_>>());
    let column = |i: usize| Arc::new(Float32Array::new(all.slice(i * rows, rows), None)) as ArrayRef;
    let names: Vec<String> = (0..columns).map(|i| i.to_string()).collect();
    batch(names.iter().enumerate().map(|(i, name)| (name.as_str(), column(i))).collect())
}
