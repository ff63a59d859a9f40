//! Libraries that this process has imported already, and objects of their classes: none is imported only to be asked
//! about an object.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// A library, unless nobody has imported it yet.
#[inline]
pub(crate) fn imported<'py>(name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    let py = name.py();
    // SAFETY: attached, as `name` shows, and a string.
    let found = unsafe { ffi::PyImport_GetModule(name.as_ptr()) };
    // SAFETY: a new reference or NULL.
    let module = unsafe { Bound::from_owned_ptr_or_opt(py, found) };
    if module.is_none() {
        // Somebody may have put anything into the place of `sys.modules`.
        let _ = PyErr::take(py);
    }
    // `sys.modules` holds `None` for what must not be imported.
    module.filter(|module| !module.is_none())
}

/// Whether an object really is of a class or of a subclass, whatever it or a metaclass says.
#[inline]
pub(crate) fn is_of(object: &Bound<'_, PyAny>, class: &Py<PyType>) -> bool {
    // SAFETY: attached, as `object` shows; a live object and a class.
    unsafe { ffi::PyObject_TypeCheck(object.as_ptr(), class.as_ptr().cast()) != 0 }
}
