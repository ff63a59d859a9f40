//! Foreign memory in candle without a copy, which the adopting allocator makes possible.
#![cfg(all(feature = "arrow", feature = "candle", feature = "ndarray"))]

use std::alloc::System;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use dlbridge::adopting::{self, Adopting, LEAST};
use dlbridge::arrow::arrow_array::Float32Array;
use dlbridge::arrow::{Batches, Column, Select};
use dlbridge::candle::candle_core::{CpuStorage, Device, Storage, Tensor as Candle};
use dlbridge::ndarray::ndarray::{Array2, ArrayView2};
use dlbridge::{Bridge, CopyPolicy, DataType, Error, Lend, ReadOnly, Reason, Route, Tensor};
use interop_tests::raw::{ABIS, Abi, Calls, Producer};

#[global_allocator]
static ALLOCATOR: Adopting<System> = Adopting::new(System);

const LEN: usize = LEAST;

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|n| n as f32).collect()
}

/// A tensor from C over the numbers 0, 1, …, their address, and the deleter's counter.
fn foreign(shape: &[i64], strides: &[i64], len: usize, flags: u64) -> (Tensor, *const u8, Calls) {
    let producer = Producer::f32(shape, &numbers(len)).strides(strides).flags(flags);
    let (data, calls) = (producer.first(), producer.calls());
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    (unsafe { producer.import(Abi::Versioned) }.unwrap(), data, calls)
}

/// The address of the first element in candle's own storage.
fn data(tensor: &Candle) -> *const u8 {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(CpuStorage::F32(elements)) = &*storage else { unreachable!("floats on the CPU") };
    elements[layout.start_offset()..].as_ptr().cast()
}

#[test]
fn any_layout_without_negative_strides_is_adopted() {
    assert!(adopting::is_installed());
    let rows = LEN as i64 / 64;
    for (name, shape, strides, has_gaps) in [
        ("row-major", vec![rows, 64], vec![64, 1], false),
        ("Fortran order", vec![64, rows], vec![1, 64], false),
        ("permuted", vec![4, rows, 16], vec![16, 64, 1], false),
        ("pitched", vec![rows, 50], vec![64, 1], true),
        ("every second", vec![rows, 32], vec![64, 2], true),
        ("pitched, turned around", vec![50, rows], vec![1, 64], true),
        ("broadcast", vec![3, rows, 64], vec![0, 64, 1], false),
        ("broadcast last", vec![rows * 64, 5], vec![1, 0], false),
        ("axes of length 1", vec![1, rows, 1, 64], vec![7, 64, i64::MAX, 1], false),
        ("a window that moves by one", vec![rows * 64 - 9, 10], vec![1, 1], false),
        ("steps on all axes", vec![8, rows / 16, 10], vec![8 * rows, 128, 3], true),
    ] {
        let (tensor, address, calls) = foreign(&shape, &strides, LEN, 0);
        let expected: Vec<f32> = tensor.view().elements().unwrap().collect();
        // What lies in the gaps may be somebody else's, so that a plain tensor does not get it.
        let plain = if has_gaps { Route::Copied(Reason::Gaps) } else { Route::Shared };
        assert_eq!(tensor.route::<Candle>(), plain, "{name}");
        assert_eq!(tensor.route::<ReadOnly<Candle>>(), Route::Shared, "{name}");
        let candle: ReadOnly<Candle> = tensor.share().unwrap();
        assert_eq!((data(&candle), candle.dims().len()), (address, shape.len()), "{name}");
        assert_eq!(candle.flatten_all().unwrap().to_vec1::<f32>().unwrap(), expected, "{name}");
        // The memory is released with the last of all clones and views.
        let view = candle.narrow(0, 0, 1).unwrap();
        let clone = (*candle).clone();
        drop(candle);
        drop(clone);
        assert_eq!(calls.count(), 0, "{name}");
        assert_eq!(view.flatten_all().unwrap().to_vec1::<f32>().unwrap()[0], expected[0], "{name}");
        drop(view);
        assert_eq!(calls.count(), 1, "{name}");
    }
}

