//! What it costs to share with libtorch, against libtorch's own routes.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::NonNull;

use criterion::{Criterion, criterion_group, criterion_main};
use dlbridge::ndarray::ndarray::ArrayView2;
use dlbridge::sys::DLManagedTensorVersioned;
use dlbridge::tch::{export_shared, tch};
use dlbridge::{Bridge, Lend, ReadOnly, Tensor};
use dlbridge_benches::{Ratios, reusable_export};
use tch::{Kind, Tensor as Torch};
use torch_sys::C_tensor;

unsafe extern "C" {
    fn bench_export(tensor: *const C_tensor) -> *mut DLManagedTensorVersioned;
    fn bench_import(managed: *mut DLManagedTensorVersioned) -> *mut C_tensor;
    fn bench_from_blob(
        data: *mut c_void,
        shape: *const i64,
        ndim: i64,
        deleter: extern "C" fn(*mut c_void),
    ) -> *mut C_tensor;
}

fn export(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "libtorch tensor 64 × 64: export and drop");
    let torch = Torch::zeros([64, 64], (Kind::Float, tch::Device::Cpu));
    // SAFETY: nobody writes the tensor meanwhile.
    group.bench("dlbridge", || unsafe { export_shared(black_box(&torch)) });
    group.bench("at::toDLPackVersioned", || libtorchs_own(&torch));
    let row = torch.narrow(1, 0, 32).narrow(0, 1, 1);
    // SAFETY: nobody writes the tensor meanwhile.
    group.bench("dlbridge, a row of it", || unsafe { export_shared(black_box(&row)) });
    group.bench("at::toDLPackVersioned, a row of it", || libtorchs_own(&row));
    group.bench("tch shallow_clone", || black_box(&torch).shallow_clone());
}

/// libtorch's export, let go of at once.
fn libtorchs_own(torch: &Torch) {
    // SAFETY: a live tensor.
    let managed = black_box(unsafe { bench_export(black_box(torch).as_ptr()) });
    // SAFETY: just exported.
    let deleter = unsafe { (*managed).deleter }.expect("libtorch's exports have a deleter");
    // SAFETY: not used afterwards.
    unsafe { deleter(managed) };
}

extern "C" fn nothing(_: *mut c_void) {}

fn import(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "libtorch tensor 64 × 64: import and drop");
    let (mut memory, mut shape, mut strides) = (vec![0f32; 64 * 64], [64i64, 64], [64i64, 1]);
    let data = memory.as_mut_ptr().cast::<c_void>();
    let mut producer = reusable_export(data, &mut shape, &mut strides, 0);
    let managed = NonNull::from(&mut producer);
    // SAFETY: the struct and its memory outlive every tensor made of them, and no two of these live at once.
    let tensor = || unsafe { Tensor::from_raw(black_box(managed)) }.expect("a well-formed tensor");
    // SAFETY: a new tensor of libtorch's.
    let owned = |raw| unsafe { Torch::from_ptr(raw) };

    group.bench("dlbridge", || tensor().share::<Torch>());
    group.bench("dlbridge, read-only", || tensor().share::<ReadOnly<Torch>>());
    // SAFETY: as for `tensor`.
    group.bench("at::fromDLPackVersioned", || owned(unsafe { bench_import(managed.as_ptr()) }));
    group.bench("at::from_blob with a deleter", || {
        // SAFETY: as for `tensor`.
        owned(unsafe { bench_from_blob(black_box(data), shape.as_ptr(), 2, nothing) })
    });
    let torch = Torch::zeros([64, 64], (Kind::Float, tch::Device::Cpu));
    group.bench("tch copy", || torch.copy());
}

/// Strided elements made contiguous: one pass over memory, against the others and against a plain copy.
fn relayout(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "4096 × 1024 f32 made contiguous");
    let torch = Torch::zeros([4096, 1024], (Kind::Float, tch::Device::Cpu));
    // SAFETY: nobody writes the tensor meanwhile.
    let share = |torch: &Torch| unsafe { export_shared(torch) }.expect("a dense tensor");
    tch::set_num_threads(1);
    for (name, torch) in
        [("plain", torch.shallow_clone()), ("transposed", torch.tr()), ("every second", torch.slice(1, None, None, 2))]
    {
        let tensor = share(&torch);
        let array: ArrayView2<'_, f32> = tensor.lend().expect("a matrix");
        group.bench(&format!("{name}: dlbridge"), || tensor.to_vec::<f32>());
        group.bench(&format!("{name}: ndarray"), || array.as_standard_layout().into_owned());
        let size = torch.size();
        group.bench(&format!("{name}: libtorch, one thread"), || {
            let mut copy = Torch::empty(&size, (Kind::Float, tch::Device::Cpu));
            copy.copy_(&torch);
            copy
        });
    }
}

criterion_group!(benches, export, import, relayout);
criterion_main!(benches);
