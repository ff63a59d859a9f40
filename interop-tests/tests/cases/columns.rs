//! Columns of Arrow, as readers of files and tables give them.

use std::sync::Arc;

use dlbridge::arrow::arrow_array::types::{Int32Type, Int64Type};
use dlbridge::arrow::arrow_array::*;
use dlbridge::arrow::arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use dlbridge::arrow::arrow_schema::{DataType as ArrowType, Field};
use dlbridge::arrow::{Column, Matrix, Options};
use dlbridge::ndarray::ndarray::Array3;

use super::*;

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Lists of three bytes.
fn triples(bytes: Vec<i8>, valid: Option<Vec<bool>>) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(ArrowType::Int8, true));
    let valid = valid.map(NullBuffer::from);
    Arc::new(FixedSizeListArray::new(item, 3, Arc::new(Int8Array::from(bytes)), valid))
}

#[test]
fn n02_columns_of_lists_are_a_matrix_of_lists() {
    let (a, b) = (triples((0..6).collect(), None), triples((6..12).collect(), None));
    let matrix: Array3<i8> = batch([("a", a.clone()), ("b", b)]).convert().unwrap();
    assert_eq!(matrix, array![[[0, 1, 2], [6, 7, 8]], [[3, 4, 5], [9, 10, 11]]]);
    let b = triples((6..12).collect(), Some(vec![true, false]));
    let matrix = Matrix::new(batch([("a", a), ("b", b)]));
    assert!(matches!(matrix.clone().convert::<Tensor>().unwrap_err().root(), Error::Nulls { count: 1, .. }));
    let matrix: Array3<i8> = matrix.with(Options::new().fill_nulls(-1)).convert().unwrap();
    assert_eq!(matrix, array![[[0, 1, 2], [6, 7, 8]], [[3, 4, 5], [-1, -1, -1]]]);
}

#[test]
fn n05_nulls_that_an_encoding_implies_are_not_lost() {
    let ends = Int32Array::from(vec![2, 5]);
    let runs = RunArray::<Int32Type>::try_new(&ends, &Int64Array::from(vec![Some(1), None])).unwrap();
    let error = Column::from(runs).with(Options::new().fill_nulls(0)).convert::<Tensor>().unwrap_err();
    assert!(matches!(error.root(), Error::UnsupportedType { .. }), "{error}");
    // The key is valid, the value is not.
    let values = Arc::new(Float64Array::from(vec![Some(1.), None]));
    let words = Column::from(DictionaryArray::<Int64Type>::new(vec![0, 1, 0].into(), values));
    assert!(matches!(words.clone().convert::<Tensor>(), Err(Error::Nulls { count: 1, .. })));
    assert_eq!(words.with(Options::new().fill_nulls(9)).convert::<Vec<f64>>().unwrap(), [1., 9., 1.]);
}

#[test]
fn n07_a_slice_is_filled_by_its_own_bits() {
    let bits = vec![Some(true), Some(false), None, Some(true), Some(true), Some(false), None, Some(true)];
    let expected = [true, true, false, false, true];
    let slice = BooleanArray::from(bits.clone()).slice(3, 5);
    let column = Column::from(slice).with(Options::new().fill_nulls(false));
    assert_eq!(column.validity().unwrap().to_vec::<bool>().unwrap(), [true, true, true, false, true]);
    assert_eq!(column.convert::<Vec<bool>>().unwrap(), expected);
    let item = Arc::new(Field::new_list_field(ArrowType::Boolean, true));
    let lists = FixedSizeListArray::new(item, 1, Arc::new(BooleanArray::from(bits)), None).slice(3, 5);
    assert_eq!(Column::from(lists).with(Options::new().fill_nulls(false)).convert::<Vec<bool>>().unwrap(), expected);
}

#[test]
fn n10_the_place_of_a_null_list_makes_no_difference() {
    for (first, second) in [(None, Some([3, 4])), (Some([3, 4]), None)] {
        let rows = [first, second].map(|row| row.map(|row| row.map(Some)));
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(rows);
        let column = Column::from(lists).with(Options::new().lists_as_axis().fill_nulls(0));
        let expected = [first.unwrap_or_default(), second.unwrap_or_default()].concat();
        assert_eq!(column.convert::<Vec<i32>>().unwrap(), expected);
    }
}

