//! Readers of record batches, and buffers without an array.

use super::*;

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
        // The stream has dropped the batch, so candle can take its vector over.
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
    // A buffer takes row-major elements of any shape.
    let tensor = Tensor::new(vec![1f64, 2., 3., 4.], &[2, 2]).unwrap();
    let data = tensor.data();
    let scalars: ScalarBuffer<f64> = tensor.share().unwrap();
    assert_eq!((scalars.as_ptr().cast(), scalars.len()), (data, 4));
}