#[test]
fn what_is_not_adopted_is_copied_and_says_why() {
    let backwards = Producer::f32(&[LEN as i64], &numbers(LEN)).strides(&[-1]);
    let backwards = backwards.with(|it| it.tensor.byte_offset = 4 * (LEN as u64 - 1));
    let misaligned = Producer::f32(&[LEN as i64 - 1], &numbers(LEN)).with(|it| it.tensor.byte_offset = 2);
    let small = Producer::f32(&[16], &numbers(16));
    for (producer, reason) in
        [(backwards, Reason::NegativeStrides), (misaligned, Reason::Misaligned { align: 4 }), (small, Reason::Small)]
    {
        let (address, calls) = (producer.first(), producer.calls());
        // SAFETY: a well-formed producer over its own memory, which nobody else uses.
        let tensor = unsafe { producer.import(Abi::Versioned) }.unwrap();
        let bytes = tensor.view().to_bytes().unwrap();
        assert_eq!(tensor.route::<Candle>(), Route::Copied(reason));
        let converted = tensor.convert_with::<Candle>(CopyPolicy::IfNeeded).unwrap();
        assert_eq!((converted.copied, calls.count()), (Some(reason), 1));
        assert_ne!(data(&converted.value), address);
        assert_eq!(converted.value.share::<Tensor>().unwrap().view().to_bytes().unwrap(), bytes);
    }
    // candle has no such type, allocator or not.
    let bools = Producer::new(DataType::BOOL, &[LEN as i64 * 4], &vec![1; LEN * 4]);
    // SAFETY: as above.
    let error = unsafe { bools.import(Abi::Versioned) }.unwrap().convert::<Candle>().unwrap_err();
    assert!(matches!(error, Error::UnsupportedDType { .. }));
}

/// Whether writing in place finishes within a moment.
fn can_be_written(tensor: Candle) -> bool {
    let (sender, receiver) = mpsc::channel();
    // If it cannot be written, the thread waits for ever and is left behind.
    std::thread::spawn(move || {
        tensor.zero_set().unwrap();
        _ = sender.send(tensor);
    });
    receiver.recv_timeout(Duration::from_millis(300)).is_ok()
}

#[test]
fn memory_that_candle_must_not_write_is_read_only_and_other_is_not() {
    let (writable, _, _) = foreign(&[LEN as i64], &[1], LEN, 0);
    assert!(can_be_written(writable.share().unwrap()));
    let (dense, _, _) = foreign(&[64, LEN as i64 / 64], &[1, 64], LEN, 0);
    assert!(can_be_written(dense.share().unwrap()));

    let read_only = || foreign(&[LEN as i64], &[1], LEN, 1);
    let (tensor, address, calls) = read_only();
    assert_eq!(tensor.route::<Candle>(), Route::Copied(Reason::ReadOnly));
    let candle: ReadOnly<Candle> = tensor.share().unwrap();
    assert_eq!(data(&candle), address);
    // Reading goes on, and operations make memory of their own.
    assert_eq!((&*candle + 1.0).unwrap().to_vec1::<f32>().unwrap()[1], 2.);
    // It goes out read-only, and comes back as such: a plain tensor of it is a copy, wherever it has been.
    let shared: Tensor = (&candle).share().unwrap();
    assert!(shared.flags().is_read_only());
    assert_eq!(shared.route::<Candle>(), Route::Copied(Reason::ReadOnly));
    let copy: Candle = shared.convert().unwrap();
    assert_ne!(data(&copy), address);
    assert!(can_be_written(copy));
    let back: ReadOnly<Candle> = (&candle).share::<Tensor>().unwrap().share().unwrap();
    assert_eq!(data(&back), address);
    drop((back, candle));
    assert_eq!(calls.count(), 1);

    // Whoever writes it all the same waits, and only that one: everybody else gets answers.
    let (tensor, address, _) = read_only();
    let candle: ReadOnly<Candle> = tensor.share().unwrap();
    assert!(!can_be_written((*candle).clone()));
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let route = candle.route::<Candle>();
        let tensor: Tensor = candle.share().unwrap();
        sender.send((route, tensor)).unwrap();
    });
    let (route, tensor) = receiver.recv_timeout(Duration::from_secs(60)).expect("an answer");
    assert_eq!((route, tensor.data()), (Route::Copied(Reason::ReadOnly), address));

    let (with_gaps, _, _) = foreign(&[LEN as i64 / 4], &[2], LEN, 0);
    let candle: ReadOnly<Candle> = with_gaps.share().unwrap();
    assert!(!can_be_written((*candle).clone()));
}

