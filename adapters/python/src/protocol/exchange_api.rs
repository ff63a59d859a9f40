//! The C exchange API of DLPack 1.3, used where a type has it, and offered by our own type.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use dlbridge_core::sys::{
    DLDeviceType, DLManagedTensorVersioned, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, DLPackExchangeAPI,
    DLPackExchangeAPIHeader, DLPackVersion, DLTensor,
};
use dlbridge_core::{Descriptor, Device, Error, Flags, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::is_ordinary;
use crate::handle::Handle;
use crate::types::PyTensor;

const NAME: &CStr = c"dlpack_exchange_api";

/// The tensor of an object whose type has the exchange API; `None` if it has not.
///
/// Errors: whatever the producer raises, and `BufferError` for memory of a GPU, as the functions of the API do not wait
/// for its streams. `__dlpack__` may do better in both cases.
#[inline]
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<PyTensor>> {
    let Some(table) = table_of(object)? else { return Ok(None) };
    // SAFETY: axiom *table*.
    let Some(take) = unsafe { table.as_ref() }.managed_tensor_from_py_object_no_sync else { return Ok(None) };
    let py = object.py();
    let mut managed = ptr::null_mut();
    // SAFETY: axiom *table*: attached; a live object, whose type names this table, and a place for the result.
    if unsafe { take(object.as_ptr().cast(), &mut managed) } != 0 {
        return Err(PyErr::take(py)
            .unwrap_or_else(|| PyBufferError::new_err("the producer's C exchange API failed without saying why")));
    }
    let Some(managed) = NonNull::new(managed) else {
        return Err(PyBufferError::new_err("the producer's C exchange API gave no tensor"));
    };
    // SAFETY: axiom *table*: a managed tensor that the producer has handed over.
    let tensor = PyTensor { handle: unsafe { Handle::foreign(py, managed) }? };
    let device = tensor.descriptor().device();
    if device != Device::CPU {
        return Err(PyBufferError::new_err(format!(
            "the tensor is on {device}, and the C exchange API does not wait until it is ready: {} needs a __dlpack__",
            object.get_type().fully_qualified_name()?
        )));
    }
    Ok(Some(tensor))
}

/// Whether an object's type has the exchange API.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(table_of(object)?.is_some())
}

/// The last type seen that has no exchange API, and that can never get one. It is static, so its address stays its own.
static WITHOUT: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// The exchange API of an object's type, from a capsule. DLPack 1.2 had the address as an integer, which anybody can
/// write into a class: that is not followed.
#[inline]
fn table_of(object: &Bound<'_, PyAny>) -> PyResult<Option<NonNull<DLPackExchangeAPI>>> {
    let kind = object.get_type_ptr();
    if WITHOUT.load(Ordering::Relaxed) == kind {
        return Ok(None);
    }
    let py = object.py();
    let found = attribute(object, intern!(py, "__dlpack_c_exchange_api__"))?;
    if let Some(table) = found.and_then(|found| of_capsule(&found)) {
        return Ok(Some(table));
    }
    // SAFETY: the type of a live object.
    if unsafe { ffi::PyType_GetFlags(kind) } & ffi::Py_TPFLAGS_HEAPTYPE == 0 {
        WITHOUT.store(kind, Ordering::Relaxed);
    }
    Ok(None)
}

/// An attribute of the object's type, not of the object.
#[inline]
pub(crate) fn attribute<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut found = ptr::null_mut();
    // SAFETY: attached; the type of a live object, and a place for the result.
    unsafe { ffi::compat::PyObject_GetOptionalAttr(object.get_type_ptr().cast(), name.as_ptr(), &mut found) };
    if found.is_null() {
        // Whatever a metaclass raised, `__dlpack__` may still do.
        return match PyErr::take(object.py()) {
            Some(error) if !is_ordinary(object.py(), &error) => Err(error),
            _ => Ok(None),
        };
    }
    // SAFETY: a new reference.
    Ok(Some(unsafe { Bound::from_owned_ptr(object.py(), found) }))
}

#[inline]
fn of_capsule(capsule: &Bound<'_, PyAny>) -> Option<NonNull<DLPackExchangeAPI>> {
    // SAFETY: any object may be asked.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: a valid capsule of that name.
    let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) };
    // SAFETY: axiom *table*.
    unsafe { current(NonNull::new(table)?.cast()) }
}

/// The table of our major version among this one and those that it names as older.
///
/// # Safety
/// `table` points to the header of a table that lives as long as the process, as do those that it names.
#[inline]
unsafe fn current(table: NonNull<DLPackExchangeAPIHeader>) -> Option<NonNull<DLPackExchangeAPI>> {
    let mut table = table;
    loop {
        // SAFETY: the caller's promise; DLPack has one header for all versions.
        let header = unsafe { table.as_ref() };
        if header.version.major == DLPACK_MAJOR_VERSION {
            return Some(table.cast());
        }
        table = NonNull::new(header.prev_api)?;
    }
}

/// The table of our own type.
static TABLE: Table = Table(DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader {
        version: DLPackVersion { major: DLPACK_MAJOR_VERSION, minor: DLPACK_MINOR_VERSION },
        prev_api: ptr::null_mut(),
    },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(from_py_object),
    managed_tensor_to_py_object_no_sync: Some(to_py_object),
    dltensor_from_py_object_no_sync: Some(borrow),
    current_work_stream: Some(work_stream),
});

