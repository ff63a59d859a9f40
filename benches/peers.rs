//! What it costs to share in Rust, against dlpark, dlpk and dlpack-rs.

use std::hint::black_box;
use std::sync::Arc;

use dlbridge::candle::candle_core::{Device, Tensor as Candle};
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, ArrayView2, ArrayViewD};
use dlbridge::{Bridge, Lend, Tensor};
use dlbridge_benches::allocations::Counting;
use dlbridge_benches::{Group, Session, is_measured, run};
use dlpack_rs::ffi::DLManagedTensorVersioned;
use dlpack_rs::safe::{TensorInfo, cpu_device, dtype_f32, pack_versioned};
use dlpark::TryFromDlpack;
use dlpark::allocation::dynamic::Initialized;
use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensorVersioned as ParkTensor};
use dlpark::metadata::Fixed;
use dlpark::versioned::Dlpack;
use dlpk::DLPackTensor;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of inputs that are made at once: their memory fits into a second-level cache.
const BATCH: u64 = 256;

fn vec() -> Vec<f32> {
    vec![0.; 16]
}

fn array() -> Array2<f32> {
    Array2::zeros((4, 4))
}

/// dlpark's export of an array or a candle tensor.
fn park<T>(value: T) -> Dlpack
where
    Box<T>: TryInto<Initialized<ParkTensor>, Error: std::fmt::Debug>,
{
    let parts = Box::new(value).try_into().expect("a tensor on the CPU");
    // SAFETY: dlpark's conversions fill in everything.
    unsafe { parts.finish() }
}

/// dlpark's export of memory for which it has no conversion.
fn park_memory<O: dlpark::OpaqueContext, const N: usize>(
    owner: O,
    data: *const f32,
    shape: [i64; N],
    strides: [i64; N],
) -> Dlpack {
    let mut parts = Fixed::new(shape, strides).initialize(owner).expect("a fixed rank");
    parts.set_data(data.cast_mut().cast()).set_dtype(DLDataType::F32).set_device(DLDevice::CPU);
    // SAFETY: everything is filled in, and the owner keeps the memory.
    unsafe { parts.finish() }
}

/// A tensor that dlpack-rs has exported. It leaves the deletion to its caller.
struct Packed(*mut DLManagedTensorVersioned);

impl Packed {
    fn new<O: 'static>(owner: O, data: *const f32, shape: Vec<i64>, strides: Vec<i64>) -> Self {
        let info = TensorInfo::strided(data.cast_mut().cast(), cpu_device(), dtype_f32(), shape, strides);
        Self(pack_versioned(owner, info, 0))
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        // SAFETY: packed, and not deleted yet.
        let deleter = unsafe { (*self.0).deleter }.expect("packed tensors have a deleter");
        // SAFETY: not used afterwards.
        unsafe { deleter(self.0) };
    }
}

