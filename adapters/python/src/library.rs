//! Libraries that this process has imported already: none is imported only to be asked about an object.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

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
