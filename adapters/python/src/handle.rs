//! Ownership of a tensor: by the Python object alone, and from its first export on by every capsule that it has given
//! out.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

use dlbridge_core::sys::{DLManagedTensor, DLManagedTensorVersioned};
use dlbridge_core::{Aliased, DataType, Error};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCFunction;
use pyo3::{Python, ffi};

use crate::error::into_py_err;

/// A tensor, and how it is let go.
///
/// # Invariants
/// 1. *once*: the tensor is dropped once, by `Drop`, or moved out before.
struct Owner {
    tensor: ManuallyDrop<Aliased>,
    /// Whether the deleter is a Python producer's, which may run Python code.
    is_foreign: bool,
}

impl Drop for Owner {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: by invariant *once* it is still there, and this is the one time.
        let tensor = unsafe { ManuallyDrop::take(&mut self.tensor) };
        if self.is_foreign {
            release(tensor);
        }
    }
}

/// The owner of a tensor, shared once there is somebody to share it with: most tensors go through Python untouched.
///
/// # Invariants
/// 1. *single*: `only` is the owner until `shared` is filled with what it held; from then on it is a copy that owns
///    nothing. What it points to lives as long as this in both cases.
pub(crate) struct Handle {
    only: ManuallyDrop<Owner>,
    shared: OnceLock<Arc<Owner>>,
}

impl Handle {
    /// Takes over a managed tensor of a Python producer's.
    ///
    /// Whatever the outcome, the tensor is consumed: on an error its deleter has run. `Copies: never`.
    ///
    /// # Safety
    /// As [`Aliased::from_raw`] has it, but for the deleter: threads that are attached to the interpreter may call it.
    #[inline]
    pub(crate) unsafe fn foreign(py: Python<'_>, managed: NonNull<DLManagedTensorVersioned>) -> PyResult<Self> {
        // SAFETY: the caller's promise; the deleter is called by this thread, which is attached, or by `release`, as
        // the tensor leaves this file in no other way than with its owner.
        Self::held(py, unsafe { Aliased::from_raw(managed) })
    }

    /// As [`Handle::foreign`], of the legacy ABI. That cannot say who may write, so the caller does.
    ///
    /// # Safety
    /// As [`Handle::foreign`].
    pub(crate) unsafe fn foreign_legacy(
        py: Python<'_>,
        managed: NonNull<DLManagedTensor>,
        is_writable: bool,
    ) -> PyResult<Self> {
        // SAFETY: as above.
        let tensor = unsafe { Aliased::from_legacy_raw(managed) };
        Self::held(py, if is_writable { tensor } else { tensor.map(Aliased::into_read_only) })
    }

    /// A tensor whose deleter is a Python producer's. Any error lets go of it here, attached.
    #[inline]
    fn held(py: Python<'_>, tensor: Result<Aliased, Error>) -> PyResult<Self> {
        let tensor = tensor.map_err(into_py_err)?.into_plain();
        watch_exit(py)?;
        Ok(Self::new(tensor, true))
    }

    #[inline]
    fn new(tensor: Aliased, is_foreign: bool) -> Self {
        let only = ManuallyDrop::new(Owner { tensor: ManuallyDrop::new(tensor), is_foreign });
        Self { only, shared: OnceLock::new() }
    }

    #[inline]
    fn share(&self) -> Arc<Owner> {
        let shared = self.shared.get_or_init(|| {
            let owner: *const Owner = &*self.only;
            // SAFETY: by invariant *single* `only` is the owner, and a lock sees to it that it moves out this once.
            Arc::new(unsafe { owner.read() })
        });
        Arc::clone(shared)
    }

    /// The tensor for Rust: itself if nobody else has it, and if it needs no interpreter to be let go; else one over
    /// the same memory.
    pub(crate) fn into_aliased(mut self) -> Aliased {
        if self.only.is_foreign {
            return self.reexport();
        }
        let owner = match self.shared.take() {
            None => {
                let mut this = ManuallyDrop::new(self);
                // SAFETY: by invariant *single* `only` is the owner, which is moved out and not dropped.
                unsafe { ManuallyDrop::take(&mut this.only) }
            }
            Some(shared) => match Arc::try_unwrap(shared) {
                Ok(owner) => {
                    let _owns_nothing = ManuallyDrop::new(self);
                    owner
                }
                Err(shared) => {
                    let _ = self.shared.set(shared);
                    return self.reexport();
                }
            },
        };
        let mut owner = ManuallyDrop::new(owner);
        // SAFETY: as invariant *once* of `Owner` has it, the tensor is moved out, and not dropped.
        unsafe { ManuallyDrop::take(&mut owner.tensor) }
    }

