//! Element types, and exchange with the other adapters.

use super::*;

#[test]
fn every_pair_with_the_other_adapters() {
    let array = array![[1f32, 2., 3.], [4., 5., 6.]];
    let address = array.as_ptr();
    let burn: Burn<2> = array.share().unwrap();
    assert_eq!(data(&burn), address);
    let candle = Candle::arange(0f32, 6., &CandleDevice::Cpu).unwrap().reshape((2, 3)).unwrap();
    let shared: Burn<2> = (&candle).share().unwrap();
    assert_eq!(data(&shared).cast(), (&candle).share::<Tensor>().unwrap().data());
    assert_eq!(elements(&(shared + 1.0)), [1., 2., 3., 4., 5., 6.]);
    assert_eq!(candle.get(1).unwrap().to_vec1::<f32>().unwrap(), [3., 4., 5.]); // burn has not overwritten it
    let column = Float32Array::from(vec![1., 2., 3.]);
    let shared: Burn<1> = (&column).share().unwrap();
    assert_eq!(data(&shared), column.values().as_ptr());

    let owned: Owned<f32, Ix2> = (&burn).share().unwrap();
    assert_eq!(owned.as_ptr(), address);
    let lists: FixedSizeListArray = (&burn).share().unwrap();
    assert_eq!(lists.value_length(), 3);
    let candle = (&burn).convert_with::<Candle>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(candle.copied, Some(Reason::ForeignMemory));
    drop((owned, lists));
    let array: Array2<f32> = burn.share().unwrap(); // the vector that was exported first
    assert_eq!(array.as_ptr(), address);
}

/// Checks that burn gives back these elements with the same type.
fn same<T: Element + PartialEq>(tensor: &Tensor, elements: &[T]) -> Result<(), Error> {
    tensor.as_slice::<T>().map(|found| assert!(found == elements))
}

#[test]
fn every_type_arrives_as_it_is() {
    macro_rules! kinds {
        ($($kind:ty: $($elements:expr => $dtype:expr),+;)*) => {$($(
            let elements = $elements;
            let tensor: Burn<1, $kind> = elements.clone().share().unwrap();
            assert_eq!(tensor.dtype(), $dtype);
            assert_eq!(tensor.dtype().exchange::<DataType>().unwrap().exchange::<DType>().unwrap(), $dtype);
            assert_eq!(same(&tensor.share().unwrap(), &elements), Ok(()));
        )+)*};
    }
    kinds! {
        burn_tensor::Float: vec![f16::ONE, f16::ZERO] => DType::F16, vec![bf16::ONE] => DType::BF16,
            vec![1f32, 2.] => DType::F32, vec![1f64, 2.] => DType::F64;
        Int: vec![1i8] => DType::I8, vec![1i16] => DType::I16, vec![1i32] => DType::I32, vec![1i64] => DType::I64,
            vec![1u8] => DType::U8, vec![1u16] => DType::U16, vec![1u32] => DType::U32, vec![1u64] => DType::U64;
        Bool: vec![true, false] => DType::Bool(BoolStore::Native);
    }
    // A boolean is not an integer of one byte, in whatever form burn stores it.
    let bytes =
        FlexTensor::from_data(TensorData::from_bytes(Bytes::from_elems(vec![1u8, 0]), [2], DType::Bool(BoolStore::U8)));
    let tensor: Tensor = (&bytes).share().unwrap();
    assert_eq!((tensor.dtype(), tensor.to_vec::<bool>().unwrap()), (DataType::BOOL, vec![true, false]));
    assert_eq!(DType::Flex32.exchange(), Ok(DataType::FLOAT32));
    let words = DType::Bool(BoolStore::U32).exchange::<DataType>().unwrap_err();
    assert!(words.to_string().contains("booleans of four bytes"), "{words}");
    assert_eq!(BurnDevice::flex().exchange(), Ok(Device::CPU));
    assert_eq!(Device::CPU.exchange::<BurnDevice>(), Ok(BurnDevice::flex()));
    assert!(matches!(Device::cuda(0).exchange::<BurnDevice>(), Err(Error::UnsupportedDevice { .. })));
    assert_eq!(CandleDType::BF16.exchange::<DType>(), Ok(DType::BF16));
}

#[test]
fn quantized_tensors_are_refused_by_name() {
    use burn_std::{QuantScheme, QuantValue};
    let tensor = Burn::<2>::from_data(TensorData::new(vec![0f32; 32], [1, 32]), &BurnDevice::flex());
    let quantized = tensor.quantize_dynamic(&QuantScheme::default().with_value(QuantValue::Q8S));
    let error = (&quantized).share::<Tensor>().unwrap_err();
    assert!(error.to_string().contains("quantized floats"), "{error}");
    assert!(matches!(quantized.route::<Tensor>(), Route::Impossible(_)));
    assert!(matches!(to_host(&quantized), Err(Error::Inexpressible { .. })));
}
