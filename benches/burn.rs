//! What it costs to share with burn, which is the same for every size, against burn's own copies.

use std::hint::black_box;
use std::ptr::NonNull;

use dlbridge::burn::burn_flex::FlexTensor;
use dlbridge::burn::burn_std::{DType, TensorData};
use dlbridge::burn::burn_tensor::{Device, Tensor as Burn};
use dlbridge::{Bridge, Flags, Tensor};
use dlbridge_benches::allocations::Counting;
use dlbridge_benches::producer::reusable_export;
use dlbridge_benches::{Group, Session, run, sizes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn import(session: &mut Session) {
    let mut group = Group::against_floor(session, "burn tensor of f32: import and drop");
    for (name, len) in sizes() {
        let mut memory = vec![1f32; len];
        let (mut shape, mut strides) = ([len as i64 / 32, 32], [32i64, 1]);
        let mut producer =
            reusable_export(memory.as_mut_ptr().cast(), &mut shape, &mut strides, Flags::READ_ONLY.bits());
        let managed = NonNull::from(&mut producer);
        // SAFETY: the struct and its memory outlive every tensor made of them.
        let tensor = || unsafe { Tensor::from_raw(black_box(managed)) }.expect("a well-formed tensor");
        // SAFETY: as above.
        let slice = unsafe { std::slice::from_raw_parts(memory.as_ptr(), len) };
        let device = Device::flex();
        let shared = || tensor().share::<Burn<2>>().expect("f32");
        let copied = || {
            let data = TensorData::new(slice.to_vec(), [len / 32, 32]);
            Burn::<2>::from_data(data, (&device, DType::F32))
        };
        group.bench(name, "dlbridge", shared);
        group.bench(name, "dlbridge, FlexTensor", || tensor().share::<FlexTensor>());
        group.bench(name, "Tensor::from_data", copied);
        if len < 64 << 20 {
            // The first operation in place copies what is shared.
            let name = format!("{name}, then + 1");
            group.bench(&name, "dlbridge", || shared() + 1.0);
            group.bench(&name, "Tensor::from_data", || copied() + 1.0);
        }
    }
}

fn export(session: &mut Session) {
    let mut group = Group::against_floor(session, "burn tensor of f32: export and drop");
    for (name, len) in sizes() {
        let data = TensorData::new(vec![1f32; len], [len / 32, 32]);
        let tensor = Burn::<2>::from_data(data, &Device::flex());
        group.bench(name, "dlbridge", || (&tensor).share::<Tensor>());
        group.bench(name, "to_data", || tensor.to_data());
        group.bench(name, "Tensor::clone", || tensor.clone()).note("for comparison");
    }
}

fn main() {
    run("burn", &[import, export]);
}
