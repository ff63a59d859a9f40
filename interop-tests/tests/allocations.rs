//! How many allocations a conversion takes, which is the same on every machine. Only Rust's allocator is counted, not
//! that of C++, in which libtorch's own objects are.
#![cfg(all(feature = "arrow", feature = "burn", feature = "candle", feature = "ndarray"))]

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use dlbridge::arrow::arrow_array::{FixedSizeListArray, Float32Array, RecordBatch};
use dlbridge::arrow::arrow_schema::{DataType as ArrowType, Field};
use dlbridge::burn::burn_flex::FlexTensor;
use dlbridge::burn::burn_std::TensorData;
use dlbridge::burn::burn_tensor::{Device as BurnDevice, Tensor as Burn};
use dlbridge::candle::candle_core::{Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, ArrayView2, ArrayViewD, Ix2};
use dlbridge::{Bridge, CopyPolicy, Error, Export, Import, Lend, Tensor};

const BYTES: u64 = 32 * 32 * 4;

/// The result of `body`, and the allocations made while it runs, which include those of the result.
fn allocations<T>(body: impl FnOnce() -> T) -> (T, AllocationInfo) {
    dlbridge::adopting::is_installed(); // The first call allocates, and later calls do not.
    let mut result = None;
    let info = measure(|| result = Some(body()));
    (result.expect("the body has run"), info)
}

fn count<T>(body: impl FnOnce() -> T) -> u64 {
    allocations(body).1.count_total
}

fn vec() -> Vec<f32> {
    vec![1.; 32 * 32]
}

fn array() -> Array2<f32> {
    array_of(vec())
}

fn array_of(vec: Vec<f32>) -> Array2<f32> {
    Array2::from_shape_vec((32, 32), vec).unwrap()
}

fn candle_of(vec: Vec<f32>) -> Candle {
    Candle::from_vec(vec, (32, 32), &CandleDevice::Cpu).unwrap()
}

/// The first of all exports makes the table of the locks that are held.
fn exported_before(candle: Candle) -> Candle {
    drop((&candle).share::<Tensor>());
    candle
}

fn burn_of(vec: Vec<f32>) -> Burn<2> {
    Burn::from_data(TensorData::new(vec, [32, 32]), &BurnDevice::flex())
}

fn arrow_of(vec: Vec<f32>) -> FixedSizeListArray {
    let item = Arc::new(Field::new_list_field(ArrowType::Float32, false));
    FixedSizeListArray::new(item, 32, Arc::new(Float32Array::from(vec)), None)
}

/// What a framework itself allocates to make a tensor of a vector, after a first call, in which it looks for its
/// devices.
fn own<T>(make: impl Fn(Vec<f32>) -> T) -> u64 {
    make(vec());
    let vec = vec();
    count(|| make(vec))
}

/// The number of allocations of a `share`, which must succeed and must not copy the elements.
fn share<Dst: Import<In>, In, Src: Export<Out>, Out>(source: Src) -> u64 {
    let (shared, info) = allocations(|| source.share::<Dst>());
    assert!(shared.is_ok());
    assert!(info.bytes_total < BYTES, "{} bytes for a shared tensor", info.bytes_total);
    info.count_total
}

/// The number of allocations of a `convert` without the one for the copied elements, which there must be.
fn convert<Dst: Import<In>, In, Src: Export<Out>, Out>(source: Src) -> u64 {
    let (converted, info) = allocations(|| source.convert_with::<Dst>(CopyPolicy::IfNeeded));
    assert!(converted.unwrap().copied.is_some());
    assert!((BYTES..BYTES + 1024).contains(&info.bytes_total), "{} bytes for one copy", info.bytes_total);
    info.count_total - 1
}

#[test]
fn an_export_is_one_allocation_of_fixed_size() {
    let shared: Arc<[f32]> = vec![0f32; 1 << 20].into();
    let (tensor, info) = allocations(|| Tensor::new(shared.clone(), &[1 << 10, 1 << 10]).map_err(Error::from));
    assert_eq!(info.count_total, 1);
    assert!(info.bytes_total < 200, "{} bytes", info.bytes_total);
    drop(tensor.unwrap());
    assert_eq!(share::<Tensor, _, _, _>(vec()), 1);
    assert_eq!(share::<Tensor, _, _, _>(vec().into_boxed_slice()), 1);
    assert_eq!(share::<Tensor, _, _, _>(array()), 1);
    assert_eq!(share::<Tensor, _, _, _>(array().reversed_axes()), 1);
    assert_eq!(share::<Tensor, _, _, _>(array().into_shared()), 1);
    let candle = exported_before(candle_of(vec()));
    assert_eq!(share::<Tensor, _, _, _>(&candle), 1);
    assert_eq!(share::<Tensor, _, _, _>(candle.t().unwrap()), 1);
}

#[test]
fn an_export_of_arrow_is_one_allocation() {
    let array = Float32Array::from(vec());
    assert_eq!(share::<Tensor, _, _, _>(&array), 1);
    assert_eq!(share::<Tensor, _, _, _>(array), 1);
    let lists = arrow_of(vec());
    assert_eq!(share::<Tensor, _, _, _>(&lists), 1);
    assert_eq!(share::<Tensor, _, _, _>(lists), 1);
    // For a batch, also the list of its columns.
    let batch: RecordBatch = Array2::<f32>::zeros((32, 4)).reversed_axes().share().unwrap();
    assert_eq!(count(|| (&batch).share::<Tensor>().unwrap()), 2);
}

