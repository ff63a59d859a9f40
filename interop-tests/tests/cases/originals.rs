//! Tensors that are exported as they were imported, and owners that are imported again as they were.

use super::*;

#[test]
fn a_raw_tensor_goes_out_as_consumers_like_it() {
    let producer = Producer::f32(&[2, 2], &numbers(8)).with(|it| {
        it.tensor.byte_offset = 16;
        it.has_deleter = false;
    });
    let first = producer.first();
    let without_deleter = producer.into_managed(Abi::Versioned);
    // SAFETY: well-formed.
    let raw = unsafe { without_deleter.import() }.unwrap().into_raw();
    // SAFETY: ours until it is taken back below.
    let managed = unsafe { raw.as_ref() };
    assert_eq!((managed.dl_tensor.data.cast_const().cast(), managed.dl_tensor.byte_offset), (first, 0));
    assert!(managed.deleter.is_some() && !managed.dl_tensor.strides.is_null());
    // SAFETY: owned by nobody else.
    let back = unsafe { Tensor::from_raw(raw) }.unwrap();
    assert_eq!((back.as_slice::<f32>().unwrap(), back.strides().to_vec()), (&[4., 5., 6., 7.][..], vec![2, 1]));
    drop(back);
    // SAFETY: nobody uses it any more.
    unsafe { without_deleter.free() };
    // A tensor that already has a deleter, strides and no offset is exported as it is.
    let (tensor, _) = strided(&[2], &[1], 2);
    let there = tensor.into_raw();
    // SAFETY: owned by nobody else.
    let again = unsafe { Tensor::from_raw(there) }.unwrap().into_raw();
    assert_eq!(there, again);
    // SAFETY: owned by nobody else.
    drop(unsafe { Tensor::from_raw(again) }.unwrap());
}

#[test]
fn unguarded_candle_exports_come_back_too() {
    let candle = Candle::from_vec(numbers(6), (2, 3), &CandleDevice::Cpu).unwrap().t().unwrap();
    // SAFETY: nobody writes the tensor.
    let tensor = unsafe { dlbridge::candle::export_unguarded(&candle) }.unwrap();
    let back: Candle = tensor.share().unwrap();
    assert_eq!(back.id(), candle.id());
}

#[test]
fn a_part_of_a_vector_is_not_the_vector() {
    let memory = Memory { dtype: DataType::FLOAT32, device: Device::CPU, flags: Flags::empty(), is_valid: true };
    let part = |from: usize, len: i64| {
        let describe = |vec: &mut Vec<f32>, lengths: &mut [i64], strides: &mut [i64]| {
            (lengths[0], strides[0]) = (len, 1);
            vec[from..].as_mut_ptr().cast()
        };
        // SAFETY: the vector has these elements, and is the tensor's own.
        unsafe { Tensor::from_owner(numbers(4), memory, 1, describe) }
    };
    for (from, len) in [(0, 3), (1, 3), (0, 1)] {
        let elements = &numbers(4)[from..from + len as usize];
        assert_eq!(part(from, len).into_vec::<f32>().unwrap_err().as_slice::<f32>(), Ok(elements));
        assert!(matches!(
            part(from, len).share::<Vec<f32>>(),
            Err(Error::CopyRequired { reason: Reason::Strided, .. })
        ));
        assert!(matches!(part(from, len).share::<Candle>(), Err(Error::CopyRequired { .. })));
        assert_eq!(part(from, len).view().elements::<f32>().unwrap().collect::<Vec<_>>(), elements);
        assert_eq!(part(from, len).to_vec::<f32>().unwrap(), elements);
    }
    assert_eq!(part(0, 4).into_vec::<f32>().unwrap(), numbers(4));
}

#[test]
fn an_arc_goes_out_writable_only_if_nobody_else_can_reach_it() {
    let (alone, held): (Arc<[f32]>, Arc<[f32]>) = (numbers(3).into(), numbers(3).into());
    let watched: Arc<Vec<f32>> = Arc::new(numbers(3));
    let (other, weak) = (Arc::clone(&held), Arc::downgrade(&watched));
    assert!(!Tensor::new(alone, &[3]).unwrap().flags().is_read_only());
    let held = Tensor::new(held, &[3]).unwrap();
    let watched = Tensor::new(watched, &[3]).unwrap();
    assert!(held.flags().is_read_only() && watched.flags().is_read_only());
    // The tensor stays read-only when the others are gone: whoever saw the flag may have lent the memory for reading.
    drop(other);
    assert!(held.flags().is_read_only());
    assert!(weak.upgrade().is_some());
}

