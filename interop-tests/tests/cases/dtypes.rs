//! Reported faults with element types (E).

use super::*;

#[test]
fn e1_booleans_are_never_bytes() {
    let tensor: Tensor = vec![true, false].share().unwrap();
    assert_eq!(tensor.dtype().to_string(), "bool");
    let mismatch = Error::DTypeMismatch { expected: DataType::UINT8, found: DataType::BOOL };
    assert_eq!(tensor.as_slice::<u8>(), Err(mismatch));
    assert_eq!(tensor.as_slice::<bool>(), Ok(&[true, false][..]));
    let refused = Error::UnsupportedDType { framework: "candle", dtype: DataType::BOOL };
    assert_eq!(tensor.route::<Candle>(), Route::Impossible(refused.clone()));
    assert_eq!(tensor.convert::<Candle>().err(), Some(refused));
    // Old producers used other type codes for booleans. These are read as the types that they name.
    let one_bit = DataType::new(DataTypeCode::UINT, 1, 1);
    let tensor = import(Producer::new(one_bit, &[8], &[0b1010_0101]), Abi::Legacy).unwrap();
    assert!(matches!(tensor.as_slice::<bool>(), Err(Error::DTypeMismatch { .. })));
    assert_eq!(tensor.view().to_bytes(), Ok(vec![0b1010_0101]));
}

#[test]
fn e1_a_boolean_that_is_neither_0_nor_1_is_found() {
    let hostile = || import(Producer::new(DataType::BOOL, &[2, 2], &[0, 1, 2, 1]).strides(&[1, 2]), Abi::Versioned);
    let invalid = Error::InvalidBool { index: 1, value: 2 };
    let tensor = hostile().unwrap();
    assert_eq!(tensor.to_vec::<bool>(), Err(invalid.clone()));
    assert_eq!(tensor.lend::<ArrayView2<'_, bool>>().err(), Some(invalid.clone()));
    assert_eq!(tensor.view().elements::<bool>().err(), Some(invalid.clone()));
    assert_eq!(tensor.to_contiguous().err(), Some(invalid.clone()));
    assert_eq!(tensor.convert::<Array2<bool>>().err(), Some(invalid.clone()));
    assert_eq!(hostile().unwrap().share::<Owned<bool, Ix2>>().err(), Some(invalid));
    assert_eq!(hostile().unwrap().view().to_bytes(), Ok(vec![0, 2, 1, 1]));
}

#[test]
fn e1_booleans_that_a_framework_copies_by_itself_are_checked() {
    let like = Descriptor::new(ptr::dangling(), DataType::BOOL, Device::CPU, Flags::empty(), &[3], None);
    let filled = |bytes: [u8; 3]| {
        let write = |target: *mut u8| {
            // SAFETY: there is room for the three elements of `like`.
            unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            Ok(())
        };
        // SAFETY: all bytes are written.
        unsafe { Tensor::filled(&like.clone().unwrap(), write) }
    };
    assert_eq!(filled([1, 0, 1]).unwrap().as_slice::<bool>(), Ok(&[true, false, true][..]));
    assert_eq!(filled([1, 0, 2]).err(), Some(Error::InvalidBool { index: 2, value: 2 }));
}

#[test]
fn e3_bfloat16_is_bfloat16() {
    let tensor: Tensor = vec![bf16::from_f32(1.5)].share().unwrap();
    assert_eq!(tensor.dtype(), DataType::new(DataTypeCode(4), 16, 1));
    let candle: Candle = tensor.share().unwrap();
    assert_eq!(candle.dtype(), DType::BF16);
}

#[test]
fn e4_a_missing_width_is_an_error_and_no_reinterpretation() {
    for dtype in [DataType::UINT16, DataType::UINT64, DataType::INT8] {
        let refused = Error::UnsupportedDType { framework: "candle", dtype };
        assert_eq!(dtype.exchange::<DType>(), Err(refused.clone()));
        let tensor = import(Producer::new(dtype, &[1], &[0; 8]), Abi::Versioned).unwrap();
        assert_eq!(tensor.convert::<Candle>().err(), Some(refused));
    }
}

#[test]
fn e5_sub_byte_elements_are_packed_unless_flagged() {
    let packed = import(Producer::new(DataType::FLOAT4_E2M1FN, &[3], &[0x21, 0x03]), Abi::Versioned).unwrap();
    assert_eq!(packed.descriptor().nbytes(), 2);
    let reversed = Producer::new(DataType::FLOAT4_E2M1FN, &[2, 2], &[0x21, 0x43]).strides(&[1, 2]);
    assert_eq!(import(reversed, Abi::Versioned).unwrap().view().to_bytes(), Ok(vec![0x31, 0x42]));
    let candle: Candle = packed.convert().unwrap();
    assert_eq!(candle.dtype(), DType::F4);
    let padded = || {
        let producer = Producer::new(DataType::FLOAT4_E2M1FN, &[3], &[1, 2, 3]).flags(Flags::PADDED.bits());
        import(producer, Abi::Versioned).unwrap()
    };
    assert_eq!(padded().descriptor().nbytes(), 3);
    assert!(padded().to_contiguous().unwrap().flags().is_padded());
    assert!(matches!(padded().convert::<Candle>(), Err(Error::Unsupported { framework: "candle", .. })));
    assert!(matches!(padded().into_legacy_raw(), Err(Rejected { error: Error::Inexpressible { .. }, .. })));
}
