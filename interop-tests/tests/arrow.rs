//! Arrow columns and record batches: what is shared, what is a choice, and what is refused. The names with an H are those of
//! the project's list of cases.
#![cfg(all(feature = "arrow", feature = "candle", feature = "ndarray"))]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
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
    Error::Nulls { count, found: Excerpt::new(found) }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A column of floats, as a part of one buffer with all of them.
fn columns_of_one_buffer(rows: usize, columns: usize) -> RecordBatch {
    let all = ScalarBuffer::from((0..rows * columns).map(|n| n as f32).collect::<Vec<_>>());
    let column = |i: usize| Arc::new(Float32Array::new(all.slice(i * rows, rows), None)) as ArrayRef;
    let names: Vec<String> = (0..columns).map(|i| i.to_string()).collect();
    batch(names.iter().enumerate().map(|(i, name)| (name.as_str(), column(i))).collect())
}

/// Elements go out and come in as `T`s, at one address, whatever handles there are.
fn both_ways<T: ArrowPrimitiveType>(elements: Vec<T::Native>)
where
    T::Native: Element,
{
    let array = PrimitiveArray::<T>::new(elements.clone().into(), None);
    let data = array.values().as_ptr();
    let tensor: Tensor = (&array).share().unwrap();
    assert_eq!(tensor.as_slice::<T::Native>().unwrap(), elements);
    assert_eq!((tensor.data().cast(), tensor.flags()), (data, Flags::READ_ONLY));
    assert_eq!(tensor.dtype(), T::DATA_TYPE.exchange::<DataType>().unwrap());
    assert_eq!(tensor.dtype().exchange::<ArrowType>().unwrap(), T::DATA_TYPE);
    let back: PrimitiveArray<T> = tensor.share().unwrap();
    assert_eq!((back.values().as_ptr(), &back), (data, &array));
    drop((array, back));

    // The only handle: the vector itself, writable, out and in.
    let array = PrimitiveArray::<T>::new(elements.clone().into(), None);
    let data = array.values().as_ptr();
    let tensor: Tensor = array.share().unwrap();
    assert_eq!((tensor.data().cast(), tensor.flags()), (data, Flags::empty()));
    let vec: Vec<T::Native> = tensor.share().unwrap();
    assert_eq!((vec.as_ptr(), &vec), (data, &elements));
    let buffer: ScalarBuffer<T::Native> = vec.share().unwrap();
    assert_eq!(buffer.as_ptr(), data);
    let vec: Vec<T::Native> = buffer.share().unwrap();
    assert_eq!(vec.as_ptr(), data);

    // Memory of C.
    for abi in ABIS {
        let bytes = TensorRef::from_slice(&elements, &[elements.len() as i64]).unwrap().to_bytes().unwrap();
        let producer = Producer::new(T::Native::DTYPE, &[elements.len() as i64], &bytes);
        let (data, calls) = (producer.memory(), producer.calls());
        // SAFETY: a well-formed producer over its own memory, which nobody else uses.
        let array: PrimitiveArray<T> = unsafe { producer.import(abi) }.unwrap().share().unwrap();
        assert_eq!((array.values().as_ptr().cast(), &array.values()[..]), (data, &elements[..]));
        let slice = array.slice(1, 1);
        drop(array);
        assert_eq!((calls.count(), slice.value(0) == elements[1]), (0, true));
        drop(slice);
        assert_eq!(calls.count(), 1);
    }
}

#[test]
fn every_number_goes_both_ways_at_one_address() {
    both_ways::<Int8Type>(vec![1, -2, 3]);
    both_ways::<Int16Type>(vec![1, -2, 3]);
    both_ways::<Int32Type>(vec![1, -2, 3]);
    both_ways::<Int64Type>(vec![1, -2, 3]);
    both_ways::<UInt8Type>(vec![1, 2, 3]);
    both_ways::<UInt16Type>(vec![1, 2, 3]);
    both_ways::<UInt32Type>(vec![1, 2, 3]);
    both_ways::<UInt64Type>(vec![1, 2, 3]);
    both_ways::<Float16Type>([1., -2., 3.].map(f16::from_f32).to_vec());
    both_ways::<Float32Type>(vec![1., -2., 3.]);
    both_ways::<Float64Type>(vec![1., -2., 3.]);
}