    /// A managed tensor for a consumer of the versioned ABI. Who may write goes with the tensor's flags, as Python has
    /// it: whoever writes knows of those who read. `Copies: never`.
    #[inline]
    pub(crate) fn export(&self) -> NonNull<DLManagedTensorVersioned> {
        // SAFETY: the owner keeps the tensor.
        unsafe { Aliased::export(self.share(), |owner| &owner.tensor) }
    }

    /// As [`Handle::export`], of the legacy ABI.
    pub(crate) fn export_legacy(&self) -> Result<NonNull<DLManagedTensor>, Error> {
        // SAFETY: as above.
        unsafe { Aliased::export_legacy(self.share(), |owner| &owner.tensor) }
    }

    fn reexport(&self) -> Aliased {
        let managed = self.export();
        // SAFETY: ours, well-formed, and used nowhere else.
        unsafe { Aliased::from_raw(managed) }.expect("made of a valid tensor")
    }

    /// The same memory, with the bytes of every element read as another type.
    ///
    /// # Panics
    /// If an element of that type has another size.
    pub(crate) fn retyped(&self, dtype: DataType) -> Self {
        let (tensor, size) = (self.descriptor(), |dtype: DataType, padded| dtype.size_of(1, padded));
        assert_eq!(size(tensor.dtype(), tensor.flags().is_padded()), size(dtype, false), "elements of one size");
        let mut managed = self.export();
        // SAFETY: just made, and ours.
        unsafe { managed.as_mut() }.dl_tensor.dtype = dtype.into();
        // SAFETY: ours, and as well-formed as before, with elements of the same size.
        let tensor = unsafe { Aliased::from_raw(managed) }.expect("made of a valid tensor");
        Self::new(tensor, false)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        let owner: *const Owner = &*self.only;
        // SAFETY: as invariant *single* has it, this is a copy that owns nothing, beside the shared owner.
        let only = ManuallyDrop::new(unsafe { owner.read() });
        Self { only, shared: OnceLock::from(self.share()) }
    }
}

/// A tensor that may be let go of on any thread, attached to the interpreter or not, as all of that type may but those
/// that this file takes over.
impl From<Aliased> for Handle {
    #[inline]
    fn from(tensor: Aliased) -> Self {
        Self::new(tensor, false)
    }
}

impl Deref for Handle {
    type Target = Aliased;

    #[inline]
    fn deref(&self) -> &Aliased {
        &self.only.tensor
    }
}

impl Drop for Handle {
    #[inline]
    fn drop(&mut self) {
        if self.shared.get().is_none() {
            // SAFETY: by invariant *single* `only` is the owner, which is never used again.
            unsafe { ManuallyDrop::drop(&mut self.only) };
        }
    }
}

/// Calls a Python producer's deleter, or leaks the tensor if there is no interpreter any more.
fn release(tensor: Aliased) {
    let mut tensor = ManuallyDrop::new(tensor);
    // SAFETY: the tensor is this function's own, and dropped here, once, or never.
    attached(|| unsafe { ManuallyDrop::drop(&mut tensor) });
}

/// The thread that ends the interpreter, once one does.
static ENDS: OnceLock<ThreadId> = OnceLock::new();

/// Has Python say when it begins to end, before the first tensor of a producer's arrives. A thread that attaches itself
/// from then on would never return.
#[inline]
pub(crate) fn watch_exit(py: Python<'_>) -> PyResult<()> {
    static IS_WATCHED: PyOnceLock<()> = PyOnceLock::new();
    IS_WATCHED.get_or_try_init(py, || {
        let ends = PyCFunction::new_closure(py, None, None, |_, _| {
            let _ = ENDS.set(thread::current().id());
        })?;
        py.import("atexit")?.call_method1("register", (ends,)).map(drop)
    })?;
    Ok(())
}

/// Lets go of something of Python's, attached to the interpreter and with a pending exception put aside; not if there
/// is no interpreter any more, nor, on any thread but the one that ends it, while it ends.
#[inline]
pub(crate) fn attached(let_go: impl FnOnce()) {
    if ENDS.get().is_some_and(|thread| *thread != thread::current().id()) {
        return;
    }
    let _: Option<()> = Python::try_attach(|py| {
        let _pending = Pending::set_aside(py);
        let_go();
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
