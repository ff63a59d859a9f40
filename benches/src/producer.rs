//! A DLPack producer that costs nothing, for benches of imports.

use std::ffi::c_void;
use std::ptr;

use dlbridge::sys::{
    DLDataType, DLDevice, DLManagedTensorVersioned, DLPACK_MAJOR_VERSION, DLPackVersion, DLTensor, kDLCPU, kDLFloat,
};

/// A `float32` matrix over memory that the caller keeps. Its deleter does nothing, so it can be imported again and
/// again.
pub fn reusable_export(
    data: *mut c_void,
    shape: &mut [i64; 2],
    strides: &mut [i64; 2],
    flags: u64,
) -> DLManagedTensorVersioned {
    unsafe extern "C" fn keep(_: *mut DLManagedTensorVersioned) {}
    DLManagedTensorVersioned {
        version: DLPackVersion { major: DLPACK_MAJOR_VERSION, minor: 0 },
        manager_ctx: ptr::null_mut(),
        deleter: Some(keep),
        flags,
        dl_tensor: DLTensor {
            data,
            device: DLDevice { device_type: kDLCPU, device_id: 0 },
            ndim: 2,
            dtype: DLDataType { code: kDLFloat, bits: 32, lanes: 1 },
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        },
    }
}
