//! Reported faults with empty and scalar tensors (B), and with offset and alignment (C).

use super::*;

#[test]
fn b1_b5_empty_tensors_are_accepted_with_null_data() {
    for (shape, strides) in [(&[1, 8, 0, 128][..], &[0, 0, 0, 0][..]), (&[0, 3], &[3, 1]), (&[0, 3], &[i64::MAX, -1])] {
        for abi in ABIS {
            let producer = Producer::f32(shape, &[]).strides(strides).with(|it| it.tensor.data = ptr::null_mut());
            let tensor = import(producer, abi).unwrap();
            assert_eq!(tensor.as_slice::<f32>(), Ok(&[][..]));
            assert_eq!(tensor.to_vec::<f32>(), Ok(vec![]));
            assert_eq!(tensor.lend::<ArrayViewD<'_, f32>>().unwrap().len(), 0);
            let candle: Candle = tensor.convert().unwrap();
            assert_eq!(candle.elem_count(), 0);
        }
    }
}

#[test]
fn b3_an_empty_export_has_row_major_strides_and_null_data() {
    let tensor: Tensor = Array2::<f32>::zeros((0, 2048)).share().unwrap();
    assert_eq!(tensor.strides().as_slice(), Some(&[2048, 1][..]));
    assert!(tensor.data().is_null());
}

#[test]
fn b6_a_scalar_has_one_element_and_null_pointers() {
    for abi in ABIS {
        let tensor = import(Producer::f32(&[], &[7.]), abi).unwrap();
        assert_eq!(tensor.view().get::<f32>(&[]), Ok(7.));
        assert_eq!(tensor.as_slice::<f32>(), Ok(&[7.][..]));
        let candle: Candle = tensor.convert().unwrap();
        assert_eq!(candle.to_scalar::<f32>().unwrap(), 7.);
    }
    let exported = Tensor::new(vec![7f32], &[]).map_err(Error::from).unwrap().into_raw();
    // SAFETY: just made, and taken back at once.
    let raw = unsafe { exported.as_ref() }.dl_tensor;
    assert!(raw.shape.is_null() && raw.strides.is_null() && !raw.data.is_null());
    // SAFETY: as above.
    drop(unsafe { Tensor::from_raw(exported) }.unwrap());
}

#[test]
fn c1_the_byte_offset_is_applied_and_survives_a_round_trip() {
    let bytes: Vec<u8> = (0i32..16).flat_map(i32::to_ne_bytes).collect();
    for abi in ABIS {
        let producer = Producer::new(DataType::INT32, &[8], &bytes).with(|it| it.tensor.byte_offset = 32);
        let (first, calls) = (producer.first(), producer.calls());
        let tensor = import(producer, abi).unwrap();
        assert_eq!((tensor.data(), tensor.as_slice::<i32>().unwrap()[0]), (first, 8));
        // SAFETY: our own tensor, owned by nobody else.
        let again = unsafe { Tensor::from_raw(tensor.into_raw()) }.unwrap();
        assert_eq!(again.as_slice::<i32>().unwrap(), [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!((again.data(), calls.count()), (first, 0));
        drop(again);
        assert_eq!(calls.count(), 1);
    }
}

#[test]
fn c3_c4_c5_misaligned_memory_is_refused_or_copied() {
    let bytes: Vec<u8> = [0u8; 4].into_iter().chain(2.5f64.to_ne_bytes()).chain([0; 4]).collect();
    let misaligned = || {
        let producer = Producer::new(DataType::FLOAT64, &[1], &bytes).with(|it| it.tensor.byte_offset = 4);
        let address = producer.first() as usize;
        (import(producer, Abi::Versioned).unwrap(), address)
    };
    let (tensor, address) = misaligned();
    assert_eq!(tensor.as_slice::<f64>(), Err(Error::Misaligned { address, align: 8 }));
    assert_eq!(tensor.lend::<ArrayView1<'_, f64>>().err(), Some(Error::Misaligned { address, align: 8 }));
    assert_eq!(tensor.to_vec::<f64>(), Ok(vec![2.5]));
    let refused = tensor.share::<Owned<f64, Ix1>>().err();
    assert_eq!(refused, Some(Error::CopyRequired { framework: "ndarray", reason: Reason::Misaligned { align: 8 } }));
    let copied = misaligned().0.convert_with::<Owned<f64, Ix1>>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!((copied.value[0], copied.copied), (2.5, Some(Reason::Misaligned { align: 8 })));
    assert_eq!(misaligned().0.convert::<Candle>().unwrap().to_vec1::<f64>().unwrap(), [2.5]);
    // The address of the f32 is not a multiple of 4.
    let producer = Producer::new(DataType::FLOAT32, &[1], &[0; 8]).with(|it| it.tensor.byte_offset = 2);
    let tensor = import(producer, Abi::Legacy).unwrap();
    assert!(matches!(tensor.as_slice::<f32>(), Err(Error::Misaligned { align: 4, .. })));
}

#[test]
fn strides_of_a_tensor_without_elements_are_never_computed_with() {
    let (shape, strides) = ([3, 3, 0], [i64::MAX, i64::MAX, 1]);
    let (dtype, flags) = (DataType::FLOAT32, Flags::READ_ONLY);
    let empty = Descriptor::new(ptr::null(), dtype, Device::CPU, flags, &shape, Some(&strides)).unwrap();
    // SAFETY: there are no elements.
    let empty = unsafe { TensorRef::from_descriptor(empty) };
    let error = Error::IndexOutOfBounds { axis: 2, index: 0, length: 0 };
    assert_eq!(empty.get::<f32>(&[2, 2, 0]), Err(error));
    assert_eq!(empty.to_vec::<f32>(), Ok(Vec::new()));
    assert_eq!(empty.elements::<f32>().unwrap().count(), 0);

    let odd = || {
        let producer = Producer::f32(&[0, 3, 3], &[]).strides(&[1, i64::MAX, i64::MAX]);
        import(producer, Abi::Versioned).unwrap()
    };
    // SAFETY: the closure does nothing but look at the shape.
    let lent = unsafe { dlbridge::candle::lend(&odd(), |candle| candle.dims().to_vec()) };
    assert_eq!(lent, Ok(vec![0, 3, 3]));
    assert_eq!(odd().convert::<Candle>().unwrap().dims(), [0, 3, 3]);
    assert_eq!(odd().share::<Owned<f32, Ix3>>().unwrap().shape(), [0, 3, 3]);
}