#[test]
fn the_only_handle_is_taken_over_by_other_frameworks() {
    let array = lists(3, Float32Array::from(vec![1., 2., 3., 4., 5., 6.]));
    let data = array.values().as_primitive::<Float32Type>().values().as_ptr();
    let candle: Candle = array.share().unwrap();
    assert_eq!(candle.dims(), [2, 3]);
    let tensor: Tensor = candle.share().unwrap();
    assert_eq!(tensor.data().cast(), data);

    // With two handles it is read-only memory that belongs to somebody else.
    let array: ArrayRef = Arc::new(Float32Array::from(vec![1., 2.]));
    assert_eq!(array.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    let other = array.clone();
    let tensor: Tensor = array.share().unwrap();
    assert!(tensor.flags().is_read_only());
    drop(tensor);
    let mut tensor: Tensor = other.share().unwrap();
    tensor.as_mut_slice::<f32>().unwrap()[0] = 7.;
    let array: Float32Array = tensor.share().unwrap();
    assert_eq!(array.values()[..], [7., 2.]);

    // A buffer that Arrow aligned itself is no vector, but is written by its only handle.
    let array = Float32Array::new(arrow_buffer::MutableBuffer::from(vec![1f32, 2.]).into(), None);
    let tensor: Tensor = array.share().unwrap();
    assert!(!tensor.flags().is_read_only());
    let array: Float32Array = tensor.share().unwrap();
    assert_eq!(array.values()[..], [1., 2.]);

    // The second half of a vector is not the vector.
    let array = Int32Array::from(vec![1, 2, 3, 4]).slice(2, 2);
    assert_eq!(array.convert::<Vec<i32>>().unwrap(), [3, 4]);
    let array = Int32Array::from(vec![1, 2, 3, 4]).slice(0, 2);
    assert_eq!(array.convert::<Vec<i32>>().unwrap(), [1, 2]);
}

#[test]
fn foreign_memory_in_arrow_stays_read_only() {
    let producer = Producer::f32(&[3], &[1., 2., 3.]);
    let (data, calls) = (producer.memory(), producer.calls());
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    let array: Float32Array = unsafe { producer.import(Abi::Versioned) }.unwrap().share().unwrap();
    let tensor: Tensor = array.share().unwrap();
    assert_eq!((tensor.data(), tensor.flags()), (data, Flags::READ_ONLY));
    let array: Float32Array = tensor.share().unwrap();
    assert_eq!(array.values().as_ptr().cast(), data);
    drop(array);
    assert_eq!(calls.count(), 1);
}

#[test]
fn lists_are_axes_to_any_depth() {
    let nested = lists(2, lists(3, UInt16Array::from((0..24).collect::<Vec<_>>())));
    let sliced = nested.slice(1, 2);
    let data = nested.values().as_fixed_size_list().values().as_primitive::<UInt16Type>().values()[6..].as_ptr();
    let tensor: Tensor = (&sliced).share().unwrap();
    assert_eq!((tensor.shape(), tensor.data().cast()), (&[2, 2, 3][..], data));
    let view: ArrayView3<'_, u16> = tensor.lend().unwrap();
    assert_eq!((view[[0, 0, 0]], view[[1, 1, 2]]), (6, 17));
    let back: FixedSizeListArray = tensor.share().unwrap();
    assert_eq!(back, sliced);
    assert_eq!(back.values().as_fixed_size_list().values().as_primitive::<UInt16Type>().values().as_ptr(), data);

    // Lists without elements, and no lists at all.
    let item = Arc::new(Field::new_list_field(ArrowType::Float32, true));
    let empty: ArrayRef = Arc::new(Float32Array::from(Vec::<f32>::new()));
    let hollow = FixedSizeListArray::try_new_with_length(item, 0, empty.clone(), None, 5).unwrap();
    let tensor: Tensor = (&hollow).share().unwrap();
    assert_eq!(tensor.shape(), [5, 0]);
    assert_eq!(tensor.share::<FixedSizeListArray>().unwrap(), hollow);
    assert_eq!((&empty).share::<Tensor>().unwrap().shape(), [0]);
    assert_eq!(empty.convert::<Vec<f32>>().unwrap(), [0f32; 0]);
}

/// Three tensors of 2 × 2 × 3 in memory.
fn fixed_shape(metadata: &str) -> Column {
    let array = lists(12, Float32Array::from((0..36).map(|n| n as f32).collect::<Vec<_>>()));
    let field = extension(array.data_type(), "arrow.fixed_shape_tensor", metadata);
    Column::new(Arc::new(array), field)
}

#[test]
fn h2_h4_tensors_of_fixed_shape_are_permuted_views_of_their_window() {
    let column = fixed_shape(r#"{"shape": [2, 2, 3], "permutation": [0, 2, 1], "dim_names": ["a", "b", "c"]}"#);
    assert_eq!(column.dim_names().unwrap().unwrap(), ["a", "c", "b"]);
    let tensor: Tensor = (&column).share().unwrap();
    assert_eq!(tensor.shape(), [3, 2, 3, 2]);
    assert_eq!(tensor.strides(), [12, 6, 1, 3]);
    let sliced = Column::new(column.array().slice(1, 1), column.field().clone());
    let tensor: Tensor = (&sliced).share().unwrap();
    assert_eq!(tensor.shape(), [1, 2, 3, 2]);
    assert_eq!(tensor.view().get::<f32>(&[0, 0, 0, 0]), Ok(12.));
    assert_eq!(tensor.view().get::<f32>(&[0, 1, 2, 1]), Ok(23.));
    assert_eq!(tensor.view().get::<f32>(&[0, 0, 0, 1]), Ok(15.));

    // It comes back with the same memory, and its own metadata say the same.
    let back: Column = tensor.share().unwrap();
    assert_eq!(back.array().as_fixed_size_list(), sliced.array().as_fixed_size_list());
    let metadata = back.field().metadata()["ARROW:extension:metadata"].as_str();
    assert_eq!(metadata, r#"{"permutation":[0,2,1],"shape":[2,2,3]}"#);
}

#[test]
fn contradicting_metadata_name_the_column() {
    for metadata in [
        r#"{"shape": [2, 2, 4]}"#,
        r#"{"shape": [2, 2, 3], "permutation": [0, 1]}"#,
        r#"{"shape": [2, 2, 3], "permutation": [0, 1, 1]}"#,
        r#"{"shape": [2, 2, 3], "permutation": [0, 1, 3]}"#,
        r#"{"shape": [4294967296, 4294967296, 12]}"#,
        r#"{"shape": [-1, -12]}"#,
        "no JSON",
        "",
    ] {
        let column = fixed_shape(metadata);
        for error in [(&column).share::<Tensor>().err(), column.dim_names().err()] {
            let Some(Error::InColumn { column: name, error }) = error else { panic!("{metadata}: {error:?}") };
            assert_eq!(name.as_str(), "column");
            assert!(matches!(*error, Error::InvalidExtension { .. }), "{metadata}: {error}");
        }
        assert!(matches!(column.route::<Tensor>(), Route::Impossible(_)));
    }
    // Storage that the extension type does not have, and types that are not known.
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let bytes: ArrayRef = Arc::new(UInt8Array::from(vec![1]));
    let list: ArrayRef = Arc::new(lists(1, Int8Array::from(vec![1])));
    for (array, name) in [
        (&strings, "arrow.bool8"),
        (&bytes, "arrow.bool8"),
        (&list, "arrow.bool8"),
        (&bytes, "arrow.fixed_shape_tensor"),
    ] {
        let column = Column::new(array.clone(), extension(array.data_type(), name, r#"{"shape": [1]}"#));
        let error = column.share::<Tensor>().unwrap_err();
        assert!(matches!(error.root(), Error::InvalidExtension { .. }), "{error}");
    }
    let unknown = Column::new(bytes.clone(), extension(bytes.data_type(), "acme.float8", ""));
    let error = (&unknown).share::<Tensor>().unwrap_err();
    let option = "Options::extensions_as_storage";
    assert_eq!(*error.root(), Error::NeedsOption { found: Excerpt::new("acme.float8"), option });
    assert_eq!(unknown.with(Options::new().extensions_as_storage()).convert::<Vec<u8>>().unwrap(), [1]);
    let other = Column::new(bytes, field("x", ArrowType::Int8));
    assert!(matches!(other.share::<Tensor>().unwrap_err().root(), Error::FieldMismatch { .. }));
}

#[test]
fn bool8_is_shared_and_mended_if_need_be() {
    let column = |bytes: Vec<i8>| {
        let array = Int8Array::from(bytes);
        let field = extension(array.data_type(), "arrow.bool8", "");
        Column::new(Arc::new(array), field)
    };
    let plain = column(vec![0, 1, 1]);
    let tensor: Tensor = (&plain).share().unwrap();
    assert_eq!(tensor.data().cast(), plain.array().as_primitive::<Int8Type>().values().as_ptr());
    assert_eq!(tensor.as_slice::<bool>().unwrap(), [false, true, true]);
    // Any byte that is not zero is true to Arrow, and only 1 is to DLPack.
    let other = column(vec![0, 2, -1, 1]);
    assert_eq!(other.route::<Tensor>(), Route::Copied(Reason::Encoded));
    assert_eq!(other.convert::<Vec<bool>>().unwrap(), [false, true, true, true]);

    let back: Column = vec![true, false].share().unwrap();
    assert_eq!(back.field().metadata()["ARROW:extension:name"], "arrow.bool8");
    assert_eq!(back.convert::<Vec<bool>>().unwrap(), [true, false]);
}

#[test]
fn h3_lists_of_one_length_are_an_axis_when_asked_for() {
    let values = Int32Array::from((0..8).collect::<Vec<_>>());
    let item = Arc::new(Field::new_list_field(ArrowType::Int32, true));
    let offsets = |ends: Vec<i32>| OffsetBuffer::new(ends.into());
    let list = ListArray::new(item.clone(), offsets(vec![0, 1, 3, 5, 8]), Arc::new(values.clone()), None);
    let found = Excerpt::new(&list.data_type().to_string());
    let sliced: Column = list.slice(1, 2).into();
    let error = Error::NeedsOption { found, option: "Options::lists_as_axis" };
    assert_eq!((&sliced).share::<Tensor>().unwrap_err(), error);
    let tensor: Tensor = sliced.with(Options::new().lists_as_axis()).share().unwrap();
    assert_eq!(tensor.shape(), [2, 2]);
    assert_eq!(tensor.data().cast(), values.values()[1..].as_ptr());
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [1, 2, 3, 4]);

    let ragged = Column::from(list).with(Options::new().lists_as_axis());
    assert_eq!(ragged.share::<Tensor>().unwrap_err(), Error::Ragged { row: 1, expected: 1, found: 2 });

    // A null list is as long as the others, or in the way.
    let item = Arc::new(Field::new_list_field(ArrowType::Int32, true));
    let choices = Options::new().lists_as_axis().fill_nulls(-1);
    for (ends, valid, expected) in [
        (vec![0, 2, 4], [false, true], Ok(vec![-1, -1, 2, 3])),
        (vec![0, 0, 2], [false, true], Err(Error::Ragged { row: 0, expected: 2, found: 0 })),
        (vec![0, 2, 2], [true, false], Err(Error::Ragged { row: 1, expected: 2, found: 0 })),
    ] {
        let valid = Some(NullBuffer::from(valid.to_vec()));
        let list = ListArray::new(item.clone(), offsets(ends), Arc::new(values.clone()), valid);
        assert_eq!(Column::from(list).with(choices).convert::<Vec<i32>>(), expected);
    }
    let large = LargeListArray::new(item, OffsetBuffer::new(vec![0i64, 4, 8].into()), Arc::new(values), None);
    let lists = lists(2, large);
    let tensor: Tensor = Column::from(lists).with(Options::new().lists_as_axis()).share().unwrap();
    assert_eq!(tensor.shape(), [1, 2, 4]);
}

#[test]
fn h6_a_null_outside_of_the_slice_is_none() {
    let array = Float32Array::from(vec![None, Some(1.), Some(2.), None]);
    assert_eq!((&array).share::<Tensor>().unwrap_err(), nulls(2, "Float32"));
    let inside = array.slice(1, 2);
    let tensor: Tensor = (&inside).share().unwrap();
    assert_eq!(tensor.data().cast(), array.values()[1..].as_ptr());
    // In lists as well: those of the child, and those of the lists.
    let values = Float32Array::from(vec![None, Some(1.), Some(2.), Some(3.), Some(4.), None]);
    let item = Arc::new(Field::new_list_field(ArrowType::Float32, true));
    let valid = NullBuffer::from(vec![true, true, true]);
    let array = FixedSizeListArray::try_new(item, 2, Arc::new(values), Some(valid)).unwrap();
    assert_eq!((&array).share::<Tensor>().unwrap_err(), nulls(2, "Float32"));
    assert_eq!(array.slice(1, 1).convert::<Vec<f32>>().unwrap(), [2., 3.]);
}

#[test]
fn nulls_are_filled_or_kept_beside_a_mask_as_the_caller_says() {
    let array = Int32Array::from(vec![Some(1), None, Some(3)]);
    let data = array.values().as_ptr();
    let column = Column::new(Arc::new(array), field("n", ArrowType::Int32));
    assert_eq!((&column).share::<Tensor>().unwrap_err(), in_column("n", nulls(1, "Int32")));

    let filled = column.clone().with(Options::new().fill_nulls(-1));
    assert_eq!(filled.route::<Vec<i32>>(), Route::Copied(Reason::Nulls));
    let error = Error::CopyRequired { framework: "arrow", reason: Reason::Nulls };
    assert_eq!((&filled).share::<Tensor>().unwrap_err(), in_column("n", error));
    let converted = filled.convert_with::<Vec<i32>>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!((converted.value, converted.copied), (vec![1, -1, 3], Some(Reason::Nulls)));
    let error = in_column("n", Error::NotRepresentable { what: "the value for nulls", dtype: DataType::INT32 });
    assert_eq!(column.clone().with(Options::new().fill_nulls(0.5)).convert::<Vec<i32>>().unwrap_err(), error);

    let kept = column.with(Options::new().keep_nulls());
    assert_eq!(kept.validity().unwrap().as_slice::<bool>().unwrap(), [true, false, true]);
    let tensor: Tensor = kept.share().unwrap();
    assert_eq!(tensor.data().cast(), data);

    // A null list takes all its elements with it, also where an extension permutes the axes.
    let values = Float32Array::from(vec![Some(0.), Some(1.), Some(2.), None, Some(4.), Some(5.), Some(6.), Some(7.)]);
    let item = Arc::new(Field::new_list_field(ArrowType::Float32, true));
    let valid = NullBuffer::from(vec![true, false]);
    let array = FixedSizeListArray::try_new(item, 4, Arc::new(values), Some(valid)).unwrap();
    let metadata = r#"{"shape": [2, 2], "permutation": [1, 0]}"#;
    let field = extension(array.data_type(), "arrow.fixed_shape_tensor", metadata);
    let column = Column::new(Arc::new(array), field).with(Options::new().fill_nulls(9));
    let expected = array![[[0., 2.], [1., 9.]], [[9., 9.], [9., 9.]]];
    assert_eq!((&column).convert::<dlbridge::ndarray::ndarray::Array3<f32>>().unwrap(), expected);
    let valid: Tensor = column.validity().unwrap();
    assert_eq!(valid.shape(), [2, 2, 2]);
    assert_eq!(valid.as_slice::<bool>().unwrap(), [true, true, true, false, false, false, false, false]);

    // The value has to be one of the type, whether there are nulls or not.
    let whole = Column::from(Int32Array::from(vec![1])).with(Options::new().fill_nulls(0.5));
    assert!(matches!(whole.share::<Tensor>(), Err(Error::NotRepresentable { .. })));
}

#[test]
fn copies_and_masks_follow_a_permutation() {
    // An axis of length 1 changes the shape, but not the strides.
    for (shape, permutation, lengths) in
        [([2, 1], [1, 0], [2, 1, 2]), ([2, 3], [1, 0], [2, 3, 2]), ([2, 3], [0, 1], [2, 2, 3])]
    {
        let size: usize = shape.iter().product();
        let bits: Vec<bool> = (0..2 * size).map(|n| n % 3 == 0).collect();
        let metadata = format!(r#"{{"shape": {shape:?}, "permutation": {permutation:?}}}"#);
        let column = |array: FixedSizeListArray| {
            let field = extension(array.data_type(), "arrow.fixed_shape_tensor", &metadata);
            Column::new(Arc::new(array), field)
        };
        let packed = column(lists(size as i32, BooleanArray::from(bits.clone())));
        let plain = column(lists(size as i32, Int8Array::from_iter_values(bits.iter().map(|bit| i8::from(*bit)))));
        let tensor: Tensor = (&packed).convert().unwrap();
        assert_eq!(tensor.shape(), lengths);
        let expected: Vec<bool> = plain.convert::<Vec<i8>>().unwrap().into_iter().map(|byte| byte == 1).collect();
        assert_eq!(tensor.as_slice::<bool>().unwrap(), expected);
        assert_eq!(packed.validity().unwrap().shape(), lengths);
    }
    // A permutation that is not its own inverse: the example of the format, made smaller.
    let array = lists(30, Int16Array::from((0..60).collect::<Vec<_>>()));
    let field =
        extension(array.data_type(), "arrow.fixed_shape_tensor", r#"{"shape": [2, 3, 5], "permutation": [2, 0, 1]}"#);
    let tensor: Tensor = Column::new(Arc::new(array), field).share().unwrap();
    assert_eq!(tensor.shape(), [2, 5, 2, 3]);
    assert_eq!(tensor.strides(), [30, 1, 15, 5]);
    assert_eq!(tensor.view().get::<i16>(&[1, 4, 1, 2]), Ok(59));
    assert_eq!(tensor.view().get::<i16>(&[0, 1, 0, 0]), Ok(1));
    assert_eq!(
        tensor.share::<Column>().unwrap().with_dim_names(&["x", "y", "z"]).unwrap().dim_names().unwrap().unwrap(),
        ["x", "y", "z"]
    );
}

#[test]
fn h7_packed_booleans_are_unpacked_by_name_only() {
    let array = BooleanArray::from(vec![true, false, true, true, false, true]);
    let sliced = array.slice(3, 3);
    assert!(matches!((&sliced).share::<Tensor>(), Err(Error::CopyRequired { reason: Reason::Encoded, .. })));
    assert_eq!((&sliced).convert::<Vec<bool>>().unwrap(), [true, false, true]);
    let gaps: Column = BooleanArray::from(vec![Some(true), None]).into();
    assert_eq!(gaps.with(Options::new().fill_nulls(true)).convert::<Vec<bool>>().unwrap(), [true, true]);
    // And packed again.
    let back = vec![true, false, true].convert_with::<BooleanArray>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!((back.value, back.copied), (BooleanArray::from(vec![true, false, true]), Some(Reason::Encoded)));
    let matrix = array![[true, false], [false, true], [true, true]];
    let back: FixedSizeListArray = matrix.clone().convert().unwrap();
    assert_eq!(back.convert::<Array2<bool>>().unwrap(), matrix);
}

#[test]
fn dictionaries_are_decoded_by_name_only() {
    let values = Float64Array::from(vec![Some(0.5), None, Some(2.5)]);
    let keys = UInt8Array::from(vec![Some(2), Some(0), None, Some(1), Some(2)]);
    let array = DictionaryArray::new(keys, Arc::new(values));
    assert_eq!(array.clone().convert::<Vec<f64>>().unwrap_err(), nulls(2, "Dictionary(UInt8, Float64)"));
    let sliced = array.slice(0, 2);
    assert!(matches!((&sliced).share::<Tensor>(), Err(Error::CopyRequired { reason: Reason::Encoded, .. })));
    assert_eq!(sliced.convert::<Vec<f64>>().unwrap(), [2.5, 0.5]);
    let column = Column::from(array).with(Options::new().fill_nulls(-1));
    assert_eq!(column.convert::<Vec<f64>>().unwrap(), [2.5, 0.5, -1., -1., 2.5]);
    let strings: DictionaryArray<Int32Type> = vec!["a", "b"].into_iter().collect();
    assert!(matches!(strings.convert::<Vec<i32>>(), Err(Error::UnsupportedType { .. })));
}

#[test]
fn times_are_integers_when_asked_for() {
    let times = TimestampNanosecondArray::from(vec![1_000, 2_000]).with_timezone("+01:00");
    let (data, dtype) = (times.values().as_ptr(), times.data_type().clone());
    let error = (&times).share::<Tensor>().unwrap_err();
    assert!(matches!(error, Error::NeedsOption { option: "Options::temporal_as_integers", .. }), "{error}");
    assert!(dtype.exchange::<DataType>().is_err());
    let tensor: Tensor = Column::from(times).with(Options::new().temporal_as_integers()).share().unwrap();
    assert_eq!((tensor.dtype(), tensor.data().cast()), (DataType::INT64, data));
    // A number is no time, unless the caller casts it.
    assert!(matches!(tensor.route::<TimestampNanosecondArray>(), Route::Impossible(Error::UnsupportedType { .. })));
    let all: [(ArrayRef, DataType); 6] = [
        (Arc::new(Date32Array::from(vec![1])), DataType::INT32),
        (Arc::new(Date64Array::from(vec![1])), DataType::INT64),
        (Arc::new(Time32SecondArray::from(vec![1])), DataType::INT32),
        (Arc::new(Time64MicrosecondArray::from(vec![1])), DataType::INT64),
        (Arc::new(DurationMillisecondArray::from(vec![1])), DataType::INT64),
        (Arc::new(IntervalYearMonthArray::from(vec![1])), DataType::INT32),
    ];
    for (array, dtype) in all {
        assert!(matches!((&array).share::<Tensor>(), Err(Error::NeedsOption { .. })));
        let column = Column::new(array.clone(), field("t", array.data_type().clone()));
        let tensor: Tensor = column.with(Options::new().temporal_as_integers()).share().unwrap();
        assert_eq!(tensor.dtype(), dtype);
    }
}

#[test]
fn decimals_are_integers_or_floats_when_asked_for() {
    let all: [(ArrayRef, Option<u8>); 4] = [
        (Arc::new(Decimal32Array::from(vec![125, -5]).with_precision_and_scale(9, 2).unwrap()), Some(32)),
        (Arc::new(Decimal64Array::from(vec![125, -5]).with_precision_and_scale(18, 2).unwrap()), Some(64)),
        (Arc::new(Decimal128Array::from(vec![125, -5]).with_precision_and_scale(38, 2).unwrap()), Some(128)),
        (
            Arc::new(
                Decimal256Array::from([125, -5].map(i256::from_i128).to_vec()).with_precision_and_scale(76, 2).unwrap(),
            ),
            None,
        ),
    ];
    for (array, bits) in all {
        assert!(matches!((&array).convert::<Vec<f64>>(), Err(Error::NeedsOption { .. })));
        let column = Column::new(array.clone(), field("price", array.data_type().clone()));
        let floats = column.clone().with(Options::new().decimals_as_floats());
        assert_eq!(floats.route::<Vec<f64>>(), Route::Copied(Reason::Encoded));
        assert_eq!(floats.convert::<Vec<f64>>().unwrap(), [1.25, -0.05]);
        let integers = column.with(Options::new().decimals_as_integers());
        match (integers.share::<Tensor>(), bits) {
            (Ok(tensor), Some(bits)) => assert_eq!(tensor.dtype().bits(), bits),
            (Err(error), None) => {
                let Error::NeedsOption { option, .. } = error.root() else { panic!("{error}") };
                assert_eq!(*option, "Options::decimals_as_floats");
            }
            (other, _) => panic!("{other:?}"),
        }
    }
}

#[test]
fn decimals_of_any_scale_are_floats() {
    for (scale, expected) in [(-5, 1e5), (-9, 1e9), (0, 1.), (20, 1e-20)] {
        let array = Decimal128Array::from(vec![1]).with_precision_and_scale(38, scale).unwrap();
        let column = Column::from(array).with(Options::new().decimals_as_floats());
        assert_eq!(column.convert::<Vec<f64>>().unwrap(), [expected]);
    }
}

#[test]
fn what_holds_no_numbers_is_refused_by_type() {
    let empty = Arc::new(Schema::empty());
    let arrays: [ArrayRef; 7] = [
        Arc::new(StringArray::from(vec!["a"])),
        Arc::new(BinaryArray::from(vec![&b"a"[..]])),
        Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab"].into_iter()).unwrap()),
        Arc::new(NullArray::new(1)),
        Arc::new(StructArray::new_empty_fields(1, None)),
        Arc::new(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 3)])),
        Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2]), &Int32Array::from(vec![7])).unwrap()),
    ];
    for array in arrays {
        let error = (&array).convert::<Tensor>().unwrap_err();
        assert!(matches!(error, Error::UnsupportedType { framework: "arrow", .. }), "{error}");
        assert!(array.data_type().exchange::<DataType>().is_err());
    }
    let none = RecordBatch::try_new_with_options(empty, vec![], &RecordBatchOptions::new().with_row_count(Some(3)));
    assert!(matches!(none.unwrap().share::<Tensor>(), Err(Error::Inexpressible { .. })));
    let known: Vec<DataType> =
        DataType::ALL.iter().copied().filter(|dtype| (*dtype).exchange::<ArrowType>().is_ok()).collect();
    assert_eq!(known.len(), 12);
    for dtype in known {
        assert_eq!(dtype.exchange::<ArrowType>().unwrap().exchange(), Ok(dtype));
    }
}

