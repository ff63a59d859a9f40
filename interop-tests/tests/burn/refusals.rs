//! Tensors that burn would misread or panic on: they are refused.

use super::*;

#[test]
fn rank_and_kind_are_checked_before_burn_sees_them() {
    let tensor = || Tensor::new(numbers(4), &[2, 2]).unwrap();
    assert_eq!(tensor().share::<Burn<3>>().unwrap_err(), Error::NdimMismatch { expected: 3, shape: [2, 2].into() });
    let error = tensor().share::<Burn<2, Int>>().unwrap_err();
    assert_eq!(error, Error::UnsupportedDType { framework: "burn::Tensor<_, Int>", dtype: DataType::FLOAT32 });
    assert!(vec![1i32].share::<Burn<1>>().is_err());
    assert!(vec![true].share::<Burn<1, Int>>().is_err());
    assert!(vec![1u8].share::<Burn<1, Bool>>().is_err());
    for dtype in DataType::ALL.iter().filter(|dtype| (**dtype).exchange::<DType>().is_err()) {
        let memory = [0u128; 4];
        let tensor = Descriptor::new(memory.as_ptr().cast(), *dtype, Device::CPU, Flags::empty(), &[2], None).unwrap();
        let error = Error::UnsupportedDType { framework: "burn", dtype: *dtype };
        assert_eq!(FlexTensor::plan(&tensor), Route::Impossible(error));
    }
    let producer = Producer::f32(&[4], &numbers(4)).device(Device::cuda(0));
    let calls = producer.calls();
    let error = import(producer, Abi::Versioned).convert::<Burn<1>>().unwrap_err();
    assert_eq!((error, calls.count()), (Error::NotOnHost { device: Device::cuda(0) }, 1));
}

#[test]
fn c3_misaligned_memory_and_bad_booleans_never_reach_burn() {
    let misaligned = || Producer::f32(&[2], &[0., 1., 2.]).with(|it| it.tensor.byte_offset = 2);
    assert_eq!(import(misaligned(), Abi::Versioned).route::<Burn<1>>(), Route::Copied(Reason::Misaligned { align: 4 }));
    assert!(import(misaligned(), Abi::Versioned).share::<Burn<1>>().is_err());
    let copied: Burn<1> = import(misaligned(), Abi::Versioned).convert().unwrap();
    assert_eq!((copied + 1.0).dims(), [2]);
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let producer = Producer::new(DataType::BOOL, &[4], &[0, 1, 2, 1]);
        let calls = producer.calls();
        let error = import(producer, Abi::Versioned).convert_with::<Burn<1, Bool>>(policy).unwrap_err();
        assert_eq!((error, calls.count()), (Error::InvalidBool { index: 2, value: 2 }, 1));
    }
}

#[test]
fn layouts_beyond_their_memory_are_refused() {
    // Safe code can make these layouts, and burn would read out of bounds.
    let tensor = |shape: Vec<usize>, strides: Vec<isize>, start| {
        FlexTensor::new(Bytes::from_elems(numbers(6)), Layout::new(Shape::from(shape), strides, start), DType::F32)
    };
    for (shape, strides, start) in [
        (vec![7], vec![1], 0),
        (vec![6], vec![1], 1),
        (vec![2], vec![-1], 0),
        (vec![2, 4], vec![3, 1], 0),
        (vec![2], vec![isize::MAX], 0),
        (vec![usize::MAX, 2], vec![0, 0], 0),
    ] {
        let tensor = tensor(shape, strides, start);
        let error = (&tensor).share::<Tensor>().unwrap_err();
        assert!(matches!(error, Error::OutOfStorage { .. } | Error::Overflow { .. }), "{error}");
        assert_eq!(tensor.route::<Tensor>(), Route::Impossible(error));
    }
    assert_eq!(tensor(vec![3], vec![-2], 5).share::<Tensor>().unwrap().to_vec::<f32>().unwrap(), [-0.5, -1.5, -2.5]);
}

#[test]
fn bytes_that_are_not_there_yet_are_a_copy() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    numbers(4).iter().for_each(|number| file.write_all(&number.to_ne_bytes()).unwrap());
    let bytes = Bytes::from_file(file.path(), 16, 0);
    let tensor = FlexTensor::new(bytes, Layout::contiguous(Shape::from(vec![4])), DType::F32);
    assert_eq!(tensor.route::<Tensor>(), Route::Copied(Reason::Lazy));
    let error = Error::CopyRequired { framework: "burn", reason: Reason::Lazy };
    assert_eq!((&tensor).share::<Tensor>().unwrap_err(), error);
    assert_eq!(tensor.convert::<Vec<f32>>().unwrap(), numbers(4));
}
