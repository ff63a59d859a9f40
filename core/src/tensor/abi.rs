//! Tensors from and to C: the versioned ABI and the legacy one.

use core::mem;
use core::ptr::NonNull;

use super::owned::{Raw, Tensor};
use crate::error::{Error, Rejected};
use crate::sys::{self, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor};

impl Tensor {
    /// Takes over a versioned managed tensor (DLPack 1.0 and later).
    ///
    /// Whatever the outcome, the tensor is consumed: on an error its deleter has run.
    ///
    /// `Copies: never`.
    ///
    /// # Safety
    /// 1. `managed` points to a managed tensor that the caller owns and does not use afterwards, laid out as its
    ///    version says. Its deleter may be called on any thread.
    /// 2. If `ndim` is positive, `shape` and `strides` are NULL or point to `ndim` integers.
    /// 3. Until the deleter runs, the extent (from the lowest element that they reach to the highest, gaps included) is
    ///    initialised, readable and written by nobody, and the numbers do not change. If the read-only flag is clear,
    ///    the elements may be written, and nobody else reads them.
    ///
    /// # Errors
    /// [`Error::UnsupportedVersion`] for another major version, of which nothing but the version and the deleter is
    /// read; else as [`Descriptor::from_raw`](crate::Descriptor::from_raw).
    pub unsafe fn from_raw(managed: NonNull<DLManagedTensorVersioned>) -> Result<Self, Error> {
        let tensor = Self(Raw::Versioned(managed));
        // SAFETY: promise (1); the version comes first in all versions, and nothing else is touched.
        let version = unsafe { managed.cast::<DLPackVersion>().as_ptr().read() };
        if version.major != sys::DLPACK_MAJOR_VERSION {
            return Err(Error::UnsupportedVersion { major: version.major, minor: version.minor });
        }
        tensor.revalidate().map(|()| tensor)
    }

    /// Takes over a legacy managed tensor (any header since v0.2). It has no flags, so it counts as writable.
    ///
    /// Whatever the outcome, the tensor is consumed: on an error its deleter has run.
    ///
    /// `Copies: never`.
    ///
    /// # Safety
    /// As [`Tensor::from_raw`]. Legacy producers cannot say that memory is read-only: the caller vouches that it may be
    /// written, or uses [`Tensor::into_read_only`] at once.
    ///
    /// # Errors
    /// As [`Descriptor::from_raw`](crate::Descriptor::from_raw).
    pub unsafe fn from_legacy_raw(managed: NonNull<DLManagedTensor>) -> Result<Self, Error> {
        let tensor = Self(Raw::Legacy(managed));
        tensor.revalidate().map(|()| tensor)
    }

    /// Gives the tensor to a consumer of the versioned ABI, who calls its deleter when done.
    ///
    /// The struct that goes out has explicit strides, no `byte_offset` and a deleter. A foreign struct that already has
    /// that form goes out as it came in; wrapping any other takes one small allocation.
    ///
    /// `Copies: never`.
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        match self.0 {
            Raw::Owned(managed) => {
                mem::forget(self);
                managed
            }
            // SAFETY: by invariant 3 of `Tensor` the struct is alive, and its version is one that this crate reads.
            Raw::Versioned(managed) if is_plain(self.dl_tensor(), unsafe { managed.as_ref() }.deleter.is_some()) => {
                mem::forget(self);
                managed
            }
            _ => self.rehouse(),
        }
    }

    /// Gives the tensor to a consumer of the legacy ABI, who calls its deleter when done.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// The legacy ABI has no flags, so the tensor comes back with [`Error::ReadOnly`] if it must not be written, and
    /// with [`Error::Inexpressible`] if its sub-byte elements are padded.
    pub fn into_legacy_raw(self) -> Result<NonNull<DLManagedTensor>, Rejected<Self>> {
        let error = match self.0 {
            // SAFETY: by invariant 3 of `Tensor` the struct is alive.
            Raw::Legacy(managed) if is_plain(self.dl_tensor(), unsafe { managed.as_ref() }.deleter.is_some()) => {
                mem::forget(self);
                return Ok(managed);
            }
            _ => match self.descriptor().check_legacy() {
                Ok(()) => return Ok(self.rehouse()),
                Err(error) => error,
            },
        };
        Err(Rejected { value: self, error })
    }
}

/// Whether a raw tensor has the form that all consumers handle: a deleter, explicit strides, and `data` at its first
/// element.
pub(super) fn is_plain(raw: &DLTensor, has_deleter: bool) -> bool {
    has_deleter && raw.byte_offset == 0 && (raw.ndim == 0 || !raw.strides.is_null())
}