fn export(session: &mut Session) {
    let mut group = Group::against_floor(session, "export and drop");
    // Measured in batches, so that the time does not include the making of the vectors. It includes dropping the
    // exports.
    let case = "Vec of 16, by value";
    group.bench_batched(case, "dlbridge", BATCH, vec, |vec| drop(black_box(Tensor::new(vec, &[16]))));
    group.bench_batched(case, "dlpark", BATCH, vec, |vec| {
        let data = vec.as_ptr();
        drop(black_box(park_memory(Box::new(vec), data, [16], [1])));
    });
    group.bench_batched(case, "dlpk", BATCH, vec, |vec| drop(black_box(DLPackTensor::try_from(vec))));
    group.bench_batched(case, "dlpack-rs", BATCH, vec, |vec| {
        let data = vec.as_ptr();
        drop(black_box(Packed::new(vec, data, vec![16], vec![1])));
    });

    let case = "Arc buffer, 4 × 4";
    let shared: Arc<Vec<f32>> = Arc::new(vec());
    let arc_array: ArcArray2<f32> = ArcArray2::zeros((4, 4));
    group.bench(case, "dlbridge", || Tensor::new(Arc::clone(&shared), &[4, 4]));
    group.bench(case, "dlpark", || park_memory(Arc::clone(&shared), shared.as_ptr(), [4, 4], [4, 1]));
    group.bench(case, "dlpk", || DLPackTensor::try_from(arc_array.clone())).note("of an ArcArray");
    group.bench(case, "dlpack-rs", || Packed::new(Arc::clone(&shared), shared.as_ptr(), vec![4, 4], vec![4, 1]));
    group.bench("ArcArray, 4 × 4", "dlbridge", || arc_array.clone().share::<Tensor>());
    group.bench("ArcArray, 4 × 4", "dlpk", || DLPackTensor::try_from(arc_array.clone()));

    let case = "Array2 4 × 4, by value";
    group.bench_batched(case, "dlbridge", BATCH, array, |array| drop(black_box(array.share::<Tensor>())));
    group.bench_batched(case, "dlpark", BATCH, array, |array| drop(black_box(park(array))));
    group.bench_batched(case, "dlpk", BATCH, array, |array| drop(black_box(DLPackTensor::try_from(array))));
    group.bench_batched(case, "dlpack-rs", BATCH, array, |array| {
        let (data, shape, strides) = (array.as_ptr(), array.shape().to_vec(), array.strides().to_vec());
        let [shape, strides] = [shape.iter().map(|n| *n as i64).collect(), strides.iter().map(|n| *n as i64).collect()];
        drop(black_box(Packed::new(array, data, shape, strides)));
    });

    let case = "Array2 4 × 4, exported and viewed";
    group.bench_batched(case, "dlbridge", BATCH, array, |array| {
        let tensor: Tensor = array.share().expect("an array");
        black_box(tensor.lend::<ArrayView2<'_, f32>>().expect("a view"));
    });
    group.bench_batched(case, "dlpark", BATCH, array, |array| {
        let tensor = park(array);
        // SAFETY: the tensor outlives the view.
        black_box(unsafe { ArrayViewD::<f32>::try_from_dlpack(&tensor, ()) }.expect("a view"));
    });
    group.bench_batched(case, "dlpk", BATCH, array, |array| {
        let tensor = DLPackTensor::try_from(array).expect("an array");
        black_box(ArrayView2::<f32>::try_from(tensor.as_ref()).expect("a view"));
    });
}

fn import(session: &mut Session) {
    let mut group = Group::against_floor(session, "view of a tensor that is there, 4 × 4");
    let tensor: Tensor = array().share().expect("an array");
    let park_tensor = park(array());
    let dlpk = DLPackTensor::try_from(array()).expect("an array");
    group.bench("ArrayView2", "dlbridge", || {
        black_box(&black_box(&tensor).lend::<ArrayView2<'_, f32>>().expect("a matrix"));
    });
    group.bench("ArrayView2", "dlpk", || {
        black_box(&ArrayView2::<f32>::try_from(black_box(&dlpk).as_ref()).expect("a matrix"));
    });
    group.bench("ArrayViewD", "dlbridge", || {
        black_box(&black_box(&tensor).lend::<ArrayViewD<'_, f32>>().expect("an array"));
    });
    group.bench("ArrayViewD", "dlpark", || {
        // SAFETY: the tensor outlives the view.
        black_box(&unsafe { ArrayViewD::<f32>::try_from_dlpack(black_box(&park_tensor), ()) }.expect("an array"));
    });
    group.bench("ArrayViewD", "dlpk", || {
        black_box(&ArrayViewD::<f32>::try_from(black_box(&dlpk).as_ref()).expect("an array"));
    });
    let tensor: Tensor = vec().share().expect("a vector");
    let owner = Box::new(vec());
    let data = owner.as_ptr();
    let park_tensor = park_memory(owner, data, [16], [1]);
    let dlpk = DLPackTensor::try_from(vec()).expect("a vector");
    group.bench("&[f32]", "dlbridge", || {
        black_box(black_box(&tensor).as_slice::<f32>().expect("contiguous"));
    });
    group.bench("&[f32]", "dlpark", || {
        let tensor = black_box(&park_tensor).validate().expect("well-formed");
        // SAFETY: 16 elements are there; they are not read.
        black_box(unsafe { tensor.cpu_slice::<f32>() }.expect("contiguous"));
    });
    group.bench("&[f32]", "dlpk", || {
        black_box(<&[f32]>::try_from(black_box(&dlpk).as_ref()).expect("contiguous"));
    });
}

fn candle(session: &mut Session) {
    let mut group = Group::against_floor(session, "candle: export, and import by a copy");
    let side = if is_measured() { 1024 } else { 64 };
    for (name, side) in [("4 × 4", 4), ("1024 × 1024", side)] {
        let candle = Candle::ones((side, side), dlbridge::candle::candle_core::DType::F32, &Device::Cpu).expect("f32");
        let export = format!("export of {name}");
        group.bench(&export, "dlbridge", || (&candle).share::<Tensor>());
        group.bench(&export, "dlpark", || park(candle.clone()));
        let source = || Array2::<f32>::ones((side, side));
        let read_only = source().into_shared();
        let park_tensor = park(source());
        let import = format!("import of {name}");
        group.bench(&import, "dlbridge", || read_only.clone().convert::<Candle>());
        group.bench(&import, "dlpark", || {
            // SAFETY: the tensor is alive, and candle copies.
            unsafe { Candle::try_from_dlpack(black_box(&park_tensor), ()) }.expect("floats")
        });
        let transposed = candle.t().expect("a matrix");
        let park_tensor = park(transposed.clone());
        let tensor: Tensor = (&transposed).share().expect("floats");
        let import = format!("import of {name}, transposed");
        group.bench(&import, "dlbridge", || import_copy(&tensor));
        group.bench(&import, "dlpark", || {
            // SAFETY: the tensor is alive, and candle copies.
            unsafe { Candle::try_from_dlpack(black_box(&park_tensor), ()) }.expect("floats")
        });
    }
}

/// candle's copy of a tensor that stays.
fn import_copy(tensor: &Tensor) -> Candle {
    dlbridge::Import::import_copy(&black_box(tensor).view()).expect("floats")
}

fn main() {
    run("peers", &[export, import, candle]);
}
