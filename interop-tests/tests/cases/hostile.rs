//! Reported faults with devices and versions (G), and hostile producers (I).

use super::*;

#[test]
fn g1_g2_devices_are_kept_as_they_are() {
    for (device, host) in [
        (Device::cuda(2), false),
        (Device::new(DeviceType::CUDA_MANAGED, 0), true),
        (Device::new(DeviceType::CUDA_HOST, 0), true),
        (Device::new(DeviceType(99), 7), false),
    ] {
        for abi in ABIS {
            let tensor = import(Producer::f32(&[2], &numbers(2)).device(device), abi).unwrap();
            // SAFETY: our own tensor, owned by nobody else.
            let tensor = unsafe { Tensor::from_raw(tensor.into_raw()) }.unwrap();
            assert_eq!(tensor.device(), device);
            let refused = (!host).then_some(Error::NotOnHost { device });
            assert_eq!(tensor.as_slice::<f32>().err(), refused.clone());
            assert_eq!(tensor.lend::<ArrayView1<'_, f32>>().err(), refused.clone());
            assert_eq!(tensor.to_contiguous().err(), refused);
            let refused = (!host).then_some(Error::UnsupportedDevice { framework: "candle", device });
            assert_eq!(tensor.convert::<Candle>().err(), refused);
        }
    }
}

#[test]
fn g5_a_newer_minor_is_read_and_a_newer_major_is_let_go() {
    let newer = |major, minor| {
        let producer = Producer::f32(&[2], &numbers(2));
        let calls = producer.calls();
        let producer = producer.flags(1 << 63).with(|it| {
            it.version.major = major;
            it.version.minor = minor;
            if major != 1 {
                // With another major version, the fields behind the flags must not be read.
                it.tensor.shape = ptr::without_provenance_mut(8);
            }
        });
        (import(producer, Abi::Versioned), calls)
    };
    let (tensor, _) = newer(1, 99);
    assert_eq!(tensor.unwrap().flags(), Flags::empty());
    for major in [0, 2, u32::MAX] {
        let (refused, calls) = newer(major, 0);
        assert_eq!(refused.err(), Some(Error::UnsupportedVersion { major, minor: 0 }));
        assert_eq!(calls.count(), 1);
    }
}

#[test]
fn i2_i3_i4_hostile_numbers_are_refused_and_released() {
    type Change = Box<dyn Fn(Producer) -> Producer>;
    let hostile: Vec<(Change, Error)> = vec![
        (Box::new(|it| it.with(|it| it.tensor.shape = ptr::null_mut())), Error::NullShape { ndim: 2 }),
        (Box::new(|it| it.with(|it| it.tensor.ndim = -1)), Error::NegativeNdim { ndim: -1 }),
        (Box::new(|it| it.with(|it| it.tensor.ndim = i32::MIN)), Error::NegativeNdim { ndim: i32::MIN }),
        (Box::new(|it| it.shape(&[2, -1])), Error::NegativeLength { axis: 1, length: -1 }),
        (Box::new(|it| it.shape(&[0, i64::MIN])), Error::NegativeLength { axis: 1, length: i64::MIN }),
        (Box::new(|it| it.with(|it| it.tensor.data = ptr::null_mut())), Error::NullData { elements: 4 }),
        (Box::new(|it| it.shape(&[i64::MAX, 2])), Error::Overflow { quantity: "element count" }),
        (Box::new(|it| it.shape(&[i64::MAX, 2, 0])), Error::Overflow { quantity: "element count" }),
        (Box::new(|it| it.shape(&[i64::MAX / 2, 1])), Error::Overflow { quantity: "size in bytes" }),
        (Box::new(|it| it.strides(&[i64::MAX, 1])), Error::Overflow { quantity: "strides" }),
        (Box::new(|it| it.strides(&[i64::MIN, 1])), Error::Overflow { quantity: "strides" }),
        (Box::new(|it| it.strides(&[i64::MAX, i64::MIN])), Error::Overflow { quantity: "strides" }),
        (Box::new(|it| it.with(|it| it.tensor.byte_offset = u64::MAX)), Error::Overflow { quantity: "byte_offset" }),
    ];
    for (change, expected) in hostile {
        for abi in ABIS {
            let producer = change(Producer::f32(&[2, 2], &numbers(4)));
            let calls = producer.calls();
            assert_eq!(import(producer, abi).err(), Some(expected.clone()));
            assert_eq!(calls.count(), 1, "{expected}");
        }
    }
}

#[test]
fn i5_lengths_must_agree() {
    let (tensor, _) = strided(&[4], &[1], 4);
    let mut target = [0f32; 3];
    let mismatch = Error::LengthMismatch { expected: 4, found: 3 };
    assert_eq!(tensor.view().copy_to_slice(&mut target), Err(mismatch));
    let mut target = [0f32; 4];
    tensor.view().copy_to_slice(&mut target).unwrap();
    assert_eq!(target, [0., 1., 2., 3.]);
    assert_eq!(TensorRef::from_slice(&target, &[5]).err(), Some(Error::LengthMismatch { expected: 5, found: 4 }));
    let flat =
        Descriptor::new(target.as_ptr().cast(), DataType::FLOAT32, Device::CPU, Flags::empty(), &[2, 2], Some(&[1]));
    assert_eq!(flat.err(), Some(Error::LengthMismatch { expected: 2, found: 1 }));
}

#[test]
fn a_copy_too_large_for_memory_is_an_error() {
    // Four floats, broadcast to 2^60 elements: fine to share, too many to copy.
    let (tensor, calls) = strided(&[1 << 58, 4], &[0, 1], 4);
    assert_eq!(tensor.to_vec::<f32>(), Err(Error::OutOfMemory { bytes: 1 << 62 }));
    assert_eq!(tensor.lend::<ArrayView2<'_, f32>>().unwrap().nrows(), 1 << 58);
    assert_eq!(tensor.convert::<Candle>().err(), Some(Error::OutOfMemory { bytes: 1 << 62 }));
    assert_eq!(calls.count(), 1);
}

#[test]
fn elements_of_no_width_and_repeated_booleans_take_no_time() {
    let nothing = DataType::new(DataTypeCode::INT, 0, 1);
    let tensor = import(Producer::new(nothing, &[1 << 62], &[]).strides(&[2]), Abi::Versioned).unwrap();
    assert_eq!(tensor.view().to_bytes(), Ok(vec![]));
    let shape = [2, 1 << 58, 2];
    let repeated = |bytes| import(Producer::new(DataType::BOOL, &shape, bytes).strides(&[2, 0, 1]), Abi::Versioned);
    assert!(repeated(&[0, 1, 1, 0]).unwrap().share::<Owned<bool, dlbridge::ndarray::ndarray::Ix3>>().is_ok());
    let first = (1 << 59) + 1;
    let invalid = Error::InvalidBool { index: first, value: 3 };
    assert_eq!(repeated(&[0, 1, 1, 3]).unwrap().view().elements::<bool>().err(), Some(invalid));
}
