//! `dlbridge.from_dlpack`: any producer's object becomes a tensor.

use std::ptr;

use dlbridge_core::{CopyPolicy, Device};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyMemoryView, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, intern};

use crate::error::is_ordinary;
use crate::library::{imported, is_of};
use crate::protocol::torch::Speaker;
use crate::protocol::{capsule, exchange_api, numpy, torch};
use crate::types::PyTensor;

/// The newest version that is read.
const MAX_VERSION: (u32, u32) = (dlbridge_core::sys::DLPACK_MAJOR_VERSION, dlbridge_core::sys::DLPACK_MINOR_VERSION);

/// Takes a tensor from any object that speaks DLPack: one whose type has the C exchange API, one with `__dlpack__` of
/// any age, or a capsule; an array of numpy's own by its C struct.
///
/// Copies: as `copy` says; with [`CopyPolicy::IfNeeded`] only if the producer has to, or to bring pinned memory to the
/// CPU. GPU memory arrives ready on its legacy default stream.
///
/// Sound if capsules hold what their names say, which cannot be checked: see [what is trusted](crate#what-is-trusted).
///
/// # Errors
/// `BufferError` for what the producer or this crate cannot exchange, and for [more than
/// elements](crate#more-than-elements); `TypeError` if `object` is no tensor; `ValueError` for a consumed capsule;
/// whatever the producer raises.
pub fn from_dlpack(object: &Bound<'_, PyAny>, device: Option<Device>, copy: CopyPolicy) -> PyResult<PyTensor> {
    let py = object.py();
    if let Some(tensor) = numpy::take(object)? {
        return deliver(py, tensor, device, copy);
    }
    if let Ok(tensor) = object.cast::<PyTensor>() {
        return deliver(py, PyTensor { handle: tensor.get().handle.clone() }, device, copy);
    }
    if object.is_exact_instance_of::<PyCapsule>() {
        let tensor = PyTensor { handle: capsule::take(object, false)? };
        return deliver_foreign(py, tensor, device, copy);
    }
    let speaker = torch::speaker(object)?;
    let tensor = if device.is_none() && copy == CopyPolicy::IfNeeded {
        shared(object, speaker)?
    } else {
        with_wishes(object, device, copy)?
    };
    if speaker == Speaker::Torch {
        torch::check(object, &tensor)?;
    }
    Ok(tensor)
}

/// Whether an object offers a tensor at all, by any protocol.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr(intern!(object.py(), "__dlpack__"))? || exchange_api::is_offered(object)?)
}

/// What the keyword `copy` of the array API means.
pub(crate) fn policy(copy: Option<bool>) -> CopyPolicy {
    match copy {
        None => CopyPolicy::IfNeeded,
        Some(true) => CopyPolicy::Always,
        Some(false) => CopyPolicy::Never,
    }
}

/// The tensor on a device, and copied as `copy` says.
fn deliver(py: Python<'_>, tensor: PyTensor, device: Option<Device>, copy: CopyPolicy) -> PyResult<PyTensor> {
    Ok(tensor.delivered(py, device, copy)?.unwrap_or(tensor))
}

/// As [`deliver`], for a tensor that its producer may have copied already.
fn deliver_foreign(py: Python<'_>, tensor: PyTensor, device: Option<Device>, copy: CopyPolicy) -> PyResult<PyTensor> {
    if copy == CopyPolicy::Never && tensor.descriptor().flags().is_copied() {
        return Err(PyBufferError::new_err("the producer made a copy, and copy=False was asked for"));
    }
    deliver(py, tensor, device, copy)
}

/// The tensor by the shortest way that the object has.
fn shared(object: &Bound<'_, PyAny>, speaker: Speaker) -> PyResult<PyTensor> {
    if speaker == Speaker::Subclass {
        return plain(object);
    }
    match exchange_api::import(object) {
        Ok(Some(tensor)) => Ok(tensor),
        Ok(None) => plain(object),
        Err(error) if !is_ordinary(object.py(), &error) => Err(error),
        // `__dlpack__` may know more, if only why it cannot be.
        Err(error) if !object.hasattr(intern!(object.py(), "__dlpack__"))? => Err(error),
        Err(_) => plain(object),
    }
}

/// A tensor by `__dlpack__(max_version=…)`, or `__dlpack__()` of those that know no keyword.
fn plain(object: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    check_method(object)?;
    let capsule = Call::get(object.py())?.method(object).or_else(|error| retry(object, error))?;
    take(object, &capsule, false)
}

/// A tensor by `__dlpack__` with the keywords of the array API; made to fit, if the producer does not know them.
fn with_wishes(object: &Bound<'_, PyAny>, device: Option<Device>, copy: CopyPolicy) -> PyResult<PyTensor> {
    let py = object.py();
    check_method(object)?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), MAX_VERSION)?;
    if let Some(device) = device {
        keywords.set_item(intern!(py, "dl_device"), (device.kind().0, device.id()))?;
    }
    match copy {
        CopyPolicy::IfNeeded => {}
        copy => keywords.set_item(intern!(py, "copy"), copy == CopyPolicy::Always)?,
    }
    let (capsule, is_told) = match object.call_method(intern!(py, "__dlpack__"), (), Some(&keywords)) {
        Ok(capsule) => (capsule, true),
        Err(error) => (retry(object, error)?, false),
    };
    // A producer that knows the keyword has copied already.
    let is_done = is_told && copy == CopyPolicy::Always;
    let tensor = take(object, &capsule, is_done)?;
    deliver_foreign(py, tensor, device, if is_done { CopyPolicy::IfNeeded } else { copy })
}