#[test]
fn the_original_comes_back() {
    let vec = numbers(6);
    let data = vec.as_ptr();
    let tensor = Tensor::new(vec, &[2, 3]).map_err(Error::from).unwrap();
    let array: Array2<f32> = tensor.share().unwrap();
    let candle: Candle = array.share().unwrap();
    let tensor: Tensor = candle.share().unwrap();
    let candle: Candle = tensor.share().unwrap();
    let tensor: Tensor = candle.share().unwrap();
    assert_eq!(tensor.data(), data.cast());
    // Once candle has taken the memory over, no array can take it back.
    assert_eq!(tensor.route::<ArrayD<f32>>(), Route::Copied(Reason::ForeignMemory));
    // A sliced array is imported again as the same array, also with another rank type.
    let sliced = Array1::from_vec(numbers(10)).slice_move(dlbridge::ndarray::ndarray::s![2..8;-2]);
    let (strides, data) = (sliced.strides().to_vec(), sliced.as_ptr());
    let back: ArrayD<f32> = sliced.share::<Tensor>().unwrap().share().unwrap();
    assert_eq!((back.strides(), back.as_ptr()), (&strides[..], data));
    let wrong = numbers(3).share::<Array2<f32>>().err();
    assert_eq!(wrong, Some(Error::NdimMismatch { expected: 2, shape: [3].into() }));
}

#[test]
fn borrowed_sources_are_copied_once_and_say_so() {
    let array = array![[1f32, 2.], [3., 4.]];
    let view = array.t();
    assert_eq!(view.route::<Candle>(), Route::Copied(Reason::Borrowed));
    assert_eq!(
        view.share::<Candle>().err(),
        Some(Error::CopyRequired { framework: "ndarray", reason: Reason::Borrowed })
    );
    let converted = view.convert_with::<Candle>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(converted.copied, Some(Reason::Borrowed));
    assert_eq!(converted.value.to_vec2::<f32>().unwrap(), [[1., 3.], [2., 4.]]);
    let sum = dlbridge::ndarray::with_ref(&view, |tensor| tensor.elements::<f32>().unwrap().sum::<f32>());
    assert_eq!(sum, Ok(10.));
    let slice: &[f32] = &[1., 2.];
    assert_eq!(slice.convert::<Vec<f32>>().unwrap(), slice);
}

#[test]
fn mutable_slices_are_lent_for_writing() {
    let mut elements = numbers(4);
    let mut tensor = TensorMut::from_slice(&mut elements, &[2, 2]).unwrap();
    tensor.set(&[1, 1], 7f32).unwrap();
    let mismatch = Error::DTypeMismatch { expected: DataType::FLOAT64, found: DataType::FLOAT32 };
    assert_eq!(tensor.set(&[0, 0], 7f64), Err(mismatch));
    assert_eq!(tensor.set(&[0, 2], 7f32), Err(Error::IndexOutOfBounds { axis: 1, index: 2, length: 2 }));
    assert_eq!(tensor.as_ref().get::<f32>(&[1, 1]), Ok(7.));
    let mut view: ArrayViewMut2<'_, f32> = tensor.lend_mut().unwrap();
    view[[0, 0]] = 5.;
    assert_eq!(elements, [5., 1., 2., 7.]);
}

#[test]
fn candle_layouts_longer_than_their_storage_are_refused() {
    // candle's `unfold` computes the length in f32, so that with more than 2^24 elements it is too long.
    let long = Candle::zeros((1 << 24) + 3, DType::U8, &CandleDevice::Cpu).unwrap().unfold(0, 1, 1).unwrap();
    let refused = long.share::<Tensor>().err();
    let expected = Error::OutOfStorage { framework: "candle", needed: (1 << 24) + 4, available: (1 << 24) + 3 };
    assert_eq!(refused, Some(expected));
}
