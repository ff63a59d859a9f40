//! What it costs to share with libtorch, against libtorch's own exchange functions.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::NonNull;

use dlbridge::sys::DLManagedTensorVersioned;
use dlbridge::tch::{export_shared, tch};
use dlbridge::{Bridge, ReadOnly, Tensor};
use dlbridge_benches::allocations::Counting;
use dlbridge_benches::producer::reusable_export;
use dlbridge_benches::{Group, Session, run};
use tch::{Kind, Tensor as Torch};
use torch_sys::C_tensor;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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

fn export(session: &mut Session) {
    let mut group = Group::against_floor(session, "libtorch tensor: export and drop");
    let torch = Torch::zeros([64, 64], (Kind::Float, tch::Device::Cpu));
    let row = torch.narrow(1, 0, 32).narrow(0, 1, 1);
    for (case, torch) in [("64 × 64", &torch), ("a row of 32 in it", &row)] {
        // SAFETY: nobody writes the tensor meanwhile.
        group.bench(case, "dlbridge", || unsafe { export_shared(black_box(torch)) });
        group.bench(case, "at::toDLPackVersioned", || libtorchs_own(torch));
        group.bench(case, "tch's shallow_clone", || black_box(torch).shallow_clone()).note("for comparison");
    }
}

/// libtorch's own export, released at once.
fn libtorchs_own(torch: &Torch) {
    // SAFETY: a live tensor.
    let managed = black_box(unsafe { bench_export(black_box(torch).as_ptr()) });
    // SAFETY: just exported.
    let deleter = unsafe { (*managed).deleter }.expect("libtorch's exports have a deleter");
    // SAFETY: not used afterwards.
    unsafe { deleter(managed) };
}

extern "C" fn nothing(_: *mut c_void) {}

fn import(session: &mut Session) {
    let mut group = Group::against_floor(session, "libtorch tensor: import and drop");
    let (mut memory, mut shape, mut strides) = (vec![0f32; 64 * 64], [64i64, 64], [64i64, 1]);
    let data = memory.as_mut_ptr().cast::<c_void>();
    let mut producer = reusable_export(data, &mut shape, &mut strides, 0);
    let managed = NonNull::from(&mut producer);
    // SAFETY: the struct and its memory outlive every tensor made of them, and no two of these live at once.
    let tensor = || unsafe { Tensor::from_raw(black_box(managed)) }.expect("a well-formed tensor");
    // SAFETY: a new tensor of libtorch's.
    let owned = |raw| unsafe { Torch::from_ptr(raw) };

    let case = "64 × 64";
    group.bench(case, "dlbridge", || tensor().share::<Torch>());
    group.bench(case, "dlbridge, read-only", || tensor().share::<ReadOnly<Torch>>());
    // SAFETY: as for `tensor`.
    group.bench(case, "at::fromDLPackVersioned", || owned(unsafe { bench_import(managed.as_ptr()) }));
    group.bench(case, "at::from_blob", || {
        // SAFETY: as for `tensor`.
        owned(unsafe { bench_from_blob(black_box(data), shape.as_ptr(), 2, nothing) })
    });
    let torch = Torch::zeros([64, 64], (Kind::Float, tch::Device::Cpu));
    group.bench(case, "tch's copy", || torch.copy()).note("for comparison");
}

fn main() {
    run("libtorch", &[export, import]);
}