/// Python looks for `__dlpack__` on the type, as for all special methods, and producers have put it on the object.
/// What `__getattr__` gives instead is that of something within the object, which knows nothing of what is around it: a
/// unit, say.
///
/// Errors: `TypeError` if there is none at all.
#[inline]
fn check_method(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let name = intern!(object.py(), "__dlpack__");
    if exchange_api::attribute(object, name)?.is_some() { Ok(()) } else { check_own(object, name) }
}

#[cold]
fn check_own(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
    let own = object.getattr_opt(intern!(object.py(), "__dict__"))?;
    if own.is_some_and(|own| own.contains(name).unwrap_or(false)) {
        return Ok(());
    }
    let class = object.get_type().fully_qualified_name()?;
    if object.hasattr(name)? {
        return Err(PyBufferError::new_err(format!(
            "{class} has no __dlpack__ but hands on that of something within it, without what is around that: \
             pass the array that it holds"
        )));
    }
    let hint = match PyMemoryView::from(object) {
        Ok(_) => ": numpy.frombuffer(x, dtype) makes an array of its memory",
        Err(_) => "",
    };
    Err(PyTypeError::new_err(format!("expected a tensor with __dlpack__, found {class}{hint}")))
}

/// The tensor in a capsule that a producer has given.
fn take(object: &Bound<'_, PyAny>, capsule: &Bound<'_, PyAny>, is_copy: bool) -> PyResult<PyTensor> {
    let is_writable = capsule::is_legacy(capsule) && (is_copy || is_mutable(object)?);
    Ok(PyTensor { handle: capsule::take(capsule, is_writable)? })
}

/// Classes whose own `__dlpack__` gives arrays that may be written whenever it gives a legacy capsule, which cannot say
/// so: torch and cupy have no others, and numpy puts no others into one.
///
/// What comes from anybody else counts as read-only, as numpy has it, too: the arrays of jax and tensorflow are
/// immutable, and such a library may use the same memory for several of them.
const MUTABLE: [(&str, &str); 3] = [("numpy", "ndarray"), ("torch", "Tensor"), ("cupy", "ndarray")];

fn is_mutable(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = intern!(object.py(), "__dlpack__");
    for (library, class) in MUTABLE {
        let Some(library) = imported(&PyString::new(object.py(), library)) else { continue };
        let Some(class) = library.getattr_opt(class)?.and_then(|class| class.cast_into::<PyType>().ok()) else {
            continue;
        };
        if is_of(object, class.as_unbound()) {
            return Ok(object.get_type().getattr(name)?.is(&class.getattr(name)?));
        }
    }
    Ok(false)
}

/// `__dlpack__()` without keywords, if that can be what the producer did not like.
#[cold]
fn retry<'py>(object: &Bound<'py, PyAny>, error: PyErr) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let name = intern!(py, "__dlpack__");
    if error.is_instance_of::<PyTypeError>(py) {
        return object.call_method0(name);
    }
    Err(error)
}

/// The call `object.__dlpack__(max_version=(1, 3))`, prepared once.
struct Call {
    name: Py<PyString>,
    keywords: Py<PyTuple>,
    version: Py<PyAny>,
    vectorcall: Option<VectorcallMethod>,
}

impl Call {
    #[inline]
    fn get(py: Python<'_>) -> PyResult<&Self> {
        static CALL: PyOnceLock<Call> = PyOnceLock::new();
        CALL.get_or_try_init(py, || {
            Ok(Self {
                name: intern!(py, "__dlpack__").clone().unbind(),
                keywords: PyTuple::new(py, [intern!(py, "max_version")])?.unbind(),
                version: MAX_VERSION.into_py_any(py)?,
                vectorcall: vectorcall_method(),
            })
        })
    }

    #[inline]
    fn method<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        let Some(vectorcall) = self.vectorcall else {
            let keywords = PyDict::new(py);
            keywords.set_item(intern!(py, "max_version"), &self.version)?;
            return object.call_method(self.name.bind(py), (), Some(&keywords));
        };
        let mut arguments = [ptr::null_mut(), object.as_ptr(), self.version.as_ptr()];
        // SAFETY: axiom *vectorcall*: one positional argument, one keyword, and a slot in front that the callee may
        // use.
        let result = unsafe {
            vectorcall(
                self.name.as_ptr(),
                arguments.as_mut_ptr().wrapping_add(1),
                1 | ARGUMENTS_OFFSET,
                self.keywords.as_ptr(),
            )
        };
        // SAFETY: a new reference, or NULL with an exception.
        unsafe { Bound::from_owned_ptr_or_err(py, result) }
    }
}

const ARGUMENTS_OFFSET: usize = 1 << (usize::BITS - 1);

/// Its arguments are the method's name, the object and what follows it, their number, and the names of the last ones.
type VectorcallMethod = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// `PyObject_VectorcallMethod`, by which a call needs no tuple and no dictionary. The limited API has it since 3.12, so
/// that a wheel for 3.11 must not be linked to it, although Python 3.11 exports it.
fn vectorcall_method() -> Option<VectorcallMethod> {
    #[cfg(unix)]
    {
        // SAFETY: a C string, and a handle that stands for the whole process.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyObject_VectorcallMethod".as_ptr()) };
        // SAFETY: NULL, or by axiom *vectorcall* a function of this type.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, Option<VectorcallMethod>>(address) }
    }
    #[cfg(not(unix))]
    None
}
