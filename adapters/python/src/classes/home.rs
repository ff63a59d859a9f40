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

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::PyClass;
use pyo3::types::PyType;

use crate::library::imported;

/// The class of the module `dlbridge` that an object stands for; its own if nobody has imported that module, who then
/// has no class to compare with, either.
pub(crate) fn class<'py, T: PyClass>(object: &Bound<'py, T>) -> PyResult<Bound<'py, PyType>> {
    let home = imported(intern!(object.py(), "dlbridge"));
    let class = home.map(|home| home.getattr_opt(T::NAME)).transpose()?.flatten();
    Ok(class.and_then(|class| class.cast_into().ok()).unwrap_or_else(|| object.as_any().get_type()))
}

/// Whether another object is of the same class, or stands for the same one.
pub(crate) fn is_same<T: PyClass>(object: &Bound<'_, T>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(other.is_instance_of::<T>() || other.is_instance(class(object)?.as_any())?)
}
