//! Lists and extension types, which become the axes of a tensor.

use super::*;

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

    // The import shares the same memory, and its metadata describe the same axes.
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
            assert!(matches!(*error, Error::InvalidMetadata { .. }), "{metadata}: {error}");
        }
        assert!(matches!(column.route::<Tensor>(), Route::Impossible(_)));
    }
    // A storage type that does not fit the extension type, and unknown extension types.
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
        assert!(matches!(error.root(), Error::InvalidMetadata { .. }), "{error}");
    }
    let unknown = Column::new(bytes.clone(), extension(bytes.data_type(), "acme.float8", ""));
    let error = (&unknown).share::<Tensor>().unwrap_err();
    let option = "Options::extensions_as_storage";
    assert_eq!(*error.root(), Error::NeedsOption { found: Excerpt::new("acme.float8"), option });
    assert_eq!(unknown.with(Options::new().extensions_as_storage()).convert::<Vec<u8>>().unwrap(), [1]);
    let other = Column::new(bytes, field("x", ArrowType::Int8));
    assert!(matches!(other.share::<Tensor>().unwrap_err().root(), Error::SchemaMismatch { .. }));
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
    // In Arrow every byte that is not 0 is true; in DLPack only 1 is.
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

    let item = Arc::new(Field::new_list_field(ArrowType::Int32, true));
    let large = LargeListArray::new(item, OffsetBuffer::new(vec![0i64, 4, 8].into()), Arc::new(values), None);
    let lists = lists(2, large);
    let tensor: Tensor = Column::from(lists).with(Options::new().lists_as_axis()).share().unwrap();
    assert_eq!(tensor.shape(), [1, 2, 4]);
}

#[test]
fn null_lists_are_as_long_as_the_others() {
    let item = Arc::new(Field::new_list_field(ArrowType::Int32, true));
    let lists = |ends: Vec<i32>, valid: &[bool]| {
        let values = Int32Array::from((0..8).collect::<Vec<_>>());
        ListArray::new(item.clone(), OffsetBuffer::new(ends.into()), Arc::new(values), Some(valid.to_vec().into()))
    };
    let axis = Options::new().lists_as_axis();
    for (ends, valid, filled, kept) in [
        (vec![0, 2, 4], [false, true], [-1, -1, 2, 3], [0, 1, 2, 3]),
        (vec![0, 0, 2], [false, true], [-1, -1, 0, 1], [0, 0, 0, 1]),
        (vec![0, 2, 2], [true, false], [0, 1, -1, -1], [0, 1, 0, 0]),
        (vec![1, 2, 4], [false, true], [-1, -1, 2, 3], [0, 0, 2, 3]),
        (vec![1, 4, 6], [false, true], [-1, -1, 4, 5], [0, 0, 4, 5]),
    ] {
        let is_uniform = ends[1] - ends[0] == ends[2] - ends[1];
        let column = Column::from(lists(ends, &valid));
        let tensor: Tensor = column.clone().with(axis.fill_nulls(-1)).convert().unwrap();
        assert_eq!((tensor.shape(), tensor.to_vec::<i32>().unwrap()), (&[2i64, 2][..], filled.to_vec()));
        let column = column.with(axis.keep_nulls());
        let route = if is_uniform { Route::Shared } else { Route::Copied(Reason::Nulls) };
        assert_eq!(column.route::<Tensor>(), route);
        assert_eq!((&column).share::<Tensor>().is_ok(), is_uniform);
        assert_eq!(column.validity().unwrap().to_vec::<bool>().unwrap(), valid.map(|it| [it; 2]).concat());
        assert_eq!(column.convert::<Vec<i32>>().unwrap(), kept);
    }
    // All are null, or are none.
    for (ends, shape) in [(vec![0, 0, 0], [2, 0]), (vec![0, 3, 3], [2, 3]), (vec![0], [0, 0])] {
        let valid = vec![false; ends.len() - 1];
        let tensor: Tensor = Column::from(lists(ends, &valid)).with(axis.fill_nulls(7)).convert().unwrap();
        assert_eq!(tensor.shape(), shape);
        assert!(tensor.to_vec::<i32>().unwrap().iter().all(|element| *element == 7));
    }
    // Valid ones of another length are ragged still.
    let ragged = Column::from(lists(vec![0, 0, 2, 5], &[false, true, true])).with(axis.fill_nulls(0));
    assert_eq!(ragged.convert::<Tensor>().map(drop), Err(Error::Ragged { row: 2, expected: 2, found: 3 }));
    // Nothing is made that no memory could hold.
    let (many, most) = (1 << 20, i32::MAX as usize);
    let ends = [0, most as i32].into_iter().chain(std::iter::repeat_n(most as i32, many));
    let valid: Vec<bool> = std::iter::once(true).chain(std::iter::repeat_n(false, many)).collect();
    let bits = BooleanArray::new(BooleanBuffer::new_unset(most), None);
    let item = Arc::new(Field::new_list_field(ArrowType::Boolean, true));
    let huge = ListArray::new(item, OffsetBuffer::new(ends.collect()), Arc::new(bits), Some(valid.into()));
    let error = Column::from(huge).with(axis.fill_nulls(false)).convert::<Tensor>().map(drop);
    assert!(matches!(error, Err(Error::OutOfMemory { .. })), "{error:?}");
}

