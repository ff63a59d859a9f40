//! Exports of burn's tensors.

use super::*;

#[test]
fn an_export_is_a_view_that_burn_does_not_write() {
    let tensor = Burn::<2>::from_data([[1f32, 2., 3.], [4., 5., 6.]], &BurnDevice::flex());
    let address = data(&tensor);
    let turned: Tensor = tensor.clone().transpose().share().unwrap();
    assert_eq!((turned.shape(), turned.data().cast()), (&[3, 2][..], address));
    assert_eq!(turned.strides(), [1, 3]);
    assert!(turned.flags().is_read_only());
    let flipped: Tensor = tensor.clone().flip([1]).share().unwrap();
    assert_eq!(flipped.strides(), [3, -1]);
    assert_eq!(flipped.data().cast(), address.wrapping_add(2));
    let sliced: Tensor = tensor.clone().slice([0..2, 1..3]).share().unwrap();
    assert_eq!(sliced.data().cast(), address.wrapping_add(1));
    let broadcast: Tensor = tensor.clone().slice([0..1, 0..3]).expand([4, 3]).share().unwrap();
    assert_eq!(broadcast.strides(), [0, 1]);

    let written = tensor + 100.0;
    assert_ne!(data(&written), address);
    drop(written);
    assert_eq!(turned.to_vec::<f32>().unwrap(), [1., 4., 2., 5., 3., 6.]);
    assert_eq!(flipped.to_vec::<f32>().unwrap(), [3., 2., 1., 6., 5., 4.]);
    // An import makes the same tensor again.
    let back: Burn<2> = turned.share().unwrap();
    assert_eq!(data(&back), address);
}

#[test]
fn the_only_handle_goes_out_writable_and_as_its_vector() {
    // A tensor that burn made from a vector is exported as that vector, which candle and ndarray take over.
    let tensor = Burn::<2>::from_data(TensorData::new(numbers(6), [2, 3]), &BurnDevice::flex());
    let address = data(&tensor);
    assert_eq!(tensor.route::<Candle>(), Route::Shared);
    let candle: Candle = tensor.share().unwrap();
    assert_eq!((&candle).share::<Tensor>().unwrap().data().cast(), address);
    let back: Burn<2> = candle.share().unwrap(); // candle's memory, read-only
    assert_eq!(data(&back), address);

    // A transposed tensor covers all of its memory, but is no vector in row-major order.
    let tensor = Burn::<2>::from_data(TensorData::new(numbers(6), [2, 3]), &BurnDevice::flex()).transpose();
    let (address, route) = (data(&tensor), tensor.route::<Array2<f32>>());
    assert_eq!(route, Route::Copied(Reason::ForeignMemory));
    let mut shared: Tensor = tensor.share().unwrap();
    assert_eq!((shared.data().cast(), shared.flags()), (address, Flags::empty()));
    shared.view_mut().unwrap().set::<f32>(&[0, 1], 9.).unwrap();
    let back: Burn<2> = shared.share().unwrap();
    assert_eq!((data(&back), elements(&back)[1]), (address, 9.));

    // With two handles, or bytes that are shared inside burn, the export is read-only, as the route announces.
    let tensor = Burn::<1>::from_data(TensorData::new(numbers(6), [6]), &BurnDevice::flex());
    let kept = tensor.clone();
    assert_eq!(tensor.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    assert!(tensor.share::<Tensor>().unwrap().flags().is_read_only());
    drop(kept);
    let bytes = Bytes::from_elems(numbers(6)).shared();
    let again = bytes.clone();
    let primitive = FlexTensor::new(bytes, Layout::contiguous(Shape::from(vec![6])), DType::F32);
    assert_eq!(primitive.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    let tensor: Tensor = primitive.share().unwrap();
    assert_eq!((tensor.data(), tensor.flags()), (again.as_ptr(), Flags::READ_ONLY));

    // An imported vector is exported as the same vector again.
    let vec = numbers(6);
    let address = vec.as_ptr();
    let tensor: Burn<1> = vec.share().unwrap();
    assert_eq!(data(&tensor), address);
    let vec: Vec<f32> = tensor.share().unwrap();
    assert_eq!(vec.as_ptr(), address);
}

#[test]
fn what_burn_does_to_bytes_leaves_foreign_memory_alone() {
    let producer = Producer::f32(&[6], &numbers(6));
    let (address, calls) = (producer.memory(), producer.calls());
    let primitive: FlexTensor = import(producer, Abi::Versioned).share().unwrap();
    let bytes = burn_std::sync::Arc::try_unwrap({
        let bytes = primitive.data_arc();
        drop(primitive);
        bytes
    })
    .unwrap();
    // Views and clones share the memory until they are written.
    let part = bytes.view(8, 24).unwrap();
    let mut clone = bytes.clone();
    assert_eq!((part.as_ptr(), clone.as_ptr()), (address.wrapping_add(8), address));
    assert!(bytes.view(8, 25).is_err() && bytes.view(9, 8).is_err());
    clone[0] = 99;
    assert_ne!(clone.as_ptr(), address);
    assert_eq!((clone[0], bytes[0]), (99, (-3f32).to_ne_bytes()[0]));
    clone.extend_from_byte_slice(&[1, 2, 3, 4]);
    assert_eq!((clone.len(), &clone[24..]), (28, &[1, 2, 3, 4][..]));
    // Foreign memory cannot become a vector.
    let bytes = bytes.try_into_vec::<f32>().unwrap_err();
    for policy in [burn_std::SplitPolicy::Shared, burn_std::SplitPolicy::Owned] {
        let (left, right) = bytes.clone().split(8, policy).unwrap();
        assert_eq!((&left[..], &right[..]), (&bytes[..8], &bytes[8..]));
    }
    drop(bytes);
    assert_eq!(calls.count(), 0);
    drop(part);
    assert_eq!(calls.count(), 1);
}

#[test]
fn a_copy_on_write_is_burns_own() {
    let (memory, read_only) = (std::sync::Arc::<[f32]>::from(numbers(4)), Route::Copied(Reason::ForeignMemory));
    let tensor: Burn<1> = memory.clone().share().unwrap();
    assert!((&tensor).share::<Tensor>().unwrap().flags().is_read_only());
    let sum = tensor + 1.0;
    assert_eq!(sum.route::<Candle>(), read_only);
    let shared: Tensor = sum.share().unwrap();
    assert_eq!((shared.flags(), &memory[..]), (Flags::empty(), &numbers(4)[..]));
    // burn allocates some results with an alignment for any type. They are no vectors of their element type, so they
    // are writable, but candle copies them.
    let tensor = Burn::<2>::from_data([[1f32, 2.], [3., 4.]], &BurnDevice::flex());
    let product = tensor.clone().matmul(tensor);
    assert_eq!(product.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    assert!(!product.share::<Tensor>().unwrap().flags().is_read_only());
    // If elements share memory, the export is read-only, even if there is no other handle.
    let broadcast = Burn::<2>::from_data([[1f32, 2.]], &BurnDevice::flex()).expand([3, 2]);
    let shared: Tensor = broadcast.share().unwrap();
    assert!(shared.flags().is_read_only());
    // A tensor with autodiff is recognised as the only handle, too.
    let tracked = Burn::<1>::from_data(TensorData::new(numbers(4), [4]), &BurnDevice::flex().autodiff());
    assert_eq!(tracked.route::<Candle>(), Route::Shared);
    assert!(tracked.share::<Vec<f32>>().is_ok());
}
