//! Faults that users of other tensor libraries reported, as small inputs with the outcome that is right here.
//!
//! The names are those of the project's list of cases: A strides, B empty and scalar, C offset and alignment, D
//! lifetime and threads, E element types, F mutability, G device and version, I hostile producers. Contiguity rules
//! (A2 – A4, A9, A10, A13) are tested where they are written, in `dlbridge_core::layout`.
#![cfg(all(feature = "ndarray", feature = "candle"))]

use std::ptr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use dlbridge::candle::candle_core::{DType, Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{
    ArcArray1, Array1, Array2, ArrayD, ArrayView1, ArrayView2, ArrayViewD, ArrayViewMut2, Ix1, Ix2, array,
};
use dlbridge::{
    Bridge, CopyPolicy, DataType, DataTypeCode, Descriptor, Device, DeviceType, Error, Exchange, Flags, Lend, LendMut,
    Memory, Reason, Rejected, Route, Tensor, TensorMut, TensorRef,
};
use half::bf16;
use interop_tests::raw::{ABIS, Abi, Calls, Producer};

/// Imports a producer whose claims are true, or refused before they are used.
fn import(producer: Producer, abi: Abi) -> Result<Tensor, Error> {
    // SAFETY: either the producer is well-formed over its own memory, or its numbers are what the test wants refused.
    unsafe { producer.import(abi) }
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|number| number as f32).collect()
}

/// A tensor of `0.0, 1.0, …` and its deleter's counter.
fn strided(shape: &[i64], strides: &[i64], len: usize) -> (Tensor, Calls) {
    let producer = Producer::f32(shape, &numbers(len)).strides(strides);
    let calls = producer.calls();
    (import(producer, Abi::Versioned).unwrap(), calls)
}

#[test]
fn a1_negative_strides_are_read_and_written() {
    let producer = Producer::f32(&[3, 4], &numbers(12)).strides(&[4, -1]).with(|it| it.tensor.byte_offset = 12);
    let mut tensor = import(producer, Abi::Versioned).unwrap();
    let view: ArrayView2<'_, f32> = tensor.lend().unwrap();
    assert_eq!(view, array![[3., 2., 1., 0.], [7., 6., 5., 4.], [11., 10., 9., 8.]]);
    assert_eq!(view.strides(), [4, -1]);
    tensor.lend_mut::<ArrayViewMut2<'_, f32>>().unwrap()[[0, 0]] = 30.;
    assert_eq!(tensor.view().get::<f32>(&[0, 0]), Ok(30.));
    // candle has no negative strides: one copy.
    assert_eq!(tensor.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    let candle: Candle = tensor.convert().unwrap();
    assert_eq!(candle.to_vec2::<f32>().unwrap()[0], [30., 2., 1., 0.]);
}

#[test]
fn memory_is_lent_to_candle_for_a_closure() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    for (shape, strides) in [([2, 3], [3, 1]), ([3, 2], [1, 3]), ([2, 2], [3, 1]), ([2, 3], [0, 1])] {
        let (tensor, calls) = strided(&shape, &strides, 6);
        let expected: Vec<f32> = tensor.view().elements().unwrap().collect();
        let mut escaped = None;
        // SAFETY: nothing is written, nor is any lock held.
        let read = unsafe {
            dlbridge::candle::lend(&tensor, |candle| {
                escaped = Some(candle.clone());
                candle.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            })
        };
        assert_eq!(read, Ok(expected.clone()));
        // What escapes is memory of its own.
        let escaped = escaped.unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(escaped, vec![0.; expected.len()]);
        assert_eq!(tensor.to_vec::<f32>().unwrap(), expected);
        // SAFETY: as above.
        let panicked =
            catch_unwind(AssertUnwindSafe(|| unsafe { dlbridge::candle::lend(&tensor, |_| panic!("inside")) }));
        assert!(panicked.map(|result: Result<(), Error>| result).is_err());
        assert_eq!((tensor.to_vec::<f32>().unwrap(), calls.count()), (expected, 0));
        drop(tensor);
        assert_eq!(calls.count(), 1);
    }
    let (backwards, _) = strided(&[1], &[1], 1);
    // SAFETY: as above.
    assert_eq!(unsafe { dlbridge::candle::lend(&backwards, |candle| candle.elem_count()) }, Ok(1));
    let bools = import(Producer::new(DataType::BOOL, &[1], &[1]), Abi::Versioned).unwrap();
    // SAFETY: as above.
    assert!(unsafe { dlbridge::candle::lend(&bools, |_| ()) }.is_err());
}

