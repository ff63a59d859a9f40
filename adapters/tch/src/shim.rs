//! Safe, or narrowly unsafe, functions around those of the C++ shim.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use dlbridge_core::layout::Dims;
use dlbridge_core::sys::DLTensor;
use dlbridge_core::{DataType, Descriptor, Device, Error, Flags, Tensor};
use torch_sys::C_tensor;

use crate::NAME;
use crate::dtype;

/// What libtorch says of a tensor. The fields are those of `DlbridgeInfo` in shim.cpp.
#[repr(C)]
pub(crate) struct Info {
    data: *const c_void,
    shape: *const i64,
    strides: *const i64,
    ndim: i64,
    needed_bytes: u64,
    storage_bytes: u64,
    scalar_type: i32,
    device_type: i32,
    device_index: i32,
    flags: u32,
}

impl Info {
    #[inline]
    fn device(&self) -> Result<Device, Error> {
        match self.device_type {
            0 => Ok(Device::CPU),
            1 => Ok(Device::cuda(self.device_index)),
            _ => Err(Error::Inexpressible { framework: NAME, what: "a tensor on this device (meta, MPS, …)" }),
        }
    }

    /// Checks that the tensor lies within its storage: a failed `resize_` leaves a tensor that does not. A zero tensor,
    /// which libtorch keeps without any memory, passes.
    #[inline]
    fn check_storage(&self, dtype: DataType) -> Result<(), Error> {
        if self.needed_bytes <= self.storage_bytes || self.flags & ZERO_TENSOR != 0 {
            return Ok(());
        }
        let itemsize = dtype.itemsize().unwrap_or(1);
        let (needed, available) = (self.needed_bytes as usize / itemsize, self.storage_bytes as usize / itemsize);
        Err(Error::OutOfStorage { framework: NAME, needed, available })
    }
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
const OVERFLOW: u32 = 512;
const COPY_ON_WRITE: u32 = 1024;

unsafe extern "C" {
    fn dlbridge_describe(tensor: *const C_tensor, info: *mut Info, error: &mut Message) -> bool;
    fn dlbridge_is_unique(tensor: *const C_tensor) -> bool;
    fn dlbridge_retain(tensor: *const C_tensor, sealed: bool) -> *mut c_void;
    fn dlbridge_release(owner: *mut c_void, sealed: bool);
    fn dlbridge_import(
        managed: *mut c_void,
        memory: *const Memory,
        sealed: bool,
        out: *mut *mut C_tensor,
        error: &mut Message,
    ) -> bool;
    fn dlbridge_unseal(tensor: *const C_tensor, out: *mut *mut C_tensor, error: &mut Message) -> bool;
    fn dlbridge_copy_to_host(
        tensor: *const C_tensor,
        shape: *const i64,
        ndim: i64,
        target: *mut c_void,
        error: &mut Message,
    ) -> bool;
    fn dlbridge_clone(memory: *const Memory, out: *mut *mut C_tensor, error: &mut Message) -> bool;
    fn dlbridge_free(text: *mut c_char);
}

/// A place for the text of an error.
///
/// # Invariants
/// 1. *ours*: it holds a C string that the shim has made and nobody else has, or nothing. Only the shim fills it.
#[repr(transparent)]
struct Message(Option<NonNull<c_char>>);

impl Message {
    #[cold]
    fn to_error(&self) -> Error {
        // SAFETY: a C string, by invariant *ours*.
        let text = self.0.map(|text| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy());
        let message = text.as_deref().map_or("no memory for the message", |text| text.lines().next().unwrap_or(""));
        Error::Framework { framework: NAME, message: message.into() }
    }
}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        if let Some(text) = self.0 {
            // SAFETY: a text of the shim's, which is this one's alone, by invariant *ours*.
            unsafe { dlbridge_free(text.as_ptr()) };
        }
    }
}

/// Runs a shim function that reports failure through an error text.
#[inline]
fn call(body: impl FnOnce(&mut Message) -> bool) -> Result<(), Error> {
    let mut message = Message(None);
    match body(&mut message) {
        true => Ok(()),
        false => Err(message.to_error()),
    }
}

/// A dense tensor with a storage, as libtorch describes it.
///
/// # Invariants
/// 1. *described*: the tensor is as `info` says, and the numbers that `info` points to are in it (axiom *metadata*).
///    Another handle could change all of that in place, so no code of others runs as long as this lives.
pub(crate) struct Dense<'a> {
    info: &'a Info,
    tensor: &'a tch::Tensor,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
}

