//! Record batches and matrices.

use super::*;

#[test]
fn a_batch_of_one_buffer_is_a_strided_view() {
    let columns = columns_of_one_buffer(5, 3);
    let tensor: Tensor = (&columns).share().unwrap();
    assert_eq!(tensor.shape(), [5, 3]);
    assert_eq!(tensor.strides(), [1, 5]);
    let view: ArrayView2<'_, f32> = tensor.lend().unwrap();
    assert_eq!((view[[4, 0]], view[[0, 2]]), (4., 10.));
    // Some of the columns and rows, in another order, are shared as long as the columns are equally spaced.
    let part = columns.project(&[2, 1]).unwrap().slice(1, 3);
    let tensor: Tensor = (&part).share().unwrap();
    assert_eq!(tensor.strides(), [1, -5]);
    assert_eq!(tensor.view().get::<f32>(&[0, 0]), Ok(11.));
    let uneven = columns_of_one_buffer(5, 4).project(&[0, 1, 3]).unwrap();
    assert_eq!(uneven.route::<Tensor>(), Route::Copied(Reason::Scattered));
    let same = columns.project(&[1, 1]).unwrap();
    assert_eq!(same.share::<Tensor>().unwrap().strides(), [1, 0]);

    // The tensor outlives the batch.
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
    let error = Error::NdimMismatch { expected: 2, shape: [1].into() };
    assert_eq!(vec![1f32].convert::<RecordBatch>().unwrap_err(), error);

    // Every second column of a wider matrix: the gaps between the columns do not belong to the batch.
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
fn buffers_of_one_allocation_have_its_address_and_size() {
    let mut elements = Vec::with_capacity(8);
    elements.extend([1f32, 2., 3.]);
    let own = (elements.as_ptr().cast::<u8>(), 4 * elements.capacity());
    let producer = Producer::f32(&[3], &elements);
    let foreign = (producer.memory(), 12);
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    let imported: ScalarBuffer<f32> = unsafe { producer.import(Abi::Versioned) }.unwrap().share().unwrap();
    for (buffer, allocation) in [(Buffer::from_vec(elements), own), (imported.into_inner(), foreign)] {
        let part = buffer.slice_with_length(4, 4);
        for buffer in [&buffer, &part] {
            assert_eq!((buffer.data_ptr().as_ptr().cast_const(), buffer.capacity()), allocation);
        }
    }
}
