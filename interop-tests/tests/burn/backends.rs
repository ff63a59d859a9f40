//! Automatic differentiation, other backends than flex, and threads.

use super::*;

#[test]
fn autodiff_shares_the_tensor_inside() {
    let device = BurnDevice::flex().autodiff();
    let tensor = Burn::<2>::from_data([[1f32, 2.], [3., 4.]], &device);
    let address = data(&tensor);
    let shared: Tensor = (&tensor).share().unwrap();
    assert_eq!(shared.data().cast(), address);
    assert_eq!(device.exchange(), Ok(Device::CPU));
    // An imported tensor can track gradients.
    let producer = Producer::f32(&[2, 2], &[1., 2., 3., 4.]);
    let (address, calls) = (producer.memory(), producer.calls());
    let inputs = import(producer, Abi::Versioned).share::<Burn<2>>().unwrap().autodiff().require_grad();
    assert_eq!(data(&inputs).cast(), address);
    let gradients = (inputs.clone() * inputs.clone()).sum().backward();
    assert_eq!(elements(&inputs.grad(&gradients).unwrap()), [2., 4., 6., 8.]);
    drop((inputs, gradients));
    assert_eq!(calls.count(), 1);
}

#[test]
fn any_backend_goes_through_host_memory_by_name() {
    for device in [BurnDevice::flex(), BurnDevice::ndarray()] {
        let tensor = Tensor::new(numbers(6), &[2, 3]).unwrap();
        let there: Burn<2> = from_host(&tensor.view(), &device).unwrap();
        assert_eq!(there.device(), device);
        let back = to_host(&there.transpose()).unwrap();
        assert_eq!(back.shape(), [3, 2]);
        assert_eq!(back.to_vec::<f32>().unwrap(), [-3., -1.5, -2.5, -1., -2., -0.5]);
        let error = from_host::<3, burn_tensor::Float>(&tensor.view(), &device).unwrap_err();
        assert_eq!(error, Error::NdimMismatch { expected: 3, shape: [2, 3].into() });
    }
    let truth = Tensor::new(vec![true, false], &[2]).unwrap();
    let there: Burn<1, Bool> = from_host(&truth.view(), &BurnDevice::flex()).unwrap();
    assert_eq!(to_host(&there).unwrap().as_slice::<bool>().unwrap(), [true, false]);
    let words = TensorData::from_bytes(Bytes::from_elems(vec![1u32, 0]), [2], DType::Bool(BoolStore::U32));
    assert_eq!(words.convert_dtype(DType::Bool(BoolStore::Native)).bytes()[..], [1, 0]);
    let scalar = Tensor::new(vec![1f32], &[]).unwrap();
    let error = from_host::<0, burn_tensor::Float>(&scalar.view(), &BurnDevice::flex()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    let halves = Tensor::new(vec![f16::ONE; 2], &[2]).unwrap();
    let error = from_host::<1, burn_tensor::Float>(&halves.view(), &BurnDevice::ndarray()).unwrap_err();
    assert!(matches!(error, Error::UnsupportedDType { dtype: DataType::FLOAT16, .. }), "{error}");
    let elsewhere = Burn::<1>::from_data([1f32], &BurnDevice::ndarray());
    let error = (&elsewhere).share::<Tensor>().unwrap_err();
    assert!(error.to_string().contains("to_host"), "{error}");
    assert!(elsewhere.convert::<Tensor>().is_err());
}

#[test]
fn the_backend_ndarray_borrows_and_hands_over_arrays() {
    let producer = Producer::f32(&[2, 3], &numbers(6));
    let (address, calls) = (producer.memory(), producer.calls());
    let primitive: NdArrayTensor = import(producer, Abi::Versioned).share().unwrap();
    assert!(primitive.is_borrowed());
    let tensor = Burn::<2>::from_primitive::<NdArray>(primitive);
    let back = tensor.clone().try_into_primitive::<NdArray>().unwrap().share::<Tensor>().unwrap();
    assert_eq!((back.data(), back.flags()), (address, Flags::READ_ONLY));
    drop(back);
    assert_eq!(elements(&(tensor + 1.0)), [-2., -1.5, -1., -0.5, 0., 0.5]);
    assert_eq!(calls.count(), 1);
    // A tensor that owns an array is exported as the array, with its strides.
    let tensor = Burn::<2>::from_data([[1f32, 2., 3.], [4., 5., 6.]], &BurnDevice::ndarray()).transpose();
    let tensor: Tensor = tensor.try_into_primitive::<NdArray>().unwrap().share().unwrap();
    assert_eq!(tensor.strides(), [1, 3]);
    assert!(!tensor.flags().is_read_only());
    // burn's `clone` copies bytes that are mapped from a file, so a reference to them cannot be shared.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    numbers(4).iter().for_each(|number| file.write_all(&number.to_ne_bytes()).unwrap());
    let data = TensorData::from_bytes(Bytes::from_file(file.path(), 16, 0), [4], DType::F32);
    let primitive = NdArrayTensor::from_data(data);
    assert_eq!(Bridge::<_, _>::route::<Tensor>(&&primitive), Route::Copied(Reason::Borrowed));
    assert!((&primitive).share::<Tensor>().is_err());
    assert_eq!((&primitive).convert::<Vec<f32>>().unwrap(), numbers(4));
    assert_eq!(primitive.share::<Tensor>().unwrap().to_vec::<f32>().unwrap(), numbers(4));
    // An imported vector becomes the array that the backend owns.
    let vec = numbers(6);
    let address = vec.as_ptr();
    let primitive: NdArrayTensor = vec.share().unwrap();
    assert!(!primitive.is_borrowed());
    assert_eq!(primitive.share::<Tensor>().unwrap().data().cast(), address);
}

#[test]
fn d7_tensors_are_used_and_dropped_on_any_thread() {
    let producer = Producer::f32(&[1024], &[1.; 1024]);
    let calls = producer.calls();
    let tensor: Burn<1> = import(producer, Abi::Versioned).share().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let tensor = tensor.clone();
            std::thread::spawn(move || (tensor + 1.0).sum().into_scalar::<f32>())
        })
        .collect();
    drop(tensor);
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 2048.));
    assert_eq!(calls.count(), 1);
}