#[test]
fn as_many_indices_as_places_is_no_proof_of_density() {
    // 129 × 129 indices over 129 · 129 places, of which every 65th is an element.
    let (side, step) = (129, 65);
    let (sparse, _, _) = foreign(&[side, side], &[step, step], (side * side) as usize, 0);
    assert_eq!(sparse.route::<Candle>(), Route::Copied(Reason::Gaps));
    let candle: ReadOnly<Candle> = sparse.share().unwrap();
    assert!(!can_be_written(candle.narrow(0, 0, 1).unwrap()));
}

#[test]
fn one_block_may_be_held_several_times() {
    // Two imports of one memory have one address, so that the allocator may let go of either with either vector.
    let memory: &'static [f32] = Box::leak(numbers(LEN).into_boxed_slice());
    let import = || -> ReadOnly<Candle> { Tensor::new(memory, &[LEN]).unwrap().share().unwrap() };
    let (one, two) = (import(), import());
    drop(one);
    assert_eq!(two.route::<Candle>(), Route::Copied(Reason::ReadOnly));
    assert!(!can_be_written((*two).clone()));
    let three = import();
    drop(two);
    assert_eq!(three.route::<Candle>(), Route::Copied(Reason::ReadOnly));
}

#[test]
fn candles_own_memory_is_not_sealed_by_its_way_through_others() {
    let candle = Candle::from_vec(numbers(LEN), LEN, &Device::Cpu).unwrap();
    let column: Float32Array = (&candle).share().unwrap();
    let through: ReadOnly<Candle> = (&column).share().unwrap();
    assert_eq!(data(&through), data(&candle));
    assert_eq!(candle.route::<Candle>(), Route::Shared);
    let export: Tensor = (&candle).share().unwrap();
    drop((through, column));
    // The export has the lock of its own storage.
    assert!(!can_be_written(candle.clone()));
    assert_eq!(export.to_vec::<f32>().unwrap(), numbers(LEN));
    drop(export);
    assert!(can_be_written(candle));
}

#[test]
fn memory_is_kept_by_whatever_came_first() {
    let (tensor, address, calls) = foreign(&[LEN as i64], &[1], LEN, 0);
    let first: Candle = tensor.share().unwrap();
    let memory: &'static [f32] = Box::leak(numbers(LEN + 2000).into_boxed_slice());
    let others: Vec<Vec<f32>> = (0..2000)
        .map(|at| {
            let elements = memory[at..].as_ptr().cast_mut();
            // SAFETY: these are there for ever, and nobody writes them.
            unsafe { adopting::adopt(elements, LEN, ()) }.map_err(|rejected| rejected.error).unwrap()
        })
        .collect();
    let column: Float32Array = (&first).share().unwrap();
    let again: ReadOnly<Candle> = column.share().unwrap();
    assert_eq!(data(&again), address);
    drop(again);
    assert_eq!((calls.count(), first.to_vec1::<f32>().unwrap()), (0, numbers(LEN)));
    drop((others, first));
    assert_eq!(calls.count(), 1);
}

