//! What it costs to share with burn, against burn's own copies: constant in size, and in proportion to it.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{self, NonNull};

use criterion::{Criterion, criterion_group, criterion_main};
use dlbridge::burn::burn_flex::FlexTensor;
use dlbridge::burn::burn_std::{DType, TensorData};
use dlbridge::burn::burn_tensor::{Device, Tensor as Burn};
use dlbridge::sys::{
    DLDataType, DLDevice, DLManagedTensorVersioned, DLPACK_MAJOR_VERSION, DLPackVersion, DLTensor, kDLCPU, kDLFloat,
};
use dlbridge::{Bridge, Flags, Tensor};
use dlbridge_benches::{Ratios, is_measured};

/// Sizes, the large ones where they are measured.
fn sizes() -> impl Iterator<Item = (&'static str, usize)> {
    [("1K", 1 << 10), ("1M", 1 << 20), ("64M", 64 << 20)].into_iter().take(if is_measured() { 3 } else { 1 })
}

unsafe extern "C" fn keep(_: *mut DLManagedTensorVersioned) {}

fn import(criterion: &mut Criterion) {
    let mut group = Ratios::new(criterion, "burn tensor of f32: import and drop");
    for (name, len) in sizes() {
        let mut memory = vec![1f32; len];
        let (mut shape, mut strides) = ([len as i64 / 32, 32], [32i64, 1]);
        // A producer that costs nothing: one struct, used again and again, without a deleter.
        let mut producer = DLManagedTensorVersioned {
            version: DLPackVersion { major: DLPACK_MAJOR_VERSION, minor: 0 },
            manager_ctx: ptr::null_mut(),
            deleter: Some(keep),
            flags: Flags::READ_ONLY.bits(),
            dl_tensor: DLTensor {
                data: memory.as_mut_ptr().cast::<c_void>(),
                device: DLDevice { device_type: kDLCPU, device_id: 0 },
                ndim: 2,
                dtype: DLDataType { code: kDLFloat, bits: 32, lanes: 1 },
                shape: shape.as_mut_ptr(),
                strides: strides.as_mut_ptr(),
                byte_offset: 0,
            },
        };
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