#[test]
fn a_batch_of_one_buffer_is_a_strided_view() {
    let columns = columns_of_one_buffer(5, 3);
    let tensor: Tensor = (&columns).share().unwrap();
    assert_eq!(tensor.shape(), [5, 3]);
    assert_eq!(tensor.strides(), [1, 5]);
    let view: ArrayView2<'_, f32> = tensor.lend().unwrap();
    assert_eq!((view[[4, 0]], view[[0, 2]]), (4., 10.));
    // Some of them, other rows, another order: as long as the steps are the same.
    let part = columns.project(&[2, 1]).unwrap().slice(1, 3);
    let tensor: Tensor = (&part).share().unwrap();
    assert_eq!(tensor.strides(), [1, -5]);
    assert_eq!(tensor.view().get::<f32>(&[0, 0]), Ok(11.));
    let uneven = columns_of_one_buffer(5, 4).project(&[0, 1, 3]).unwrap();
    assert_eq!(uneven.route::<Tensor>(), Route::Copied(Reason::Scattered));
    let same = columns.project(&[1, 1]).unwrap();
    assert_eq!(same.share::<Tensor>().unwrap().strides(), [1, 0]);

    // It outlives the batch.
    let tensor: Tensor = columns.share().unwrap();
    assert_eq!(
        tensor.to_vec::<f32>().unwrap(),
        (0..5).flat_map(|row| [0, 5, 10].map(|n| (n + row) as f32)).collect::<Vec<_>>()
    );
}