struct Table(DLPackExchangeAPI);

// SAFETY: never changed.
unsafe impl Sync for Table {}

/// The capsule for `__dlpack_c_exchange_api__`.
pub(crate) fn capsule(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let table = ptr::from_ref(&TABLE.0).cast_mut();
    // SAFETY: attached; the table is static, as is the name.
    let capsule = unsafe { ffi::PyCapsule_New(table.cast(), NAME.as_ptr(), None) };
    // SAFETY: a new reference, or NULL with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// `managed_tensor_allocator`: a tensor of zeros in main memory.
unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    error_ctx: *mut c_void,
    set_error: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
) -> c_int {
    // SAFETY: axiom *table*: the caller has a valid prototype.
    match unsafe { zeros(prototype) } {
        Ok(tensor) => {
            // SAFETY: axiom *table*: the caller has a place for the result.
            unsafe { out.write(tensor.into_raw().as_ptr()) };
            0
        }
        Err(error) => {
            let kind = if matches!(error, Error::OutOfMemory { .. }) { c"MemoryError" } else { c"BufferError" };
            let message = CString::new(error.to_string()).unwrap_or_default();
            if let Some(set_error) = set_error {
                // SAFETY: axiom *table*: the caller's function and its context; both strings live during the call.
                unsafe { set_error(error_ctx, kind.as_ptr(), message.as_ptr()) };
            }
            -1
        }
    }
}

/// # Safety
/// `prototype` points to a tensor with as many lengths as it says; its data does not count.
unsafe fn zeros(prototype: *const DLTensor) -> Result<Tensor, Error> {
    // SAFETY: the caller's promise.
    let mut like = unsafe { prototype.read() };
    (like.data, like.strides, like.byte_offset) = (NonNull::<u128>::dangling().as_ptr().cast(), ptr::null_mut(), 0);
    // SAFETY: the caller's promise.
    let like = unsafe { Descriptor::from_raw(&like, Flags::empty()) }?;
    if like.device() != Device::CPU {
        return Err(Error::UnsupportedDevice { framework: "dlbridge", device: like.device() });
    }
    let bytes = like.nbytes();
    let write = |target: *mut u8| {
        // SAFETY: `Tensor::filled` has room for all bytes.
        unsafe { target.write_bytes(0, bytes) };
        Ok(())
    };
    // SAFETY: `write` writes all bytes, and zeros are valid elements.
    unsafe { Tensor::filled(&like, write) }
}

/// `managed_tensor_from_py_object_no_sync`.
unsafe extern "C" fn from_py_object(object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    // SAFETY: axiom *table*: the calling thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: axiom *table*: a live object.
    let object = unsafe { Borrowed::from_ptr(py, object.cast()) };
    let Ok(tensor) = object.cast::<PyTensor>() else { return not_ours() };
    let managed = tensor.get().handle.export();
    // SAFETY: axiom *table*: the caller has a place for the result.
    unsafe { out.write(managed.as_ptr()) };
    0
}

/// `managed_tensor_to_py_object_no_sync`.
unsafe extern "C" fn to_py_object(managed: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    // SAFETY: axiom *table*: the calling thread is attached.
    let py = unsafe { Python::assume_attached() };
    let taken = match NonNull::new(managed) {
        // SAFETY: axiom *table*: the caller hands over a managed tensor.
        Some(managed) => unsafe { Handle::foreign(py, managed) },
        None => Err(PyBufferError::new_err("the tensor is NULL")),
    };
    match taken.and_then(|handle| Bound::new(py, PyTensor { handle })) {
        Ok(object) => {
            // SAFETY: axiom *table*: the caller has a place for the result.
            unsafe { out.write(object.into_ptr().cast()) };
            0
        }
        Err(error) => fail(error),
    }
}

/// `dltensor_from_py_object_no_sync`.
unsafe extern "C" fn borrow(object: *mut c_void, out: *mut DLTensor) -> c_int {
    // SAFETY: axiom *table*: the calling thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: axiom *table*: a live object.
    let object = unsafe { Borrowed::from_ptr(py, object.cast()) };
    let Ok(tensor) = object.cast::<PyTensor>() else { return not_ours() };
    let described = tensor.get().descriptor();
    if described.flags().is_read_only() {
        return fail(PyBufferError::new_err("the tensor is read-only, which a borrowed DLTensor cannot say"));
    }
    if described.flags().is_padded() && described.dtype().is_sub_byte() {
        return fail(PyBufferError::new_err("the elements take a byte each, which a borrowed DLTensor cannot say"));
    }
    // SAFETY: axiom *table*: the caller has a place for the result.
    unsafe { out.write(*tensor.get().handle.as_raw()) };
    0
}

/// `current_work_stream`: none of our own, so the default one, on which GPU memory arrives.
unsafe extern "C" fn work_stream(_: DLDeviceType, _: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: axiom *table*: the caller has a place for the result.
    unsafe { out.write(ptr::null_mut()) };
    0
}

#[cold]
fn not_ours() -> c_int {
    fail(PyTypeError::new_err("expected a dlbridge.Tensor"))
}

#[cold]
fn fail(error: PyErr) -> c_int {
    Python::attach(|py| error.restore(py));
    -1
}