#[test]
fn an_export_of_burn_is_one_allocation_beside_its_own() {
    // burn's tensor has its lengths and strides in an allocation, which a clone copies. The export holds a clone, and
    // the layout once more.
    let burn = burn_of(vec());
    let clone = count(|| burn.clone());
    assert_eq!(share::<Tensor, _, _, _>(&burn), 1 + clone + 1);
}

#[test]
fn a_view_is_none() {
    let tensor: Tensor = array().share().unwrap();
    assert_eq!(count(|| tensor.lend::<ArrayView2<'_, f32>>().unwrap()), 0);
    assert_eq!(count(|| tensor.lend::<ArrayViewD<'_, f32>>().unwrap()), 0);
    assert_eq!(count(|| tensor.as_slice::<f32>().unwrap().len()), 0);
    assert_eq!(count(|| tensor.view().elements::<f32>().unwrap().sum::<f32>()), 0);
}

#[test]
fn sharing_is_the_export_and_what_the_target_needs() {
    // One allocation for the export, and those that the target itself needs when it takes a vector. This holds for
    // vectors that are taken over, and for memory that somebody else holds.
    let held = array().into_shared();
    assert_eq!(share::<Vec<f32>, _, _, _>(array()), 1);
    assert_eq!(share::<Array2<f32>, _, _, _>(Tensor::new(vec(), &[32, 32]).unwrap()), 0);
    assert_eq!(share::<ArcArray2<f32>, _, _, _>(array()), 1 + own(|vec| array_of(vec).into_shared()));
    assert_eq!(share::<Owned<f32, Ix2>, _, _, _>(array()), 1);
    assert_eq!(share::<Owned<f32, Ix2>, _, _, _>(held.clone()), 1);
    assert_eq!(share::<Candle, _, _, _>(array()), 1 + own(candle_of));
    // burn needs one more for foreign memory: the controller that releases it.
    let burn = own(burn_of);
    assert_eq!(share::<FlexTensor, _, _, _>(array()), 1 + burn);
    assert_eq!(share::<Burn<2>, _, _, _>(array()), 1 + burn);
    assert_eq!(share::<Burn<2>, _, _, _>(held.clone()), 1 + burn + 1);
    // Arrow needs one more for the array, whose type is known only at run time, and another for foreign memory: the
    // handle that releases it.
    let arrow = own(arrow_of);
    assert_eq!(share::<FixedSizeListArray, _, _, _>(array()), 1 + arrow + 1);
    assert_eq!(share::<FixedSizeListArray, _, _, _>(held.clone()), 1 + arrow + 2);
}

#[test]
fn converting_is_one_buffer() {
    // Besides the buffer, one allocation for the export of the source, and those that the target itself needs.
    let candle = exported_before(candle_of(vec()));
    assert_eq!(convert::<Vec<f32>, _, _, _>(&candle), 1);
    assert_eq!(convert::<Array2<f32>, _, _, _>(&candle), 1);
    assert_eq!(convert::<ArcArray2<f32>, _, _, _>(&candle), 1 + 1);
    assert_eq!(convert::<Candle, _, _, _>(array().into_shared().clone()), 1 + own(candle_of));
    // A source that only lends its memory is exported as a copy, which the target takes over.
    let view = array();
    assert_eq!(convert::<Tensor, _, _, _>(view.view()), 1);
    assert_eq!(convert::<Vec<f32>, _, _, _>(view.view()), 1);
    assert_eq!(convert::<Candle, _, _, _>(view.view()), 1 + own(candle_of));
    assert_eq!(convert::<Burn<2>, _, _, _>(view.view()), 1 + own(burn_of));
    assert_eq!(convert::<FixedSizeListArray, _, _, _>(view.view()), 1 + own(arrow_of) + 1);
    // A strided source needs one more, for the order of the axes while they are copied.
    let strided = candle.t().unwrap();
    assert_eq!(convert::<Vec<f32>, _, _, _>(&strided), 1 + 1);
    assert_eq!(convert::<Array2<f32>, _, _, _>(&strided), 1 + 1);
}

#[cfg(feature = "tch")]
#[test]
fn libtorch_takes_no_more() {
    use dlbridge::ReadOnly;
    use dlbridge::tch::tch::{Device, Kind, Tensor as Torch};

    let torch = || Torch::ones([32, 32], (Kind::Float, Device::Cpu));
    let candle = exported_before(candle_of(vec()));
    assert_eq!(share::<Tensor, _, _, _>(torch()), 1);
    assert_eq!(share::<Torch, _, _, _>(array()), 1);
    assert_eq!(share::<ReadOnly<Torch>, _, _, _>(&candle), 1);
    assert_eq!(share::<Owned<f32, Ix2>, _, _, _>(torch()), 1);
    // Memory that others hold is copied into a vector, which a tensor owns.
    assert_eq!(convert::<Torch, _, _, _>(&candle), 1 + 1);
    assert_eq!(convert::<Vec<f32>, _, _, _>(&torch()), 1);
}
