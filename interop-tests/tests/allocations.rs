//! How many allocations a conversion takes: a number that no machine's noise can blur.
#![cfg(all(feature = "arrow", feature = "candle", feature = "ndarray"))]

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use dlbridge::arrow::arrow_array::{FixedSizeListArray, Float32Array, RecordBatch};
use dlbridge::candle::candle_core::{Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{Array2, ArrayView2, ArrayViewD, Ix2};
use dlbridge::{Bridge, Error, Lend, Tensor};

/// The allocations made while `body` runs, those for its result included.
fn allocations<T>(body: impl FnOnce() -> T) -> (T, AllocationInfo) {
    dlbridge::adopting::is_installed(); // Found out once, with allocations of its own.
    let mut result = None;
    let info = measure(|| result = Some(body()));
    (result.expect("the body has run"), info)
}

fn candle() -> Candle {
    Candle::arange(0f32, 1024., &CandleDevice::Cpu).unwrap().reshape((32, 32)).unwrap()
}

#[test]
fn an_export_is_one_allocation_of_fixed_size() {
    let shared: Arc<[f32]> = vec![0f32; 1 << 20].into();
    let (tensor, info) = allocations(|| Tensor::new(shared.clone(), &[1 << 10, 1 << 10]).map_err(Error::from));
    assert_eq!(info.count_total, 1);
    assert!(info.bytes_total < 200, "{} bytes", info.bytes_total);
    drop(tensor.unwrap());
    let array = Array2::<f32>::zeros((32, 32));
    assert_eq!(allocations(|| array.share::<Tensor>().unwrap()).1.count_total, 1);
    let reversed = Array2::<f32>::zeros((32, 32)).reversed_axes();
    assert_eq!(allocations(|| reversed.share::<Tensor>().unwrap()).1.count_total, 1);
    let candle = candle();
    assert_eq!(allocations(|| (&candle).share::<Tensor>().unwrap()).1.count_total, 1);
}

#[test]
fn an_export_of_arrow_is_one_allocation() {
    let array = Float32Array::from(vec![0.; 1 << 16]);
    assert_eq!(allocations(|| (&array).share::<Tensor>().unwrap()).1.count_total, 1);
    assert_eq!(allocations(|| array.share::<Tensor>().unwrap()).1.count_total, 1);
    let lists: FixedSizeListArray = Array2::<f32>::zeros((32, 32)).share().unwrap();
    assert_eq!(allocations(|| (&lists).share::<Tensor>().unwrap()).1.count_total, 1);
    // A batch: the list of its columns, too.
    let batch: RecordBatch = Array2::<f32>::zeros((32, 4)).reversed_axes().share().unwrap();
    assert_eq!(allocations(|| (&batch).share::<Tensor>().unwrap()).1.count_total, 2);
}

#[test]
fn a_view_of_fixed_rank_is_none() {
    let tensor: Tensor = Array2::<f32>::zeros((32, 32)).share().unwrap();
    assert_eq!(allocations(|| tensor.lend::<ArrayView2<'_, f32>>().unwrap()).1.count_total, 0);
    assert_eq!(allocations(|| tensor.lend::<ArrayViewD<'_, f32>>().unwrap()).1.count_total, 0);
    assert_eq!(allocations(|| tensor.as_slice::<f32>().unwrap().len()).1.count_total, 0);
    assert_eq!(allocations(|| tensor.view().elements::<f32>().unwrap().sum::<f32>()).1.count_total, 0);
}

#[test]
fn sharing_between_two_frameworks_is_at_most_two() {
    let candle = candle();
    assert_eq!(allocations(|| (&candle).share::<Owned<f32, Ix2>>().unwrap()).1.count_total, 1);
    let array = Array2::<f32>::zeros((32, 32));
    // One is the exported tensor; candle's own are its storage, its shape and its tensor.
    let (_, info) = allocations(|| array.share::<Candle>().unwrap());
    assert!(info.bytes_total < 32 * 32 * 4, "{} bytes for a shared tensor", info.bytes_total);
}

#[test]
fn converting_is_one_buffer() {
    let candle = candle();
    let (array, info) = allocations(|| (&candle).convert::<Array2<f32>>().unwrap());
    // The exported tensor, and the buffer.
    assert_eq!(info.count_total, 2);
    assert!(info.bytes_total < array.len() as u64 * 4 + 400);
    let strided = candle.t().unwrap();
    let (_, info) = allocations(|| (&strided).convert::<Array2<f32>>().unwrap());
    assert!(info.bytes_total < 32 * 32 * 4 + 1000, "{} bytes for a strided copy", info.bytes_total);
}
