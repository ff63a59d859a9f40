//! Plain numbers and foreign memory keep their address.

use super::*;

/// Checks that elements of the type `T` keep their address when they are exported and imported, by every kind of
/// handle.
fn both_ways<T: ArrowPrimitiveType>(elements: Vec<T::Native>)
where
    T::Native: Element,
{
    let array = PrimitiveArray::<T>::new(elements.clone().into(), None);
    let data = array.values().as_ptr();
    let tensor: Tensor = (&array).share().unwrap();
    assert_eq!(tensor.as_slice::<T::Native>().unwrap(), elements);
    assert_eq!((tensor.data().cast(), tensor.flags()), (data, Flags::READ_ONLY));
    assert_eq!(tensor.dtype(), T::DATA_TYPE.exchange::<DataType>().unwrap());
    assert_eq!(tensor.dtype().exchange::<ArrowType>().unwrap(), T::DATA_TYPE);
    let back: PrimitiveArray<T> = tensor.share().unwrap();
    assert_eq!((back.values().as_ptr(), &back), (data, &array));
    drop((array, back));

    // The only handle is exported as the vector itself, writable, and imported as the same vector.
    let array = PrimitiveArray::<T>::new(elements.clone().into(), None);
    let data = array.values().as_ptr();
    let tensor: Tensor = array.share().unwrap();
    assert_eq!((tensor.data().cast(), tensor.flags()), (data, Flags::empty()));
    let vec: Vec<T::Native> = tensor.share().unwrap();
    assert_eq!((vec.as_ptr(), &vec), (data, &elements));
    let buffer: ScalarBuffer<T::Native> = vec.share().unwrap();
    assert_eq!(buffer.as_ptr(), data);
    let vec: Vec<T::Native> = buffer.share().unwrap();
    assert_eq!(vec.as_ptr(), data);

    // Memory that comes from C.
    for abi in ABIS {
        let bytes = TensorRef::from_slice(&elements, &[elements.len() as i64]).unwrap().to_bytes().unwrap();
        let producer = Producer::new(T::Native::DTYPE, &[elements.len() as i64], &bytes);
        let (data, calls) = (producer.memory(), producer.calls());
        // SAFETY: a well-formed producer over its own memory, which nobody else uses.
        let array: PrimitiveArray<T> = unsafe { producer.import(abi) }.unwrap().share().unwrap();
        assert_eq!((array.values().as_ptr().cast(), &array.values()[..]), (data, &elements[..]));
        let slice = array.slice(1, 1);
        drop(array);
        assert_eq!((calls.count(), slice.value(0) == elements[1]), (0, true));
        drop(slice);
        assert_eq!(calls.count(), 1);
    }
}

#[test]
fn every_number_goes_both_ways_at_one_address() {
    both_ways::<Int8Type>(vec![1, -2, 3]);
    both_ways::<Int16Type>(vec![1, -2, 3]);
    both_ways::<Int32Type>(vec![1, -2, 3]);
    both_ways::<Int64Type>(vec![1, -2, 3]);
    both_ways::<UInt8Type>(vec![1, 2, 3]);
    both_ways::<UInt16Type>(vec![1, 2, 3]);
    both_ways::<UInt32Type>(vec![1, 2, 3]);
    both_ways::<UInt64Type>(vec![1, 2, 3]);
    both_ways::<Float16Type>([1., -2., 3.].map(f16::from_f32).to_vec());
    both_ways::<Float32Type>(vec![1., -2., 3.]);
    both_ways::<Float64Type>(vec![1., -2., 3.]);
}

