//! What it costs to share with burn, against burn's own copies: constant in size, and in proportion to it.

use std::hint::black_box;
use std::ptr::NonNull;

use criterion::{Criterion, criterion_group, criterion_main};
use dlbridge::burn::burn_flex::FlexTensor;
use dlbridge::burn::burn_std::{DType, TensorData};
use dlbridge::burn::burn_tensor::{Device, Tensor as Burn};
use dlbridge::{Bridge, Flags, Tensor};
use dlbridge_benches::{Ratios, is_measured, reusable_export};

/// Sizes, the large ones where they are measured.
fn sizes() -> impl Iterator<Item = (&'static str, usize)> {
    [("1K", 1 << 10), ("1M", 1 << 20), ("64M", 64 << 20)].into_iter().take(if is_measured() { 3 } else { 1 })
}

fn import(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "burn tensor of f32: import and drop");
    for (name, len) in sizes() {
        let mut memory = vec![1f32; len];
        let (mut shape, mut strides) = ([len as i64 / 32, 32], [32i64, 1]);
        let mut producer =
            reusable_export(memory.as_mut_ptr().cast(), &mut shape, &mut strides, Flags::READ_ONLY.bits());
        let managed = NonNull::from(&mut producer);
        // SAFETY: the struct and its memory outlive every tensor made of them.
        let tensor = || unsafe { Tensor::from_raw(black_box(managed)) }.expect("a well-formed tensor");
        group.bench(&format!("{name}: dlbridge, Tensor<2>"), || tensor().share::<Burn<2>>());
        group.bench(&format!("{name}: dlbridge, FlexTensor"), || tensor().share::<FlexTensor>());
        // SAFETY: as above.
        let slice = unsafe { std::slice::from_raw_parts(memory.as_ptr(), len) };
        let device = Device::flex();
        group.bench(&format!("{name}: Tensor::from_data of a slice"), || {
            let data = TensorData::new(slice.to_vec(), [len / 32, 32]);
            Burn::<2>::from_data(data, (&device, DType::F32))
        });
        if len < 64 << 20 {
            group.bench(&format!("{name}: dlbridge, and the first + 1"), || {
                tensor().share::<Burn<2>>().expect("f32") + 1.0
            });
            group.bench(&format!("{name}: from_data, and the first + 1"), || {
                let data = TensorData::new(slice.to_vec(), [len / 32, 32]);
                Burn::<2>::from_data(data, (&device, DType::F32)) + 1.0
            });
        }
    }
}

fn export(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "burn tensor of f32: export and drop");
    for (name, len) in sizes() {
        let data = TensorData::new(vec![1f32; len], [len / 32, 32]);
        let tensor = Burn::<2>::from_data(data, &Device::flex());
        group.bench(&format!("{name}: dlbridge, &Tensor<2>"), || (&tensor).share::<Tensor>());
        group.bench(&format!("{name}: burn's to_data"), || tensor.to_data());
        group.bench(&format!("{name}: Tensor::clone alone"), || tensor.clone());
    }
}

criterion_group!(benches, import, export);
criterion_main!(benches);
