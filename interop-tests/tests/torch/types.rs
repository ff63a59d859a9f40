//! Element types, kinds and devices.

use super::*;

#[test]
fn libtorch_results_are_read_by_everybody_without_a_copy() {
    let result = torch(6).reshape([2, 3]) * 2.;
    let data = data_ptr(&result).unwrap();
    let mut array: Owned<f32, Ix2> = result.share().unwrap();
    assert_eq!(array.as_ptr().cast(), data);
    array.view_mut().unwrap()[[0, 0]] = 5.;
    let back: Torch = array.share().unwrap();
    assert_eq!((data_ptr(&back).unwrap(), back.double_value(&[0, 0])), (data, 5.));
    let array: Array2<f32> = back.convert().unwrap();
    assert_eq!(array, array![[5., 2., 4.], [6., 8., 10.]]);
}

#[test]
fn e4_types_without_a_kind_go_both_ways() {
    fn there_and_back<T: Element + PartialEq + std::fmt::Debug>(elements: Vec<T>) {
        assert!(matches!(T::DTYPE.exchange::<Kind>(), Err(Error::UnsupportedDType { framework: "tch", .. })));
        let data = elements.as_ptr();
        let torch: Torch = elements.clone().share().unwrap();
        assert!(torch.f_kind().is_err());
        let tensor: Tensor = torch.share().unwrap();
        assert_eq!((tensor.dtype(), tensor.to_vec::<T>()), (T::DTYPE, Ok(elements)));
        assert_ne!(tensor.data(), data.cast());
    }
    there_and_back(vec![1u16, u16::MAX]);
    there_and_back(vec![1u32, u32::MAX]);
    there_and_back(vec![1u64, u64::MAX]);
    // candle's u32 becomes libtorch's u32, not a signed integer.
    let candle = Candle::from_vec(vec![u32::MAX], 1, &CandleDevice::Cpu).unwrap();
    let sealed: ReadOnly<Torch> = candle.share().unwrap();
    assert_eq!(sealed.convert::<Vec<u32>>().unwrap(), [u32::MAX]);
}

#[test]
fn e1_booleans_made_from_bytes_are_checked() {
    let hostile = Torch::from_data_size(&[0, 2], &[2], Kind::Bool);
    let tensor: Tensor = hostile.share().unwrap();
    assert_eq!(tensor.as_slice::<bool>(), Err(Error::InvalidBool { index: 1, value: 2 }));
    assert_eq!(tensor.share::<Owned<bool, Ix1>>().err(), Some(Error::InvalidBool { index: 1, value: 2 }));
    // The same if a copy is made because somebody else holds the tensor.
    let hostile = Torch::from_data_size(&[0, 2], &[2], Kind::Bool);
    match (&hostile).convert::<Tensor>() {
        // The copy that libtorch makes may turn the byte into a valid boolean.
        Ok(copied) => assert_eq!(copied.view().to_bytes(), Ok(vec![0, 1])),
        Err(error) => assert_eq!(error, Error::InvalidBool { index: 1, value: 2 }),
    }
    let comparison: Vec<bool> = torch(3).gt(1.).convert().unwrap();
    assert_eq!(comparison, [false, false, true]);
}

#[test]
fn small_floats_that_rust_lacks_are_copied_once_between_frameworks() {
    let torch = torch(4).to_kind(Kind::Float8e4m3fn);
    let converted = (&torch).convert_with::<Candle>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!((converted.value.dtype(), converted.copied), (DType::F8E4M3, Some(Reason::NotUnique)));
    assert_eq!(converted.value.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap(), [0., 1., 2., 3.]);
}

#[test]
fn kinds_and_devices_are_exchanged() {
    for (kind, dtype) in [
        (Kind::Uint8, "uint8"),
        (Kind::Int, "int32"),
        (Kind::Half, "float16"),
        (Kind::BFloat16, "bfloat16"),
        (Kind::Bool, "bool"),
        (Kind::ComplexDouble, "complex128"),
        (Kind::Float8e4m3fn, "float8_e4m3fn"),
        (Kind::Float8e5m2fnuz, "float8_e5m2fnuz"),
    ] {
        let standard: DataType = kind.exchange().unwrap();
        assert_eq!(standard.to_string(), dtype);
        assert_eq!(standard.exchange(), Ok(kind));
    }
    assert_eq!(DType::BF16.exchange::<Kind>(), Ok(Kind::BFloat16));
    assert_eq!(Kind::Float.exchange::<DType>(), Ok(DType::F32));
    assert!(Kind::QInt8.exchange::<DataType>().is_err());
    assert_eq!(
        Kind::Bool.exchange::<DType>().err(),
        Some(Error::UnsupportedDType { framework: "candle", dtype: DataType::BOOL })
    );
    assert_eq!(CandleDevice::Cpu.exchange::<tch::Device>(), Ok(tch::Device::Cpu));
    assert_eq!(tch::Device::Cuda(1).exchange::<Device>(), Ok(Device::cuda(1)));
    let rocm = Device::new(DeviceType::ROCM, 0);
    assert_eq!(rocm.exchange::<tch::Device>(), Err(Error::UnsupportedDevice { framework: "tch", device: rocm }));
}

#[test]
fn memory_of_absent_devices_is_refused_with_the_device() {
    let absent = Device::cuda(99);
    let unavailable = Error::DeviceUnavailable { framework: "tch", device: absent };
    assert_eq!(absent.exchange::<tch::Device>().err(), Some(unavailable.clone()));
    let tensor = import(Producer::f32(&[2], &[0.; 2]).device(absent));
    assert_eq!(tensor.route::<Torch>(), Route::Impossible(unavailable.clone()));
    assert_eq!(tensor.convert::<Torch>().err(), Some(unavailable));
    let vulkan = Device::new(DeviceType::VULKAN, 0);
    let tensor = import(Producer::f32(&[2], &[0.; 2]).device(vulkan));
    assert_eq!(tensor.share::<Torch>().err(), Some(Error::UnsupportedDevice { framework: "tch", device: vulkan }));
    // Pinned and managed memory is host memory to libtorch.
    for kind in [DeviceType::CUDA_HOST, DeviceType::CUDA_MANAGED] {
        let tensor = import(Producer::f32(&[2], &[1., 2.]).device(Device::new(kind, 0)));
        assert_eq!(tensor.share::<Torch>().unwrap().double_value(&[1]), 2.);
    }
}

#[test]
fn a_failure_of_libtorch_is_an_error_with_its_words() {
    let _ = torch(1); // libtorch is loaded.
    let refused = (&torch(6).to_sparse_sparse_dim(1)).convert::<Vec<f32>>().unwrap_err();
    assert!(refused.to_string().contains("sparse"));
    // The shim reports errors by itself, without changing the state in which tch keeps its last error.
    assert_eq!(Torch::from(1i64).f_add(&Torch::from(2i64)).unwrap().int64_value(&[]), 3);
}
