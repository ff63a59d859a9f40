//! What a tensor of torch is besides its elements, and what its protocols leave out: torch is asked, and what would
//! arrive as something else is refused, as torch's own `numpy()` refuses it.

use dlbridge_core::DataTypeCode;
use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::library::{imported, is_of};
use crate::types::PyTensor;

/// Who says what an object is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// Its type: it is no tensor of torch's.
    Type,
    /// torch, whose protocols do not say all: see [`check`].
    Torch,
    /// A `__dlpack__` of its own. The C exchange API, which its class inherits from torch's, knows less.
    Subclass,
}

/// Who says what an object is.
#[inline]
pub(crate) fn speaker(object: &Bound<'_, PyAny>) -> PyResult<Speaker> {
    let py = object.py();
    let Some(torch) = Torch::get(py)? else { return Ok(Speaker::Type) };
    if object.get_type_ptr().cast() == torch.tensor.as_ptr() {
        return Ok(Speaker::Torch);
    }
    if !is_of(object, &torch.tensor) {
        return Ok(Speaker::Type);
    }
    let is_inherited = object.get_type().getattr(intern!(py, "__dlpack__"))?.is(&torch.method);
    Ok(if is_inherited { Speaker::Torch } else { Speaker::Subclass })
}

/// Refuses a tensor of torch's that is not what its memory holds. torch itself exports no conjugate view and nothing
/// that requires grad by `__dlpack__`, but both by its C exchange API, and negated views by either.
pub(crate) fn check(object: &Bound<'_, PyAny>, tensor: &PyTensor) -> PyResult<()> {
    let py = object.py();
    let is = |method| object.call_method0(method)?.is_truthy();
    let (what, instead) = if object.getattr(intern!(py, "requires_grad"))?.is_truthy()? {
        ("requires grad, which DLPack cannot say", "detach")
    } else if is(intern!(py, "is_neg"))? {
        ("is a negated view, whose memory has the opposite signs", "resolve_neg")
    } else if tensor.descriptor().dtype().code() == DataTypeCode::COMPLEX && is(intern!(py, "is_conj"))? {
        ("is a conjugate view, whose memory has the opposite signs", "resolve_conj")
    } else {
        return Ok(());
    };
    Err(PyBufferError::new_err(format!("the tensor of torch {what}: pass x.{instead}()")))
}

/// What torch says of itself, asked once.
struct Torch {
    tensor: Py<PyType>,
    /// The `__dlpack__` of `tensor`: subclasses that have no other leave it to torch.
    method: Py<PyAny>,
}

impl Torch {
    /// `None` if nobody has imported torch yet.
    #[inline]
    fn get(py: Python<'_>) -> PyResult<Option<&'static Self>> {
        static TORCH: PyOnceLock<Torch> = PyOnceLock::new();
        match TORCH.get(py) {
            None => Ok(Self::ask(py)?.map(|torch| TORCH.get_or_init(py, || torch))),
            torch => Ok(torch),
        }
    }

    fn ask(py: Python<'_>) -> PyResult<Option<Self>> {
        let Some(torch) = imported(intern!(py, "torch")) else { return Ok(None) };
        // Half of it may be missing, while it is being imported; and another module may have that name.
        let Some(tensor) = torch.getattr_opt(intern!(py, "Tensor"))? else { return Ok(None) };
        let Some(method) = tensor.getattr_opt(intern!(py, "__dlpack__"))? else { return Ok(None) };
        let tensor = tensor.cast_into::<PyType>().ok();
        Ok(tensor.map(|tensor| Self { tensor: tensor.unbind(), method: method.unbind() }))
    }
}