#[test]
fn a_batch_of_several_buffers_is_one_copy() {
    let columns = batch(vec![
        ("x", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
        ("y", Arc::new(Int64Array::from(vec![4, 5, 6]))),
    ]);
    assert!(matches!((&columns).share::<Tensor>(), Err(Error::CopyRequired { reason: Reason::Scattered, .. })));
    let converted = (&columns).convert_with::<Array2<i64>>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(converted.copied, Some(Reason::Scattered));
    assert_eq!(converted.value, array![[1, 4], [2, 5], [3, 6]]);
    let candle: Candle = columns.slice(1, 2).convert().unwrap();
    assert_eq!(candle.to_vec2::<i64>().unwrap(), [[2, 5], [3, 6]]);

    let mixed = batch(vec![
        ("x", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
        ("y", Arc::new(Int32Array::from(vec![1, 2]))),
    ]);
    let error = in_column("y", Error::DTypeMismatch { expected: DataType::INT64, found: DataType::INT32 });
    assert_eq!((&mixed).convert::<Tensor>().unwrap_err(), error);
    let shapes = batch(vec![
        ("x", Arc::new(lists(2, Int32Array::from(vec![1, 2, 3, 4]))) as ArrayRef),
        ("y", Arc::new(lists(1, Int32Array::from(vec![1, 2])))),
    ]);
    let error = in_column("y", Error::AxisMismatch { axis: 1, expected: 2, found: 1 });
    assert_eq!((&shapes).convert::<Tensor>().unwrap_err(), error);
    assert_eq!(shapes.project(&[0, 0]).unwrap().convert::<Tensor>().unwrap().shape(), [2, 2, 2]);

    let gaps = batch(vec![
        ("x", Arc::new(Float32Array::from(vec![Some(1.), None])) as ArrayRef),
        ("y", Arc::new(Float32Array::from(vec![3., 4.]))),
    ]);
    assert_eq!((&gaps).convert::<Tensor>().unwrap_err(), in_column("x", nulls(1, "Float32")));
    let matrix = Matrix::from(gaps).with(Options::new().fill_nulls(0));
    assert_eq!(matrix.validity().unwrap().as_slice::<bool>().unwrap(), [true, true, false, true]);
    let error = Error::CopyRequired { framework: "arrow", reason: Reason::Nulls };
    assert_eq!((&matrix).share::<Tensor>().unwrap_err(), in_column("x", error));
    assert_eq!(matrix.convert::<Array2<f32>>().unwrap(), array![[1., 3.], [0., 4.]]);
    let bits = batch(vec![
        ("x", Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef),
        ("y", Arc::new(BooleanArray::from(vec![false, true]))),
    ]);
    assert_eq!(bits.convert::<Array2<bool>>().unwrap(), array![[true, false], [false, true]]);

    let nothing = columns_of_one_buffer(0, 3);
    assert_eq!((&nothing).share::<Tensor>().unwrap().shape(), [0, 3]);
    assert_eq!(nothing.convert::<Array2<f32>>().unwrap().dim(), (0, 3));
}

#[test]
fn a_matrix_is_a_batch() {
    let array = Array2::from_shape_fn((4, 3), |(row, column)| (3 * row + column) as f32);
    let columns = array.clone().reversed_axes().as_standard_layout().into_owned().reversed_axes();
    let data = columns.as_ptr();
    let batch: RecordBatch = columns.share().unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (4, 3));
    assert_eq!(batch.column(0).as_primitive::<Float32Type>().values().as_ptr(), data);
    let tensor: Tensor = (&batch).share().unwrap();
    assert_eq!(tensor.data().cast(), data);
    assert_eq!(tensor.lend::<ArrayView2<'_, f32>>().unwrap(), array);

    let copied = array.clone().convert_with::<RecordBatch>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(copied.copied, Some(Reason::Strided));
    assert_eq!(copied.value, batch);
    assert_eq!(copied.value.convert::<Array2<f32>>().unwrap(), array);
    let error = Error::NdimMismatch { expected: 2, found: 1 };
    assert_eq!(vec![1f32].convert::<RecordBatch>().unwrap_err(), error);

    // Every second column of a wider matrix: gaps are not Arrow's.
    let elements: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let producer = Producer::f32(&[3, 2], &elements).strides(&[1, 6]);
    let calls = producer.calls();
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    let batch: RecordBatch = unsafe { producer.import(Abi::Versioned) }.unwrap().share().unwrap();
    assert_eq!(batch.column(1).as_primitive::<Float32Type>().values()[..], [6., 7., 8.]);
    assert_eq!(batch.route::<Tensor>(), Route::Copied(Reason::Scattered));
    let column = batch.column(0).clone();
    drop(batch);
    assert_eq!(calls.count(), 0);
    drop(column);
    assert_eq!(calls.count(), 1);
}

#[test]
fn c3_misaligned_memory_is_refused_or_copied() {
    // Arrow would panic.
    let producer = Producer::f32(&[2], &[0., 1., 2.]).with(|it| it.tensor.byte_offset = 2);
    let address = producer.first() as usize;
    // SAFETY: the bytes from 2 to 10 of its own memory.
    let tensor = unsafe { producer.import(Abi::Versioned) }.unwrap();
    assert_eq!(tensor.route::<Float32Array>(), Route::Copied(Reason::Misaligned { align: 4 }));
    let copied: Float32Array = tensor.convert().unwrap();
    assert_eq!(copied.values().as_ptr() as usize % 4, 0);
    assert_ne!(copied.values().as_ptr() as usize, address);
    let producer = Producer::f32(&[2], &[0., 1., 2.]).with(|it| it.tensor.byte_offset = 2);
    let calls = producer.calls();
    // SAFETY: as above.
    let tensor = unsafe { producer.import(Abi::Versioned) }.unwrap();
    let error = Error::CopyRequired { framework: "arrow", reason: Reason::Misaligned { align: 4 } };
    assert_eq!(tensor.share::<ArrayRef>().unwrap_err(), error);
    assert_eq!(calls.count(), 1);
}

#[test]
fn what_arrow_lacks_is_refused() {
    let memory = [0u128; 4];
    for dtype in DataType::ALL.iter().filter(|dtype| (**dtype).exchange::<ArrowType>().is_err()) {
        let tensor = Descriptor::new(memory.as_ptr().cast(), *dtype, Device::CPU, Flags::empty(), &[2], None).unwrap();
        let error = Route::Impossible(Error::UnsupportedDType { framework: "arrow", dtype: *dtype });
        assert_eq!(<ArrayRef as dlbridge::Import<_>>::plan(&tensor), error);
        assert_eq!(<Column as dlbridge::Import<_>>::plan(&tensor), error);
    }
    let shape = [1, 1 << 31];
    let tensor =
        Descriptor::new(memory.as_ptr().cast(), DataType::UINT8, Device::CPU, Flags::empty(), &shape, None).unwrap();
    for plan in [<ArrayRef as dlbridge::Import<_>>::plan(&tensor), <Column as dlbridge::Import<_>>::plan(&tensor)] {
        assert!(matches!(plan, Route::Impossible(Error::Unsupported { .. })), "{plan}");
    }
    let device = Device::cuda(0);
    let tensor = Descriptor::new(memory.as_ptr().cast(), DataType::INT8, device, Flags::empty(), &[2], None).unwrap();
    for plan in [
        <ArrayRef as dlbridge::Import<_>>::plan(&tensor),
        <Buffer as dlbridge::Import<_>>::plan(
            &Descriptor::new(memory.as_ptr().cast(), DataType::UINT8, device, Flags::empty(), &[2], None).unwrap(),
        ),
    ] {
        assert_eq!(plan, Route::Impossible(Error::NotOnHost { device }));
    }
    assert!(matches!(vec![1u16].route::<Int16Array>(), Route::Impossible(Error::DTypeMismatch { .. })));
    assert!(matches!(vec![1u16].route::<Buffer>(), Route::Impossible(Error::DTypeMismatch { .. })));
}

#[test]
fn odd_shapes_are_refused_or_carried_and_never_panic() {
    // Strides that are never walked, and axes without any element, may be anything.
    for (shape, strides) in [([4, 1], [1, i64::MAX]), ([0, 3], [i64::MAX, i64::MIN]), ([1, 4], [i64::MAX, 1])] {
        let producer = Producer::f32(&shape, &[0., 1., 2., 3.]).strides(&strides);
        // SAFETY: four elements at most, of its own memory.
        let batch: RecordBatch = unsafe { producer.import(Abi::Versioned) }.unwrap().share().unwrap();
        assert_eq!([batch.num_rows() as i64, batch.num_columns() as i64], shape);
    }
    let empty = |shape: &[usize]| Tensor::new(Vec::<f64>::new(), shape).unwrap();
    assert_eq!(empty(&[1 << 50, 0]).share::<RecordBatch>().unwrap().num_rows(), 1 << 50);
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let error = empty(&[0, 1 << 45]).convert_with::<RecordBatch>(policy).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
    let deep = Tensor::new(vec![0u8], &[1; 65]).unwrap();
    assert!(matches!(deep.share::<FixedSizeListArray>(), Err(Error::Unsupported { .. })));
    let deep = Tensor::new(vec![0u8], &[1; 64]).unwrap();
    assert_eq!(deep.share::<ArrayRef>().unwrap().share::<Tensor>().unwrap().shape(), [1; 64]);
    // More booleans than there is memory for, broadcast from one.
    let producer = Producer::new(DataType::BOOL, &[1 << 55], &[1]).strides(&[0]);
    // SAFETY: one element of its own memory.
    let tensor = unsafe { producer.import(Abi::Versioned) }.unwrap();
    assert!(matches!(tensor.convert::<BooleanArray>(), Err(Error::OutOfMemory { .. })));
}

#[test]
fn any_reader_is_a_stream_of_tensors() {
    let parts = || {
        (0..3).map(|part| {
            let values = Float32Array::from((0..4).map(|n| (4 * part + n) as f32).collect::<Vec<_>>());
            let labels: ArrayRef = Arc::new(Int32Array::from(vec![part, part]));
            Ok::<_, ArrowError>(batch(vec![("x", Arc::new(lists(2, values)) as ArrayRef), ("y", labels)]))
        })
    };
    let mut sum = 0.;
    for tensor in parts().tensors::<Candle>(Select::column("x")) {
        let tensor = tensor.unwrap();
        // The batch is gone, so that candle takes its vector over.
        assert_eq!(tensor.copied, None);
        sum += tensor.value.sum_all().unwrap().to_scalar::<f32>().unwrap();
    }
    assert_eq!(sum, 66.);
    let schema = parts().next().unwrap().unwrap().schema();
    let reader = RecordBatchIterator::new(parts(), schema);
    let labels: Vec<Vec<i32>> =
        reader.tensors(Select::column("y").copying(CopyPolicy::Never)).map(|tensor| tensor.unwrap().value).collect();
    assert_eq!(labels, [[0, 0], [1, 1], [2, 2]]);

    let errors = |select: Select| parts().tensors::<Tensor>(select).next().unwrap().unwrap_err();
    assert_eq!(errors(Select::column("z")), Error::UnknownName { what: "column", name: Excerpt::new("z") });
    assert_eq!(errors(Select::columns(["y", "z"])), Error::UnknownName { what: "column", name: Excerpt::new("z") });
    let error = in_column("y", Error::DTypeMismatch { expected: DataType::FLOAT32, found: DataType::INT32 });
    assert_eq!(errors(Select::all()), error);
    let failing = std::iter::once(Err::<RecordBatch, _>(ArrowError::ComputeError("broken".to_owned())));
    let error = failing.tensors::<Tensor>(Select::all()).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("broken"), "{error}");
}

#[test]
fn buffers_are_bytes_and_elements() {
    let buffer = Buffer::from_vec(vec![1u32, 2]);
    let tensor: Tensor = buffer.clone().share().unwrap();
    assert_eq!((tensor.dtype(), tensor.shape(), tensor.data()), (DataType::UINT8, &[8][..], buffer.as_ptr()));
    let back: Buffer = tensor.share().unwrap();
    assert!(back.ptr_eq(&buffer));
    let scalars = ScalarBuffer::<u32>::from(buffer);
    assert_eq!(scalars.slice(1, 1).convert::<Vec<u32>>().unwrap(), [2]);
    // Row-major elements of any shape.
    let tensor = Tensor::new(vec![1f64, 2., 3., 4.], &[2, 2]).unwrap();
    let data = tensor.data();
    let scalars: ScalarBuffer<f64> = tensor.share().unwrap();
    assert_eq!((scalars.as_ptr().cast(), scalars.len()), (data, 4));
}
