//! What the classes of several extension modules have to do with each other.
//!
//! Every extension module that is built with this crate has classes of its own, as pyo3 makes them; all have the names
//! and the methods of those of the module `dlbridge`. Their objects say so by `__class__`, which `isinstance` asks
//! where the type itself does not answer: `isinstance(x, dlbridge.Tensor)` is true for a tensor of any of these
//! modules.
//!
//! Other ways were worse: pyo3 gives classes no metaclass that could answer, an abstract class in the place of
//! `dlbridge.Tensor` would not be the class of its own tensors, and a conversion on return costs a second owner, which
//! needs the interpreter to be let go of.

use pyo3::prelude::*;
use pyo3::pyclass::PyClass;
use pyo3::types::PyType;
use pyo3::{IntoPyObjectExt, intern};

use crate::library::imported;

/// The class of the module `dlbridge` that an object stands for; its own if nobody has imported that module, who then
/// has no class to compare with, either.
pub(crate) fn class<'py, T: PyClass>(object: &Bound<'py, T>) -> PyResult<Bound<'py, PyType>> {
    let home = imported(intern!(object.py(), "dlbridge"));
    let class = home.map(|home| home.getattr_opt(T::NAME)).transpose()?.flatten();
    Ok(class.and_then(|class| class.cast_into().ok()).unwrap_or_else(|| object.as_any().get_type()))
}

/// `object == other`: what `is_equal` says if both are of the same class, or stand for the same one. Otherwise Python
/// asks the other one.
pub(crate) fn equals<'py, T: PyClass>(
    object: &Bound<'py, T>,
    other: &Bound<'py, PyAny>,
    is_equal: impl FnOnce() -> PyResult<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if other.is_instance_of::<T>() || other.is_instance(class(object)?.as_any())? {
        return is_equal()?.into_bound_py_any(py);
    }
    Ok(py.NotImplemented().into_bound(py))
}
