//! A tensor from C: a struct with a deleter, as a library with a C interface gives it.

use std::error::Error;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use dlbridge::sys::{DLDataType, DLDevice, DLManagedTensor, DLTensor};
use dlbridge::{Bridge, DataType, Device, Tensor, tch};

/// What the library keeps for as long as the tensor lives.
struct Kept {
    shape: [i64; 2],
    elements: [f32; 6],
}

extern "C" fn delete(managed: *mut DLManagedTensor) {
    println!("the producer frees its memory");
    // SAFETY: called once, with what `produce` has made.
    let managed = unsafe { Box::from_raw(managed) };
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(managed.manager_ctx.cast::<Kept>()) });
}

/// What would be the library's function.
extern "C" fn produce() -> *mut DLManagedTensor {
    let kept = Box::into_raw(Box::new(Kept { shape: [2, 3], elements: [0., 1., 2., 3., 4., 5.] }));
    // SAFETY: just made, and not freed before the deleter runs.
    let (data, shape) = unsafe { (&raw mut (*kept).elements, &raw mut (*kept).shape) };
    Box::into_raw(Box::new(DLManagedTensor {
        dl_tensor: DLTensor {
            data: data.cast::<c_void>(),
            device: DLDevice::from(Device::CPU),
            ndim: 2,
            dtype: DLDataType::from(DataType::FLOAT32),
            shape: shape.cast(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        },
        manager_ctx: kept.cast(),
        deleter: Some(delete),
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let managed = NonNull::new(produce()).ok_or("the producer has no tensor")?;
    // SAFETY: a well-formed tensor, which nobody else uses; its deleter may run on any thread.
    let tensor = unsafe { Tensor::from_legacy_raw(managed) }?;
    let torch: tch::Tensor = tensor.share()?;
    println!("{:?}, the sum is {}", torch.size(), torch.sum(tch::Kind::Float).double_value(&[]));
    assert_eq!(torch.double_value(&[1, 2]), 5.);
    drop(torch); // Here the deleter runs.
    Ok(())
}
