//! The C++ shim, each function behind a safe or narrowly unsafe one.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use dlbridge_core::{DataType, Descriptor, Device, Error, Flags, Tensor};
use torch_sys::C_tensor;

use crate::NAME;
use crate::dtype;

/// What a tensor is, as libtorch says; mirrors `DlbridgeInfo` in shim.cpp.
#[repr(C)]
pub(crate) struct Info {
    data: *const c_void,
    shape: *const i64,
    strides: *const i64,
    ndim: i64,
    storage_data: *const c_void,
    storage_bytes: usize,
    scalar_type: i32,
    device_type: i32,
    device_index: i32,
    flags: u32,
}

const UNDEFINED: u32 = 1;
const NOT_STRIDED: u32 = 2;
const QUANTIZED: u32 = 4;
const CONJ: u32 = 8;
const NEG: u32 = 16;
const ZERO_TENSOR: u32 = 32;
const REQUIRES_GRAD: u32 = 64;
const NO_STORAGE: u32 = 128;
const SEALED: u32 = 256;
const UNIQUE: u32 = 512;

unsafe extern "C" {
    fn dlbridge_describe(tensor: *const C_tensor, info: *mut Info, error: *mut *mut c_char) -> bool;
    fn dlbridge_retain_storage(tensor: *const C_tensor, lock: bool) -> *mut c_void;
    fn dlbridge_release_storage(storage: *mut c_void);
    fn dlbridge_import(
        managed: *mut c_void,
        data: *mut c_void,
        bytes: usize,
        shape: *const i64,
        strides: *const i64,
        ndim: i64,
        scalar_type: i32,
        device_type: i32,
        device_index: i32,
        sealed: bool,
        out: *mut *mut C_tensor,
        error: *mut *mut c_char,
    ) -> bool;
    fn dlbridge_copy_to_host(tensor: *const C_tensor, target: *mut c_void, error: *mut *mut c_char) -> bool;
    fn dlbridge_clone(
        data: *mut c_void,
        shape: *const i64,
        strides: *const i64,
        ndim: i64,
        scalar_type: i32,
        device_type: i32,
        device_index: i32,
        sealed: bool,
        out: *mut *mut C_tensor,
        error: *mut *mut c_char,
    ) -> bool;
    fn dlbridge_free(text: *mut c_char);
}

/// Runs a shim function that reports failure through an error text.
fn call(body: impl FnOnce(*mut *mut c_char) -> bool) -> Result<(), Error> {
    let mut text = ptr::null_mut();
    if body(&mut text) {
        return Ok(());
    }
    let Some(text) = NonNull::new(text) else {
        return Err(framework("no memory for the message"));
    };
    // SAFETY: the shim gives a C string.
    let message = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
    let error = framework(message.lines().next().unwrap_or_default());
    drop(message);
    // SAFETY: the shim's string, not used afterwards.
    unsafe { dlbridge_free(text.as_ptr()) };
    Err(error)
}

fn framework(message: &str) -> Error {
    Error::Framework { framework: NAME, message: message.into() }
}

/// A dense tensor with a storage, as libtorch describes it; borrows from the tensor.
pub(crate) struct Dense<'a> {
    info: Info,
    tensor: &'a tch::Tensor,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
}

impl<'a> Dense<'a> {
    /// Describes a tensor, if DLPack can express it at all.
    pub(crate) fn new(tensor: &'a tch::Tensor) -> Result<Self, Error> {
        let mut info = MaybeUninit::<Info>::uninit();
        // SAFETY: `tensor` is alive; `info` is written on success.
        call(|error| unsafe { dlbridge_describe(tensor.as_ptr(), info.as_mut_ptr(), error) })?;
        // SAFETY: written, as the call succeeded.
        let info = unsafe { info.assume_init() };
        for (flag, what) in [
            (UNDEFINED, "an undefined tensor"),
            (NOT_STRIDED, "a sparse tensor or one with a layout of its own"),
            (QUANTIZED, "a quantized tensor"),
            (NO_STORAGE, "a tensor without a storage"),
        ] {
            if info.flags & flag != 0 {
                return Err(Error::Inexpressible { framework: NAME, what });
            }
        }
        if info.flags & REQUIRES_GRAD != 0 {
            return Err(Error::RequiresGrad { framework: NAME });
        }
        let device = match info.device_type {
            0 => Device::CPU,
            1 => Device::cuda(info.device_index),
            _ => {
                return Err(Error::Inexpressible { framework: NAME, what: "a tensor on this device (meta, MPS, …)" });
            }
        };
        let dtype = dtype::of_scalar_type(info.scalar_type)?;
        let dense = Self { info, tensor, dtype, device };
        dense.check_bounds()?;
        Ok(dense)
    }