#[test]
fn a6_a8_a12_strides_give_the_same_logical_values() {
    let (tensor, _) = strided(&[3, 2], &[1, 3], 6);
    assert_eq!(tensor.view().get::<f32>(&[1, 0]), Ok(1.));
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [0., 3., 1., 4., 2., 5.]);
    let (tensor, _) = strided(&[2, 3, 3, 3], &[27, 1, 9, 3], 54);
    let view: ArrayViewD<'_, f32> = tensor.lend().unwrap();
    assert_eq!((view[[1, 2, 0, 1]], view[[0, 1, 2, 2]]), (27. + 2. + 3., 1. + 18. + 6.));
    assert_eq!(tensor.view().get::<f32>(&[1, 2, 0, 1]), Ok(27. + 2. + 3.));
}

#[test]
fn a7_a_stride_of_two_skips() {
    let (tensor, _) = strided(&[5], &[2], 10);
    assert_eq!(tensor.view().elements::<f32>().unwrap().collect::<Vec<_>>(), [0., 2., 4., 6., 8.]);
    assert_eq!(tensor.as_slice::<f32>(), Err(Error::NotContiguous));
    assert_eq!(tensor.lend::<ArrayView1<'_, f32>>().unwrap(), array![0., 2., 4., 6., 8.]);
}

#[test]
fn a11_overlap_may_be_read_but_not_written() {
    let (mut tensor, _) = strided(&[2, 3], &[1, 1], 4);
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [0., 1., 2., 1., 2., 3.]);
    assert_eq!(tensor.view_mut().err(), Some(Error::Overlap));
    assert_eq!(tensor.lend_mut::<ArrayViewMut2<'_, f32>>().err(), Some(Error::Overlap));
    let (mut broadcast, _) = strided(&[4, 3], &[0, 1], 3);
    assert_eq!(broadcast.view_mut().err(), Some(Error::Overlap));
}

#[test]
fn a15_null_strides_are_row_major_in_both_abis() {
    for abi in ABIS {
        let tensor = import(Producer::f32(&[2, 3], &numbers(6)), abi).unwrap();
        assert_eq!(tensor.strides(), [3, 1]);
        assert_eq!(tensor.strides().as_slice(), None);
        assert_eq!(tensor.lend::<ArrayView2<'_, f32>>().unwrap(), array![[0., 1., 2.], [3., 4., 5.]]);
    }
}

#[test]
fn a16_candle_keeps_the_offset_of_a_narrowed_view() {
    let base = Candle::from_vec(numbers(12), (3, 4), &CandleDevice::Cpu).unwrap();
    let narrowed = base.narrow(0, 1, 2).unwrap();
    let transposed: Tensor = narrowed.t().unwrap().share().unwrap();
    assert_eq!(transposed.to_vec::<f32>().unwrap(), [4., 8., 5., 9., 6., 10., 7., 11.]);
    let row = base.narrow(0, 1, 1).unwrap().broadcast_as((2, 4)).unwrap();
    let broadcast: Tensor = row.share().unwrap();
    assert_eq!(broadcast.strides(), [0, 1]);
    assert_eq!(broadcast.to_vec::<f32>().unwrap(), [4., 5., 6., 7., 4., 5., 6., 7.]);
}

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
    // f32 at an address of 2 mod 4.
    let producer = Producer::new(DataType::FLOAT32, &[1], &[0; 8]).with(|it| it.tensor.byte_offset = 2);
    let tensor = import(producer, Abi::Legacy).unwrap();
    assert!(matches!(tensor.as_slice::<f32>(), Err(Error::Misaligned { align: 4, .. })));
}

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
    candle.zero_set().unwrap(); // The lock is free again.
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
fn e1_booleans_are_never_bytes() {
    let tensor: Tensor = vec![true, false].share().unwrap();
    assert_eq!(tensor.dtype().to_string(), "bool");
    let mismatch = Error::DTypeMismatch { expected: DataType::UINT8, found: DataType::BOOL };
    assert_eq!(tensor.as_slice::<u8>(), Err(mismatch));
    assert_eq!(tensor.as_slice::<bool>(), Ok(&[true, false][..]));
    let refused = Error::UnsupportedDType { framework: "candle", dtype: DataType::BOOL };
    assert_eq!(tensor.route::<Candle>(), Route::Impossible(refused.clone()));
    assert_eq!(tensor.convert::<Candle>().err(), Some(refused));
    // Old producers used other codes for booleans; they are other types.
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

#[test]
fn f1_f5_candle_cannot_write_what_it_shares() {
    let candle = Candle::from_vec(numbers(6), 6, &CandleDevice::Cpu).unwrap();
    let mut tensor: Tensor = (&candle).share().unwrap();
    assert!(tensor.flags().is_read_only());
    assert_eq!(tensor.as_mut_slice::<f32>().err(), Some(Error::ReadOnly));
    // A writer waits until the export is gone, on whatever thread it goes.
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
    assert_eq!(value.as_slice::<f32>().unwrap(), numbers(3)); // Nothing is lost.
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
    // The only handle of a shared array is unique, too.
    let tensor: Tensor = ArcArray1::from_vec(numbers(3)).share().unwrap();
    assert!(!tensor.flags().is_read_only());
    let (tensor, _) = strided(&[2], &[1], 2);
    let mut owned: Owned<f32, Ix1> = tensor.share().unwrap();
    owned.view_mut().unwrap()[0] = 5.;
    assert_eq!(owned[0], 5.);
}

#[test]
fn g1_g2_devices_are_kept_as_they_are() {
    for (device, host) in [
        (Device::cuda(2), false),
        (Device::new(DeviceType::CUDA_MANAGED, 0), true),
        (Device::new(DeviceType::CUDA_HOST, 0), true),
        (Device::new(DeviceType(99), 7), false),
    ] {
        for abi in ABIS {
            let tensor = import(Producer::f32(&[2], &numbers(2)).device(device), abi).unwrap();
            // SAFETY: our own tensor, owned by nobody else.
            let tensor = unsafe { Tensor::from_raw(tensor.into_raw()) }.unwrap();
            assert_eq!(tensor.device(), device);
            let refused = (!host).then_some(Error::NotOnHost { device });
            assert_eq!(tensor.as_slice::<f32>().err(), refused.clone());
            assert_eq!(tensor.lend::<ArrayView1<'_, f32>>().err(), refused.clone());
            assert_eq!(tensor.to_contiguous().err(), refused);
            let refused = (!host).then_some(Error::UnsupportedDevice { framework: "candle", device });
            assert_eq!(tensor.convert::<Candle>().err(), refused);
        }
    }
}

#[test]
fn g5_a_newer_minor_is_read_and_a_newer_major_is_let_go() {
    let newer = |major, minor| {
        let producer = Producer::f32(&[2], &numbers(2));
        let calls = producer.calls();
        let producer = producer.flags(1 << 63).with(|it| {
            it.version.major = major;
            it.version.minor = minor;
            if major != 1 {
                // Nothing behind the flags may be read.
                it.tensor.shape = ptr::without_provenance_mut(8);
            }
        });
        (import(producer, Abi::Versioned), calls)
    };
    let (tensor, _) = newer(1, 99);
    assert_eq!(tensor.unwrap().flags(), Flags::empty());
    for major in [0, 2, u32::MAX] {
        let (refused, calls) = newer(major, 0);
        assert_eq!(refused.err(), Some(Error::UnsupportedVersion { major, minor: 0 }));
        assert_eq!(calls.count(), 1);
    }
}

#[test]
fn i2_i3_i4_hostile_numbers_are_refused_and_released() {
    type Change = Box<dyn Fn(Producer) -> Producer>;
    let hostile: Vec<(Change, Error)> = vec![
        (Box::new(|it| it.with(|it| it.tensor.shape = ptr::null_mut())), Error::NullShape { ndim: 2 }),
        (Box::new(|it| it.with(|it| it.tensor.ndim = -1)), Error::NegativeNdim { ndim: -1 }),
        (Box::new(|it| it.with(|it| it.tensor.ndim = i32::MIN)), Error::NegativeNdim { ndim: i32::MIN }),
        (Box::new(|it| it.shape(&[2, -1])), Error::NegativeLength { axis: 1, length: -1 }),
        (Box::new(|it| it.shape(&[0, i64::MIN])), Error::NegativeLength { axis: 1, length: i64::MIN }),
        (Box::new(|it| it.with(|it| it.tensor.data = ptr::null_mut())), Error::NullData { elements: 4 }),
        (Box::new(|it| it.shape(&[i64::MAX, 2])), Error::Overflow { quantity: "element count" }),
        (Box::new(|it| it.shape(&[i64::MAX, 2, 0])), Error::Overflow { quantity: "element count" }),
        (Box::new(|it| it.shape(&[i64::MAX / 2, 1])), Error::Overflow { quantity: "size in bytes" }),
        (Box::new(|it| it.strides(&[i64::MAX, 1])), Error::Overflow { quantity: "strides" }),
        (Box::new(|it| it.strides(&[i64::MIN, 1])), Error::Overflow { quantity: "strides" }),
        (Box::new(|it| it.strides(&[i64::MAX, i64::MIN])), Error::Overflow { quantity: "strides" }),
        (Box::new(|it| it.with(|it| it.tensor.byte_offset = u64::MAX)), Error::Overflow { quantity: "byte_offset" }),
    ];
    for (change, expected) in hostile {
        for abi in ABIS {
            let producer = change(Producer::f32(&[2, 2], &numbers(4)));
            let calls = producer.calls();
            assert_eq!(import(producer, abi).err(), Some(expected.clone()));
            assert_eq!(calls.count(), 1, "{expected}");
        }
    }
}

#[test]
fn i5_lengths_must_agree() {
    let (tensor, _) = strided(&[4], &[1], 4);
    let mut target = [0f32; 3];
    let mismatch = Error::LengthMismatch { expected: 4, found: 3 };
    assert_eq!(tensor.view().copy_to_slice(&mut target), Err(mismatch));
    let mut target = [0f32; 4];
    tensor.view().copy_to_slice(&mut target).unwrap();
    assert_eq!(target, [0., 1., 2., 3.]);
    assert_eq!(TensorRef::from_slice(&target, &[5]).err(), Some(Error::LengthMismatch { expected: 5, found: 4 }));
    let flat =
        Descriptor::new(target.as_ptr().cast(), DataType::FLOAT32, Device::CPU, Flags::empty(), &[2, 2], Some(&[1]));
    assert_eq!(flat.err(), Some(Error::LengthMismatch { expected: 2, found: 1 }));
}

#[test]
fn a_copy_too_large_for_memory_is_an_error() {
    // Four floats, broadcast to 2^60 elements: fine to share, too many to copy.
    let (tensor, calls) = strided(&[1 << 58, 4], &[0, 1], 4);
    assert_eq!(tensor.to_vec::<f32>(), Err(Error::OutOfMemory { bytes: 1 << 62 }));
    assert_eq!(tensor.lend::<ArrayView2<'_, f32>>().unwrap().nrows(), 1 << 58);
    assert_eq!(tensor.convert::<Candle>().err(), Some(Error::OutOfMemory { bytes: 1 << 62 }));
    assert_eq!(calls.count(), 1);
}

#[test]
fn elements_of_no_width_and_repeated_booleans_take_no_time() {
    let nothing = DataType::new(DataTypeCode::INT, 0, 1);
    let tensor = import(Producer::new(nothing, &[1 << 62], &[]).strides(&[2]), Abi::Versioned).unwrap();
    assert_eq!(tensor.view().to_bytes(), Ok(vec![]));
    let shape = [2, 1 << 58, 2];
    let repeated = |bytes| import(Producer::new(DataType::BOOL, &shape, bytes).strides(&[2, 0, 1]), Abi::Versioned);
    assert!(repeated(&[0, 1, 1, 0]).unwrap().share::<Owned<bool, dlbridge::ndarray::ndarray::Ix3>>().is_ok());
    let first = (1 << 59) + 1;
    let invalid = Error::InvalidBool { index: first, value: 3 };
    assert_eq!(repeated(&[0, 1, 1, 3]).unwrap().view().elements::<bool>().err(), Some(invalid));
}

#[test]
fn a_raw_tensor_goes_out_as_consumers_like_it() {
    let producer = Producer::f32(&[2, 2], &numbers(8)).with(|it| {
        it.tensor.byte_offset = 16;
        it.has_deleter = false;
    });
    let first = producer.first();
    let raw = import(producer, Abi::Versioned).unwrap().into_raw();
    // SAFETY: ours until it is taken back below.
    let managed = unsafe { raw.as_ref() };
    assert_eq!((managed.dl_tensor.data.cast_const().cast(), managed.dl_tensor.byte_offset), (first, 0));
    assert!(managed.deleter.is_some() && !managed.dl_tensor.strides.is_null());
    // SAFETY: owned by nobody else.
    let back = unsafe { Tensor::from_raw(raw) }.unwrap();
    assert_eq!((back.as_slice::<f32>().unwrap(), back.strides().to_vec()), (&[4., 5., 6., 7.][..], vec![2, 1]));
    // One that is so already goes out as it is.
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
    // Not either once the others are gone: whoever has seen the flag may have handed out readers.
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
    // candle's memory is candle's from then on.
    assert_eq!(tensor.route::<ArrayD<f32>>(), Route::Copied(Reason::ForeignMemory));
    // Sliced arrays come back as they were, as arrays of any rank type.
    let sliced = Array1::from_vec(numbers(10)).slice_move(dlbridge::ndarray::ndarray::s![2..8;-2]);
    let (strides, data) = (sliced.strides().to_vec(), sliced.as_ptr());
    let back: ArrayD<f32> = sliced.share::<Tensor>().unwrap().share().unwrap();
    assert_eq!((back.strides(), back.as_ptr()), (&strides[..], data));
    let wrong = numbers(3).share::<Array2<f32>>().err();
    assert_eq!(wrong, Some(Error::NdimMismatch { expected: 2, found: 1 }));
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
    // `unfold` counts in f32, so that behind 2^24 elements it reaches too far.
    let long = Candle::zeros((1 << 24) + 3, DType::U8, &CandleDevice::Cpu).unwrap().unfold(0, 1, 1).unwrap();
    let refused = long.share::<Tensor>().err();
    let expected = Error::OutOfStorage { framework: "candle", needed: (1 << 24) + 4, available: (1 << 24) + 3 };
    assert_eq!(refused, Some(expected));
}
