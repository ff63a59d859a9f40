//! Nulls: outside of a slice, filled with a value, or kept with a mask beside them.

use super::*;

#[test]
fn h6_a_null_outside_of_the_slice_is_none() {
    let array = Float32Array::from(vec![None, Some(1.), Some(2.), None]);
    assert_eq!((&array).share::<Tensor>().unwrap_err(), nulls(2, "Float32"));
    let inside = array.slice(1, 2);
    let tensor: Tensor = (&inside).share().unwrap();
    assert_eq!(tensor.data().cast(), array.values()[1..].as_ptr());
    // The same in lists, for null elements and for null lists.
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

    // All elements of a null list are null, also if an extension type permutes the axes.
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

    // The element type must be able to represent the value, even if there are no nulls.
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
    // A permutation that is not its own inverse: the example in the format's documentation, made smaller.
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