#[test]
fn a_mapped_file_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers");
    let bytes: Vec<u8> = numbers(LEN).iter().flat_map(|number| number.to_ne_bytes()).collect();
    std::fs::write(&path, &bytes).unwrap();
    // SAFETY: nobody writes the temporary file.
    let map = unsafe { memmap(&path) };
    let (address, len) = (map.as_ptr(), LEN as i64);
    let column = Float32Array::new(map.into(), None);
    let candle: ReadOnly<Candle> = (&column).share().unwrap();
    assert_eq!((data(&candle), candle.dims()), (address, &[len as usize][..]));
    drop(column);
    assert_eq!(candle.to_vec1::<f32>().unwrap(), numbers(LEN));
    assert!(!can_be_written((*candle).clone()));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

/// A file in memory that faults when it is written.
///
/// # Safety
/// Nobody writes the file.
unsafe fn memmap(path: &Path) -> dlbridge::arrow::arrow_buffer::Buffer {
    let file = std::fs::File::open(path).unwrap();
    // SAFETY: the caller's promise.
    let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
    let (data, len) = (std::ptr::NonNull::from(&*map).cast(), map.len());
    // SAFETY: the map has `len` bytes there as long as it lives.
    unsafe { dlbridge::arrow::arrow_buffer::Buffer::from_custom_allocation(data, len, std::sync::Arc::new(map)) }
}

#[test]
fn arrays_and_streams_adopt_as_well() {
    for abi in ABIS {
        let producer = Producer::f32(&[LEN as i64 / 8, 8], &numbers(LEN));
        let (address, calls) = (producer.first(), producer.calls());
        // SAFETY: a well-formed producer over its own memory, which nobody else uses.
        let tensor = unsafe { producer.import(abi) }.unwrap();
        let array: Array2<f32> = tensor.share().unwrap();
        assert_eq!((array.as_ptr().cast(), array[[1, 0]]), (address, 8.));
        // candle takes over the array's vector, and an export from candle shares the same memory.
        let candle: Candle = array.share().unwrap();
        assert_eq!(data(&candle), address);
        let tensor: Tensor = candle.share().unwrap();
        let view: ArrayView2<'_, f32> = tensor.lend().unwrap();
        assert_eq!((view.as_ptr().cast(), calls.count()), (address, 0));
        drop(tensor);
        assert_eq!(calls.count(), 1);
    }
    let column = || {
        let array = Float32Array::from(numbers(LEN));
        let batch = dlbridge::arrow::arrow_array::RecordBatch::try_from_iter([("x", std::sync::Arc::new(array) as _)]);
        batch.map(|batch| batch.slice(1, LEN - 1)) // no longer a whole vector
    };
    let kept = Column::of(&column().unwrap(), "x").unwrap();
    assert_eq!((&kept).convert_with::<ReadOnly<Candle>>(CopyPolicy::IfNeeded).unwrap().copied, None);
    for tensor in std::iter::once(column()).tensors::<ReadOnly<Candle>>(Select::column("x")) {
        let tensor = tensor.unwrap();
        assert_eq!((tensor.copied, tensor.value.dims()), (None, &[LEN - 1][..]));
    }
}

#[test]
fn thousands_of_tensors_on_several_threads() {
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            std::thread::spawn(move || {
                let mut kept: Vec<(ReadOnly<Candle>, Calls)> = Vec::new();
                for round in 0..300 {
                    let (tensor, address, calls) = foreign(&[LEN as i64 / 4], &[1], LEN / 4, (round + thread) % 2);
                    let candle: ReadOnly<Candle> = tensor.share().unwrap();
                    assert_eq!(data(&candle), address);
                    kept.push((candle, calls));
                    if round % 7 == 0 {
                        for (candle, calls) in kept.drain(..) {
                            let view = candle.narrow(0, 5, 3).unwrap();
                            drop(candle);
                            assert_eq!((calls.count(), view.to_vec1::<f32>().unwrap()), (0, vec![5., 6., 7.]));
                            drop(view);
                            assert_eq!(calls.count(), 1);
                        }
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