impl Dense<'_> {
    /// Calls `read` with the description of a tensor, if DLPack can express the tensor at all. The description is
    /// borrowed and not returned, because moving it just after libtorch has written it would stall the processor.
    ///
    /// # Safety
    /// `read` runs no code of others while it has the [`Dense`]; [`Dense::describe`] takes it away.
    #[inline(always)]
    pub(crate) unsafe fn read<R>(
        tensor: &tch::Tensor,
        read: impl FnOnce(Dense<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut info = MaybeUninit::<Info>::uninit();
        // SAFETY: a live tensor (axiom *handle*); `info` is written on success.
        call(|error| unsafe { dlbridge_describe(tensor.as_ptr(), info.as_mut_ptr(), error) })?;
        // SAFETY: written, as the call succeeded.
        let info = unsafe { info.assume_init_ref() };
        refuse(info.flags)?;
        let device = info.device()?;
        let dtype = dtype::of_scalar_type(info.scalar_type)?;
        info.check_storage(dtype)?;
        read(Dense { info, tensor, dtype, device })
    }

    #[inline]
    pub(crate) fn shape(&self) -> &[i64] {
        // SAFETY: by invariant *described* there are as many lengths as axes, which stay as long as `self` lives.
        unsafe { numbers(self.info.shape, self.info.ndim) }
    }

    pub(crate) fn strides(&self) -> &[i64] {
        // SAFETY: as in `shape`, for the strides.
        unsafe { numbers(self.info.strides, self.info.ndim) }
    }

    pub(crate) fn data(&self) -> *const u8 {
        self.info.data.cast()
    }

    /// Whether its elements are computed only when they are read.
    pub(crate) fn is_lazy(&self) -> bool {
        self.info.flags & (CONJ | NEG | ZERO_TENSOR) != 0
    }

    /// Whether its storage is copy-on-write: libtorch may move it when it asks for a writable pointer, even only to
    /// read.
    pub(crate) fn is_copy_on_write(&self) -> bool {
        self.info.flags & COPY_ON_WRITE != 0
    }

    /// Whether its memory was imported to be read only, so that nobody writes it.
    pub(crate) fn is_sealed(&self) -> bool {
        self.info.flags & SEALED != 0
    }

    /// Whether no other tensor, view or autograd graph refers to it.
    pub(crate) fn is_unique(&self) -> bool {
        // The shim would ask the allocator of the storage, which for a zero tensor does not live as long as the tensor.
        // SAFETY: a live, dense tensor, by invariant *described*.
        !self.is_lazy() && unsafe { dlbridge_is_unique(self.tensor.as_ptr()) }
    }

    /// Calls `read` with a description that stays the same even if the tensor changes.
    pub(crate) fn describe<R>(self, flags: Flags, read: impl FnOnce(&Descriptor<'_>) -> R) -> Result<R, Error> {
        let shape: Dims = self.shape().iter().copied().collect();
        let strides: Dims = self.strides().iter().copied().collect();
        let described = if self.is_lazy() {
            // A zero tensor has no memory: only type, device and shape are real.
            let nowhere = NonNull::<u128>::dangling().as_ptr().cast();
            Descriptor::new(nowhere, self.dtype, self.device, flags, &shape, None)
        } else {
            Descriptor::new(self.data(), self.dtype, self.device, flags, &shape, Some(&strides))
        };
        described.map(|tensor| read(&tensor))
    }

    /// A new reference to the owner of the memory.
    pub(crate) fn retain(&self) -> Owner {
        let sealed = self.is_sealed();
        // SAFETY: a live tensor with a storage of this kind, by invariant *described*.
        Owner { raw: unsafe { dlbridge_retain(self.tensor.as_ptr(), sealed) }, sealed }
    }

    /// Another tensor over the memory of a sealed one, or another handle to one that is not.
    pub(crate) fn unseal(&self) -> Result<tch::Tensor, Error> {
        if !self.is_sealed() {
            return Ok(self.tensor.shallow_clone());
        }
        // SAFETY: a live tensor that is sealed, by invariant *described*.
        let unsealed = |out, error: &mut _| unsafe { dlbridge_unseal(self.tensor.as_ptr(), out, error) };
        // SAFETY: the new tensor is nobody else's.
        unsafe { made(unsealed) }
    }
}

/// Writes the elements of a tensor to host memory in row-major order. One of another shape is refused.
///
/// # Safety
/// `target` has room for elements of the tensor's type in this shape.
pub(crate) unsafe fn copy_to_host(tensor: &tch::Tensor, shape: &[i64], target: *mut u8) -> Result<(), Error> {
    let (tensor, ndim) = (tensor.as_ptr(), shape.len() as i64);
    // SAFETY: a live tensor (axiom *handle*); the caller's promise for `target`.
    call(|error| unsafe { dlbridge_copy_to_host(tensor, shape.as_ptr(), ndim, target.cast(), error) })
}

/// Refuses what DLPack cannot express.
fn refuse(flags: u32) -> Result<(), Error> {
    if flags & (UNDEFINED | NOT_STRIDED | QUANTIZED | NO_STORAGE | REQUIRES_GRAD | OVERFLOW) == 0 {
        return Ok(());
    }
    if flags & OVERFLOW != 0 {
        return Err(Error::Overflow { quantity: "element count" });
    }
    let reasons = [
        (UNDEFINED, "an undefined tensor"),
        (NOT_STRIDED, "a sparse tensor or one with a layout of its own"),
        (QUANTIZED, "a quantized tensor"),
        (NO_STORAGE, "a tensor without a storage"),
    ];
    match reasons.into_iter().find(|(flag, _)| flags & flag != 0) {
        Some((_, what)) => Err(Error::Inexpressible { framework: NAME, what }),
        None => Err(Error::RequiresGrad { framework: NAME }),
    }
}

/// # Safety
/// `numbers` points to `len` integers that live for `'a`, if `len` is not 0.
unsafe fn numbers<'a>(numbers: *const i64, len: i64) -> &'a [i64] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(numbers, len as usize) }
}

