//! Reported faults with mutability (F).

use super::*;

#[test]
fn f1_f5_candle_cannot_write_what_it_shares() {
    let candle = Candle::from_vec(numbers(6), 6, &CandleDevice::Cpu).unwrap();
    let mut tensor: Tensor = (&candle).share().unwrap();
    assert!(tensor.flags().is_read_only());
    assert_eq!(tensor.as_mut_slice::<f32>().err(), Some(Error::ReadOnly));
    // A writer waits until the export is dropped, on whatever thread that happens.
    let (written, done) = mpsc::channel();
    let writer = candle.clone();
    std::thread::spawn(move || {
        writer.zero_set().unwrap();
        written.send(()).unwrap();
    });
    assert!(done.recv_timeout(Duration::from_millis(200)).is_err(), "the write did not wait");
    assert_eq!(tensor.as_slice::<f32>().unwrap(), numbers(6));
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    done.recv_timeout(Duration::from_secs(60)).expect("the writer goes on");
    assert_eq!(candle.to_vec1::<f32>().unwrap(), [0.; 6]);
}

#[test]
fn f2_the_legacy_abi_cannot_say_read_only() {
    let shared = ArcArray1::from_vec(numbers(3));
    let tensor: Tensor = shared.clone().share().unwrap();
    let Rejected { value, error } = tensor.into_legacy_raw().unwrap_err();
    assert_eq!(error, Error::ReadOnly);
    assert_eq!(value.as_slice::<f32>().unwrap(), numbers(3)); // The error gives the tensor back.
    let copy = value.to_contiguous().unwrap();
    let legacy = copy.into_legacy_raw().map_err(Error::from).unwrap();
    // SAFETY: our own tensor, owned by nobody else.
    let back = unsafe { Tensor::from_legacy_raw(legacy) }.unwrap();
    assert_eq!(back.as_slice::<f32>().unwrap(), numbers(3));
    let (vouched, _) = strided(&[2], &[1], 2);
    assert_eq!(vouched.into_read_only().view_mut().err(), Some(Error::ReadOnly));
}

#[test]
fn f3_unique_memory_arrives_writable() {
    let array = array![[1f32, 2.], [3., 4.]];
    let mut tensor: Tensor = array.share().unwrap();
    assert_eq!(tensor.flags(), Flags::empty());
    tensor.as_mut_slice::<f32>().unwrap()[0] = 9.;
    let array: Array2<f32> = tensor.share().unwrap();
    assert_eq!(array, array![[9., 2.], [3., 4.]]);
    // A shared array with only one handle is exported as writable.
    let tensor: Tensor = ArcArray1::from_vec(numbers(3)).share().unwrap();
    assert!(!tensor.flags().is_read_only());
    let (tensor, _) = strided(&[2], &[1], 2);
    let mut owned: Owned<f32, Ix1> = tensor.share().unwrap();
    owned.view_mut().unwrap()[0] = 5.;
    assert_eq!(owned[0], 5.);
}