#[test]
fn null_lists_of_lists_are_as_long_as_the_others() {
    // [[[0, 1], [2, 3]], null, [null, [4, 5]]], where no null has entries.
    let item = Arc::new(Field::new_list_field(ArrowType::Int32, true));
    let values = Arc::new(Int32Array::from((0..6).collect::<Vec<_>>()));
    let valid = |valid: &[bool]| Some(valid.to_vec().into());
    let inner =
        ListArray::new(item, OffsetBuffer::new(vec![0, 2, 4, 4, 6].into()), values, valid(&[true, true, false, true]));
    let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    let outer =
        ListArray::new(item, OffsetBuffer::new(vec![0, 2, 2, 4].into()), Arc::new(inner), valid(&[true, false, true]));
    let expected = [0, 1, 2, 3, -1, -1, -1, -1, -1, -1, 4, 5];
    let column = Column::from(outer).with(Options::new().lists_as_axis().fill_nulls(-1));
    let tensor: Tensor = column.convert().unwrap();
    assert_eq!((tensor.shape(), tensor.to_vec::<i32>().unwrap()), (&[3i64, 2, 2][..], expected.to_vec()));

    // A list of fixed size that is null has entries, which may be empty lists.
    let item = Arc::new(Field::new_list_field(ArrowType::UInt8, true));
    let bytes = Arc::new(UInt8Array::from(vec![1, 2]));
    let inner = ListArray::new(item, OffsetBuffer::new(vec![0, 0, 1, 2].into()), bytes, None).slice(0, 3);
    let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    let outer = FixedSizeListArray::new(item, 1, Arc::new(inner), valid(&[false, true, true]));
    let column = Column::from(outer).with(Options::new().lists_as_axis().fill_nulls(9));
    let tensor: Tensor = column.convert().unwrap();
    assert_eq!((tensor.shape(), tensor.to_vec::<u8>().unwrap()), (&[3i64, 1, 1][..], vec![9, 1, 2]));
}

#[test]
fn null_lists_of_what_is_decoded_are_as_long_as_the_others() {
    let list = |values: ArrayRef| {
        let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let valid = Some(vec![false, true].into());
        Column::from(ListArray::new(item, OffsetBuffer::new(vec![0, 0, 2].into()), values, valid))
    };
    let axis = Options::new().lists_as_axis();
    let bits = list(Arc::new(BooleanArray::from(vec![false, true])));
    assert_eq!(bits.with(axis.fill_nulls(true)).convert::<Vec<bool>>().unwrap(), [true, true, false, true]);
    let words: DictionaryArray<Int8Type> =
        DictionaryArray::new(vec![1, 0].into(), Arc::new(Float32Array::from(vec![0.5, 1.5])));
    let words = list(Arc::new(words)).with(axis.fill_nulls(0));
    assert_eq!(words.convert::<Vec<f32>>().unwrap(), [0., 0., 1.5, 0.5]);
    let strings = list(Arc::new(StringArray::from(vec!["a", "b"])));
    let error = strings.with(axis.keep_nulls()).convert::<Tensor>().unwrap_err();
    assert_eq!(error, Error::UnsupportedType { framework: "arrow", found: Excerpt::new("Utf8") });
}
