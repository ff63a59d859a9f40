//! Memory that Arrow has to copy, and tensors that it refuses.

use super::*;

#[test]
fn c3_misaligned_memory_is_refused_or_copied() {
    // Arrow itself would panic on misaligned memory.
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
    // The strides of axes of length 1, and of tensors without elements, may be any numbers.
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