/// A counted reference to the owner of a tensor's memory: its storage, or what a sealed storage was made from.
pub(crate) struct Owner {
    raw: *mut c_void,
    sealed: bool,
}

// SAFETY: the reference gives no access to the memory, and can be given back on any thread (axiom *counts*).
unsafe impl Send for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: the reference that `Dense::retain` took, given back once (axiom *counts*).
        unsafe { dlbridge_release(self.raw, self.sealed) };
    }
}

/// The scalar type, alignment and device with which libtorch is to hold foreign memory.
pub(crate) struct Target {
    pub(crate) scalar_type: i32,
    /// The alignment that the elements need, in bytes.
    pub(crate) align: usize,
    pub(crate) device: tch::Device,
}

/// Memory over which libtorch makes a tensor. The fields are those of `DlbridgeMemory` in shim.cpp.
#[repr(C)]
struct Memory {
    data: *mut c_void,
    shape: *const i64,
    strides: *const i64,
    ndim: i64,
    scalar_type: i32,
    device_type: i32,
    device_index: i32,
}

impl Memory {
    /// The memory of a tensor whose `byte_offset` is 0.
    fn new(tensor: &DLTensor, target: &Target) -> Self {
        let (device_type, device_index) = match target.device {
            tch::Device::Cuda(index) => (1, index as i32),
            _ => (0, 0),
        };
        Self {
            data: tensor.data,
            shape: tensor.shape,
            strides: tensor.strides,
            ndim: tensor.ndim.into(),
            scalar_type: target.scalar_type,
            device_type,
            device_index,
        }
    }
}

/// A libtorch tensor over the memory of `tensor`.
///
/// # Safety
/// 1. `target` is for the type and the device of `tensor`, whose elements are aligned to it.
/// 2. No axis longer than 1 has a negative stride, unless there are no elements.
/// 3. If the tensor is marked as read-only, or others use the gaps between its elements, `sealed` is true.
pub(crate) unsafe fn import(tensor: Tensor, target: &Target, sealed: bool) -> Result<tch::Tensor, Error> {
    let managed = tensor.into_raw();
    // SAFETY: alive until the call takes it over; `into_raw` leaves no `byte_offset`.
    let memory = Memory::new(unsafe { &managed.as_ref().dl_tensor }, target);
    let managed = managed.as_ptr().cast();
    // SAFETY: the call takes over `managed`, whose deleter runs once (axiom *deleter*), and copies the numbers first. A
    // `Tensor` has checked them, so that nothing overflows; the caller's promise for the rest.
    let imported = |out, error: &mut _| unsafe { dlbridge_import(managed, &memory, sealed, out, error) };
    // SAFETY: the new tensor is nobody else's.
    unsafe { made(imported) }
}

/// A tensor in libtorch's own memory, with a copy of the elements of memory on one of its devices.
///
/// # Safety
/// The memory is readable on `target.device`; no stride is negative, not even on axes of length 1.
pub(crate) unsafe fn clone(tensor: &Descriptor<'_>, target: &Target) -> Result<tch::Tensor, Error> {
    let memory = Memory::new(&tensor.to_raw(), target);
    // SAFETY: checked numbers that outlive the call; the caller's promise for the memory.
    let cloned = |out, error: &mut _| unsafe { dlbridge_clone(&memory, out, error) };
    // SAFETY: the new tensor is nobody else's.
    unsafe { made(cloned) }
}

/// Runs a shim function that makes a tensor.
///
/// # Safety
/// If `body` gives true, it has written a tensor that nobody else owns.
unsafe fn made(body: impl FnOnce(*mut *mut C_tensor, &mut Message) -> bool) -> Result<tch::Tensor, Error> {
    let mut tensor = ptr::null_mut();
    call(|error| body(&mut tensor, error))?;
    // SAFETY: the caller's promise.
    Ok(unsafe { tch::Tensor::from_ptr(tensor) })
}