#[test]
fn the_only_handle_is_taken_over_by_other_frameworks() {
    let array = lists(3, Float32Array::from(vec![1., 2., 3., 4., 5., 6.]));
    let data = array.values().as_primitive::<Float32Type>().values().as_ptr();
    let candle: Candle = array.share().unwrap();
    assert_eq!(candle.dims(), [2, 3]);
    let tensor: Tensor = candle.share().unwrap();
    assert_eq!(tensor.data().cast(), data);

    // With two handles, the export is read-only, and no other framework can take its memory over.
    let array: ArrayRef = Arc::new(Float32Array::from(vec![1., 2.]));
    assert_eq!(array.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    let other = array.clone();
    let tensor: Tensor = array.share().unwrap();
    assert!(tensor.flags().is_read_only());
    drop(tensor);
    let mut tensor: Tensor = other.share().unwrap();
    tensor.as_mut_slice::<f32>().unwrap()[0] = 7.;
    let array: Float32Array = tensor.share().unwrap();
    assert_eq!(array.values()[..], [7., 2.]);

    // A buffer that Arrow has allocated itself is no vector, but its only handle can still write it.
    let array = Float32Array::new(arrow_buffer::MutableBuffer::from(vec![1f32, 2.]).into(), None);
    let tensor: Tensor = array.share().unwrap();
    assert!(!tensor.flags().is_read_only());
    let array: Float32Array = tensor.share().unwrap();
    assert_eq!(array.values()[..], [1., 2.]);

    // A slice of a vector cannot be taken over as a vector.
    let array = Int32Array::from(vec![1, 2, 3, 4]).slice(2, 2);
    assert_eq!(array.convert::<Vec<i32>>().unwrap(), [3, 4]);
    let array = Int32Array::from(vec![1, 2, 3, 4]).slice(0, 2);
    assert_eq!(array.convert::<Vec<i32>>().unwrap(), [1, 2]);
}

#[test]
fn foreign_memory_in_arrow_stays_read_only() {
    let producer = Producer::f32(&[3], &[1., 2., 3.]);
    let (data, calls) = (producer.memory(), producer.calls());
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    let array: Float32Array = unsafe { producer.import(Abi::Versioned) }.unwrap().share().unwrap();
    let tensor: Tensor = array.share().unwrap();
    assert_eq!((tensor.data(), tensor.flags()), (data, Flags::READ_ONLY));
    let array: Float32Array = tensor.share().unwrap();
    assert_eq!(array.values().as_ptr().cast(), data);
    drop(array);
    assert_eq!(calls.count(), 1);
}

/// Asks Arrow in every way for an array's memory for writing, which it refuses, and gives the buffer.
fn refused(array: Float32Array) -> Buffer {
    let array = array.unary_mut(|number| number + 1.).unwrap_err();
    let array = array.try_unary_mut(|number| Ok::<_, Error>(number + 1.)).unwrap_err();
    let array = array.into_builder().unwrap_err();
    let (_, values, _) = array.into_parts();
    let buffer = values.into_inner().into_mutable().unwrap_err();
    let buffer = buffer.into_vec::<f32>().unwrap_err();
    // With a part of the allocation only, Arrow would give the rest back.
    let mut part = buffer.slice_with_length(0, 4);
    drop(buffer);
    part.shrink_to_fit();
    part
}

#[test]
fn arrow_writes_nothing_that_is_exported() {
    let mut elements = Vec::with_capacity(64);
    elements.extend([1f32, 2., 3.]);
    let address = elements.as_ptr();
    let array = Float32Array::new(elements.into(), None);
    let tensor: Tensor = (&array).share().unwrap();
    assert_eq!(refused(array).as_ptr(), address.cast());
    assert_eq!((tensor.data().cast(), tensor.as_slice::<f32>()), (address, Ok(&[1., 2., 3.][..])));
}

#[test]
fn arrow_writes_no_foreign_memory() {
    let producer = Producer::f32(&[3], &[1., 2., 3.]);
    let (address, calls) = (producer.memory(), producer.calls());
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    let array: Float32Array = unsafe { producer.import(Abi::Versioned) }.unwrap().share().unwrap();
    let buffer = refused(array); // It has been the only handle.
    assert_eq!((buffer.as_ptr(), &buffer[..]), (address, &1f32.to_ne_bytes()[..]));
    assert_eq!(calls.count(), 0);
    drop(buffer);
    assert_eq!(calls.count(), 1);
}
