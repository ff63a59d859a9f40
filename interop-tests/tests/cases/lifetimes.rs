//! Reported faults with lifetimes and threads (D).

use super::*;

#[test]
fn d1_the_elements_outlive_the_source() {
    let candle = Candle::from_vec(numbers(6), (2, 3), &CandleDevice::Cpu).unwrap();
    let tensor: Tensor = (&candle).share().unwrap();
    drop(candle);
    assert_eq!(tensor.to_vec::<f32>().unwrap(), numbers(6));
}

#[test]
fn d2_d3_d4_the_deleter_runs_exactly_once() {
    for abi in ABIS {
        // Never imported by anybody.
        let producer = Producer::f32(&[2], &numbers(2));
        let calls = producer.calls();
        drop(import(producer, abi).unwrap());
        assert_eq!(calls.count(), 1);
        // Imported, lent, and exported again.
        let producer = Producer::f32(&[2], &numbers(2));
        let calls = producer.calls();
        let array: Owned<f32, Ix1> = import(producer, abi).unwrap().share().unwrap();
        let tensor: Tensor = array.share().unwrap();
        assert_eq!(calls.count(), 0);
        drop(tensor);
        assert_eq!(calls.count(), 1);
        // Copied.
        let producer = Producer::f32(&[2], &numbers(2));
        let calls = producer.calls();
        let _candle: Candle = import(producer, abi).unwrap().convert().unwrap();
        assert_eq!(calls.count(), 1);
        // Refused by the target.
        let producer = Producer::f32(&[2], &numbers(2));
        let calls = producer.calls();
        assert!(import(producer, abi).unwrap().share::<Owned<i32, Ix1>>().is_err());
        assert_eq!(calls.count(), 1);
    }
}

#[test]
fn d6_a_null_deleter_is_skipped() {
    for abi in ABIS {
        let managed = Producer::f32(&[2], &numbers(2)).with(|it| it.has_deleter = false).into_managed(abi);
        // SAFETY: well-formed.
        let tensor = unsafe { managed.import() }.unwrap();
        assert_eq!(tensor.to_vec::<f32>().unwrap(), [0., 1.]);
        drop(tensor);
        // SAFETY: nobody uses it any more.
        unsafe { managed.free() };
    }
}

#[test]
fn d7_tensors_may_be_dropped_on_any_thread() {
    let (tensor, calls) = strided(&[2], &[1], 2);
    let candle = Candle::from_vec(numbers(6), 6, &CandleDevice::Cpu).unwrap();
    let guarded: Tensor = (&candle).share().unwrap();
    std::thread::spawn(move || drop((tensor, guarded))).join().unwrap();
    assert_eq!(calls.count(), 1);
    candle.zero_set().unwrap(); // The last export has released candle's lock.
    assert_eq!(candle.to_vec1::<f32>().unwrap(), [0.; 6]);
}

#[test]
fn d9_a_failed_export_gives_the_value_back() {
    let Rejected { value, error } = Tensor::new(numbers(5), &[2, 3]).unwrap_err();
    assert_eq!(error, Error::LengthMismatch { expected: 6, found: 5 });
    assert_eq!(value, numbers(5));
    let Rejected { error, .. } = Tensor::new(numbers(1), &[usize::MAX, 2]).unwrap_err();
    assert_eq!(error, Error::Overflow { quantity: "element count" });
}

#[test]
fn a_panic_while_a_tensor_is_made_drops_its_owner() {
    let owner = Arc::new(());
    let memory = Memory { dtype: DataType::UINT8, device: Device::CPU, flags: Flags::READ_ONLY, is_valid: true };
    let moved = owner.clone();
    let make = std::panic::AssertUnwindSafe(|| {
        // SAFETY: nothing is described.
        unsafe { Tensor::from_owner(moved, memory, 1, |_, _, _| panic!("no description")) }
    });
    assert!(std::panic::catch_unwind(make).is_err());
    assert_eq!(Arc::strong_count(&owner), 1);
}