#[test]
fn n11_the_types_of_a_column_are_treated_alike() {
    let fill = Options::new().fill_nulls(f64::NAN);
    let narrow: Vec<f32> = Column::from(Float32Array::from(vec![Some(1.), None])).with(fill).convert().unwrap();
    let wide: Vec<f64> = Column::from(Float64Array::from(vec![Some(1.), None])).with(fill).convert().unwrap();
    assert!((narrow[0], wide[0]) == (1., 1.) && narrow[1].is_nan() && wide[1].is_nan());
    let whole = Column::from(Int64Array::from(vec![Some(1), None])).with(fill).convert::<Vec<i64>>();
    let refused = Error::NotRepresentable { what: "the value for nulls", dtype: DataType::INT64 };
    assert_eq!(whole, Err(refused));
}

#[test]
fn n13_a_time_with_a_zone_is_its_ticks_when_asked_for() {
    let times = TimestampMicrosecondArray::from(vec![Some(1_000_000), None]).with_timezone("+02:00");
    let column = Column::from(times);
    assert!(matches!(column.clone().convert::<Tensor>(), Err(Error::NeedsOption { .. })));
    let column = column.with(Options::new().temporal_as_integers().fill_nulls(-1));
    assert_eq!(column.convert::<Vec<i64>>().unwrap(), [1_000_000, -1]);
}

#[test]
fn n14_a_column_of_nothing_has_no_type() {
    let column = Column::from(NullArray::new(3)).with(Options::new().fill_nulls(0.));
    let error = column.convert::<Tensor>().unwrap_err();
    assert!(error.to_string().contains("cast it to numbers"), "{error}");
}

#[test]
fn m05_edges_of_batches() {
    let all = ScalarBuffer::from((0..12).map(|n| n as f32).collect::<Vec<_>>());
    let column = |i: usize| Arc::new(Float32Array::new(all.slice(i * 4, 4), None)) as ArrayRef;
    let batch = batch([("a", column(0)), ("b", column(1)), ("c", column(2))]);
    let rows = |indices: &[usize], from: usize, len: usize| {
        let tensor: Tensor = batch.project(indices).unwrap().slice(from, len).convert().unwrap();
        (tensor.shape().to_vec(), tensor.to_vec::<f32>().unwrap())
    };
    assert_eq!(rows(&[0, 1, 2], 4, 0), (vec![0, 3], vec![]));
    assert_eq!(rows(&[0, 0], 1, 2), (vec![2, 2], vec![1., 1., 2., 2.]));
    assert_eq!(rows(&[2, 1, 0], 0, 1), (vec![1, 3], vec![8., 4., 0.]));
    assert_eq!(rows(&[2, 0], 1, 2), (vec![2, 2], vec![9., 1., 10., 2.]));
    let reversed: Tensor = batch.project(&[2, 1, 0]).unwrap().share().unwrap();
    assert_eq!(reversed.strides(), [1, -4]);
}

#[test]
fn n45_a_struct_of_equal_fields_is_a_batch() {
    let field = |name: &str| Arc::new(Field::new(name, ArrowType::Float64, false));
    let values = |values: [f64; 2]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let points = StructArray::from(vec![(field("x"), values([1., 2.])), (field("y"), values([3., 4.]))]);
    let matrix: Array2<f64> = RecordBatch::from(points).convert().unwrap();
    assert_eq!(matrix, array![[1., 3.], [2., 4.]]);
}

#[test]
fn offsets_that_lie_cannot_be_made() {
    // Lists whose offsets reach beyond their values are refused by Arrow itself, so that nothing of ours sees them.
    let item = Arc::new(Field::new_list_field(ArrowType::Int8, true));
    let values = Arc::new(Int8Array::from(vec![1, 2]));
    let offsets = OffsetBuffer::new(vec![0, 3].into());
    assert!(ListArray::try_new(item, offsets, values, None).is_err());
}