    pub(crate) fn shape(&self) -> &'a [i64] {
        // SAFETY: `ndim` lengths of the tensor, which does not change while it is borrowed.
        unsafe { numbers(self.info.shape, self.info.ndim) }
    }

    pub(crate) fn strides(&self) -> &'a [i64] {
        // SAFETY: as above.
        unsafe { numbers(self.info.strides, self.info.ndim) }
    }

    pub(crate) fn data(&self) -> *const u8 {
        self.info.data.cast()
    }

    /// Its elements are computed when they are read.
    pub(crate) fn is_lazy(&self) -> bool {
        self.info.flags & (CONJ | NEG | ZERO_TENSOR) != 0
    }

    /// It shares read-only memory, and libtorch refuses to write it.
    pub(crate) fn is_sealed(&self) -> bool {
        self.info.flags & SEALED != 0
    }

    /// No other tensor, view or autograd graph refers to it.
    pub(crate) fn is_unique(&self) -> bool {
        self.info.flags & UNIQUE != 0
    }

    pub(crate) fn descriptor(&self, flags: Flags) -> Result<Descriptor<'a>, Error> {
        if self.is_lazy() {
            // An implicit zero has no memory; only type, place and shape are real.
            let nowhere = NonNull::<u128>::dangling().as_ptr().cast();
            return Descriptor::new(nowhere, self.dtype, self.device, flags, self.shape(), None);
        }
        Descriptor::new(self.data(), self.dtype, self.device, flags, self.shape(), Some(self.strides()))
    }

    /// A failed `resize_` leaves a tensor that is larger than its storage.
    fn check_bounds(&self) -> Result<(), Error> {
        let extent = self.descriptor(Flags::empty())?.extent();
        let (Some(extent), Some(itemsize), false) = (extent, self.dtype.itemsize(), self.is_lazy()) else {
            return Ok(());
        };
        let offset = (self.info.data as usize).wrapping_sub(self.info.storage_data as usize);
        let needed = offset.checked_add((extent.highest as usize + 1) * itemsize);
        if needed.is_some_and(|needed| needed <= self.info.storage_bytes) {
            return Ok(());
        }
        let (needed, available) = (offset / itemsize + extent.highest as usize + 1, self.info.storage_bytes / itemsize);
        Err(Error::OutOfStorage { framework: NAME, needed, available })
    }

    /// A reference to the storage. With `lock`, it will never be resized again.
    pub(crate) fn storage(&self, lock: bool) -> StorageHandle {
        // SAFETY: a tensor with a storage, as `new` checked.
        StorageHandle(unsafe { dlbridge_retain_storage(self.tensor.as_ptr(), lock) })
    }

    /// Writes the elements to host memory in row-major order.
    ///
    /// # Safety
    /// `target` has room for them all.
    pub(crate) unsafe fn copy_to_host(&self, target: *mut u8) -> Result<(), Error> {
        // SAFETY: the tensor is alive; the caller's promise for `target`.
        call(|error| unsafe { dlbridge_copy_to_host(self.tensor.as_ptr(), target.cast(), error) })
    }
}

/// # Safety
/// `numbers` points to `len` integers that live, unchanged, for `'a`, if `len` is not 0.
unsafe fn numbers<'a>(numbers: *const i64, len: i64) -> &'a [i64] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(numbers, len as usize) }
}

/// A counted reference to a libtorch storage.
pub(crate) struct StorageHandle(*mut c_void);

// SAFETY: the count is atomic, and the handle gives no access to the storage.
unsafe impl Send for StorageHandle {}

impl Drop for StorageHandle {
    fn drop(&mut self) {
        // SAFETY: the reference that `Dense::storage` took, given back once.
        unsafe { dlbridge_release_storage(self.0) };
    }
}

/// Where and as what libtorch is to hold foreign memory.
pub(crate) struct Target {
    pub(crate) scalar_type: i32,
    pub(crate) device: tch::Device,
}

impl Target {
    fn device(&self) -> (i32, i32) {
        match self.device {
            tch::Device::Cuda(index) => (1, index as i32),
            _ => (0, 0),
        }
    }
}

/// A libtorch tensor over the memory of `tensor`, whose strides are given anew without signs or surprises.
pub(crate) fn import(tensor: Tensor, strides: &[i64], target: &Target, sealed: bool) -> Result<tch::Tensor, Error> {
    let mut out = ptr::null_mut();
    let (device_type, device_index) = target.device();
    let descriptor = tensor.descriptor();
    let (data, shape, ndim) = (descriptor.data().cast_mut(), descriptor.shape().as_ptr(), descriptor.ndim() as i64);
    debug_assert_eq!(strides.len(), descriptor.ndim());
    let bytes = descriptor.extent().and_then(|extent| descriptor.dtype().size_of(extent.highest as usize + 1, false));
    let bytes = bytes.unwrap_or(0);
    let managed = tensor.into_raw().as_ptr().cast();
    // SAFETY: the numbers belong to `managed`, which the call takes over and whose deleter it calls once; libtorch
    // copies them first. Extent, sizes and signs are checked, so that its `noexcept` computations do not throw.
    call(|error| unsafe {
        dlbridge_import(
            managed,
            data.cast(),
            bytes,
            shape,
            strides.as_ptr(),
            ndim,
            target.scalar_type,
            device_type,
            device_index,
            sealed,
            &mut out,
            error,
        )
    })?;
    // SAFETY: a new tensor, owned by nobody else.
    Ok(unsafe { tch::Tensor::from_ptr(out) })
}

/// A tensor of libtorch's own with the elements of memory on one of its devices.
///
/// # Safety
/// The memory is readable on `target.device`; strides are not negative.
pub(crate) unsafe fn clone(
    tensor: &Descriptor<'_>,
    strides: &[i64],
    target: &Target,
    sealed: bool,
) -> Result<tch::Tensor, Error> {
    let mut out = ptr::null_mut();
    let (device_type, device_index) = target.device();
    // SAFETY: checked numbers that outlive the call; the caller's promise for the memory.
    call(|error| unsafe {
        dlbridge_clone(
            tensor.data().cast_mut().cast(),
            tensor.shape().as_ptr(),
            strides.as_ptr(),
            tensor.ndim() as i64,
            target.scalar_type,
            device_type,
            device_index,
            sealed,
            &mut out,
            error,
        )
    })?;
    // SAFETY: a new tensor, owned by nobody else.
    Ok(unsafe { tch::Tensor::from_ptr(out) })
}
