//! What it costs to share in Rust, against dlpark, dlpk and dlpack-rs.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use dlbridge::candle::candle_core::{Device, Tensor as Candle};
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, ArrayView2, ArrayViewD};
use dlbridge::{Bridge, Lend, Tensor};
use dlbridge_benches::Ratios;
use dlpack_rs::ffi::DLManagedTensorVersioned;
use dlpack_rs::safe::{TensorInfo, cpu_device, dtype_f32, pack_versioned};
use dlpark::TryFromDlpack;
use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensorVersioned as ParkTensor};
use dlpark::metadata::Fixed;
use dlpark::versioned::Dlpack;
use dlpk::DLPackTensor;

fn array() -> Array2<f32> {
    Array2::zeros((black_box(4), 4))
}

/// dlpark's way for an array.
fn park(array: Array2<f32>) -> Dlpack {
    let parts: dlpark::allocation::dynamic::Initialized<ParkTensor> = Box::new(array).try_into().expect("an array");
    // SAFETY: dlpark's conversion of an array fills in everything.
    unsafe { parts.finish() }
}

/// Calls the deleter of what dlpack-rs has packed.
fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: just packed.
    let deleter = unsafe { (*managed).deleter }.expect("packed tensors have a deleter");
    // SAFETY: not used afterwards.
    unsafe { deleter(managed) };
}

fn export_of_shared_memory(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "export and drop of an Arc-shared buffer, 4 × 4");
    let shared: Arc<Vec<f32>> = Arc::new(vec![0.; 16]);
    let array: ArcArray2<f32> = ArcArray2::zeros((4, 4));
    group.bench("dlbridge", || Tensor::new(Arc::clone(&shared), &[4, 4]));
    group.bench("dlpark", || {
        let owner = Arc::clone(&shared);
        let data = owner.as_ptr().cast_mut().cast();
        let mut parts = Fixed::new([4i64, 4], [4i64, 1]).initialize(owner).expect("a fixed rank");
        parts.set_data(data).set_dtype(DLDataType::F32).set_device(DLDevice::CPU);
        // SAFETY: everything is filled in, and the owner keeps the memory.
        let tensor: Dlpack = unsafe { parts.finish() };
        tensor
    });
    group.bench("dlpk (ArcArray2)", || DLPackTensor::try_from(array.clone()));
    group.bench("dlpack-rs", || {
        let owner = Arc::clone(&shared);
        let data = owner.as_ptr().cast_mut().cast();
        let info = TensorInfo::strided(data, cpu_device(), dtype_f32(), vec![4, 4], vec![4, 1]);
        delete(pack_versioned(owner, info, 1));
    });
}

fn export_and_view_of_an_array(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "Array2 4 × 4: export, view, drop");
    let creation = group.bench("creation and drop alone", array);
    let total = group.bench("dlbridge, with creation", || {
        let tensor: Tensor = array().share().expect("an array");
        black_box(tensor.lend::<ArrayView2<'_, f32>>().expect("a view"));
    });
    group.derived("dlbridge", total - creation);
    let total = group.bench("dlpark (ArrayViewD), with creation", || {
        let tensor = park(array());
        // SAFETY: the tensor outlives the view.
        black_box(unsafe { ArrayViewD::<f32>::try_from_dlpack(&tensor, ()) }.expect("a view"));
    });
    group.derived("dlpark (ArrayViewD)", total - creation);
    let total = group.bench("dlpk, with creation", || {
        let tensor = DLPackTensor::try_from(array()).expect("an array");
        black_box(ArrayView2::<f32>::try_from(tensor.as_ref()).expect("a view"));
    });
    group.derived("dlpk", total - creation);
}

fn view(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "view of a tensor that is there, 4 × 4");
    let tensor: Tensor = array().share().expect("an array");
    group.bench("dlbridge ArrayView2", || {
        black_box(&black_box(&tensor).lend::<ArrayView2<'_, f32>>().expect("a matrix"));
    });
    group.bench("dlbridge ArrayViewD", || {
        black_box(&black_box(&tensor).lend::<ArrayViewD<'_, f32>>().expect("an array"));
    });
    group.bench("dlbridge slice", || {
        black_box(&black_box(&tensor).as_slice::<f32>().expect("contiguous"));
    });
    let park = park(array());
    group.bench("dlpark ArrayViewD", || {
        // SAFETY: the tensor outlives the view.
        black_box(&unsafe { ArrayViewD::<f32>::try_from_dlpack(black_box(&park), ()) }.expect("an array"));
    });
    let pk = DLPackTensor::try_from(array()).expect("an array");
    group.bench("dlpk ArrayView2", || {
        black_box(&ArrayView2::<f32>::try_from(black_box(&pk).as_ref()).expect("a matrix"));
    });
    group.bench("dlpk ArrayViewD", || {
        black_box(&ArrayViewD::<f32>::try_from(black_box(&pk).as_ref()).expect("an array"));
    });
}

fn candle(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "candle tensor: export and drop");
    for (name, size) in [("4 × 4", 4), ("1024 × 1024", 1024)] {
        let candle = Candle::zeros((size, size), dlbridge::candle::candle_core::DType::F32, &Device::Cpu).expect("f32");
        group.bench(name, || (&candle).share::<Tensor>());
    }
}

criterion_group!(benches, export_of_shared_memory, export_and_view_of_an_array, view, candle);
criterion_main!(benches);
