//! Shared ownership of a tensor by the Python object and every capsule that it has given out.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use dlbridge_core::sys::{DLManagedTensor, DLManagedTensorVersioned};
use dlbridge_core::{Aliased, DataType, Error, Tensor};
use pyo3::{Python, ffi};

/// One of the owners of a tensor. Dropping the last one frees the tensor, on whatever thread that happens.
#[derive(Clone)]
pub(crate) struct Handle(ManuallyDrop<Arc<Shared>>);

struct Shared {
    tensor: Aliased,
    /// Whether the deleter is a Python producer's, which may run Python code.
    is_foreign: bool,
}

impl Handle {
    /// A tensor of a Python producer.
    #[inline]
    pub(crate) fn foreign(tensor: Aliased) -> Self {
        Self::new(Shared { tensor, is_foreign: true })
    }

    fn new(shared: Shared) -> Self {
        Self(ManuallyDrop::new(Arc::new(shared)))
    }

    /// The tensor, if this is its only owner.
    pub(crate) fn into_only(self) -> Result<Aliased, Self> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, and not used again but to be filled anew.
        let shared = unsafe { ManuallyDrop::take(&mut this.0) };
        match Arc::try_unwrap(shared) {
            Ok(shared) => Ok(shared.tensor),
            Err(shared) => Err(Self(ManuallyDrop::new(shared))),
        }
    }
}

/// Exports: each holds a handle of its own. Who may write goes with the tensor's flags, as Python has it: whoever writes
/// knows of those who read.
impl Handle {
    /// For a consumer of the versioned ABI. `Copies: never`.
    #[inline]
    pub(crate) fn export(self) -> NonNull<DLManagedTensorVersioned> {
        // SAFETY: the handle keeps the tensor.
        unsafe { Aliased::export(self, |handle| handle) }
    }

    /// For a consumer of the legacy ABI. `Copies: never`.
    pub(crate) fn export_legacy(self) -> Result<NonNull<DLManagedTensor>, Error> {
        // SAFETY: as above.
        unsafe { Aliased::export_legacy(self, |handle| handle) }
    }

    /// A tensor of its own over the same memory, which keeps the handle.
    pub(crate) fn reexport(self) -> Aliased {
        let managed = self.export();
        // SAFETY: ours, well-formed, and used nowhere else.
        unsafe { Aliased::from_raw(managed) }.expect("made of a valid tensor")
    }

    /// As [`Handle::reexport`], with the bytes of every element read as another type.
    ///
    /// # Panics
    /// If an element of that type has another size.
    pub(crate) fn retyped(self, dtype: DataType) -> Self {
        let mut managed = {
            let (tensor, size) = (self.descriptor(), |dtype: DataType, padded| dtype.size_of(1, padded));
            assert_eq!(size(tensor.dtype(), tensor.flags().is_padded()), size(dtype, false), "elements of one size");
            self.export()
        };
        // SAFETY: just made, and ours.
        unsafe { managed.as_mut() }.dl_tensor.dtype = dtype.into();
        // SAFETY: ours, and as well-formed as before, with elements of the same size.
        let tensor = unsafe { Aliased::from_raw(managed) }.expect("made of a valid tensor");
        Self::new(Shared { tensor, is_foreign: false })
    }

    /// Whether the deleter is a Python producer's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.0.is_foreign
    }
}

impl From<Tensor> for Handle {
    fn from(tensor: Tensor) -> Self {
        Self::new(Shared { tensor: tensor.into(), is_foreign: false })
    }
}

impl Deref for Handle {
    type Target = Aliased;

    #[inline]
    fn deref(&self) -> &Aliased {
        &self.0.tensor
    }
}

impl Drop for Handle {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: never used again.
        let shared = unsafe { ManuallyDrop::take(&mut self.0) };
        if let Some(Shared { tensor, is_foreign: true }) = Arc::into_inner(shared) {
            release(tensor);
        }
    }
}

/// Calls a Python producer's deleter, or leaks the tensor if there is no interpreter any more.
fn release(tensor: Aliased) {
    let tensor = ManuallyDrop::new(tensor);
    let _: Option<()> = Python::try_attach(|py| {
        let pending = Pending::set_aside(py);
        drop(ManuallyDrop::into_inner(tensor));
        drop(pending);
    });
}

/// The exception that was pending, put back when this is dropped, in place of whatever came up meanwhile.
struct Pending<'py> {
    kind: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    traceback: *mut ffi::PyObject,
    _attached: Python<'py>,
}

impl<'py> Pending<'py> {
    fn set_aside(py: Python<'py>) -> Self {
        let mut this =
            Self { kind: ptr::null_mut(), value: ptr::null_mut(), traceback: ptr::null_mut(), _attached: py };
        // SAFETY: attached.
        unsafe { ffi::PyErr_Fetch(&mut this.kind, &mut this.value, &mut this.traceback) };
        this
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        // SAFETY: attached, and the references are those that were fetched.
        unsafe { ffi::PyErr_Restore(self.kind, self.value, self.traceback) };
    }
}
