//! Tensors from and to C: the versioned ABI and the legacy one.

use core::mem;
use core::ptr::NonNull;

use super::owned::{Raw, Tensor};
use crate::error::{Error, Rejected};
use crate::layout;
use crate::sys::{self, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion};

impl Tensor {
    /// Takes over a versioned managed tensor (DLPack 1.0 and later).
    ///
    /// Whatever the outcome, the tensor is consumed: on an error its deleter has run.
    ///
    /// `Copies: never`.
    ///
    /// # Safety
    /// 1. *owned*: `managed` points to a managed tensor that the caller owns and does not use afterwards, laid out as
    ///    its version says. Its deleter may be called on any thread.
    /// 2. *numbers*: if `ndim` is positive, `shape` and `strides` are NULL or point to `ndim` integers.
    /// 3. *access*: until the deleter runs, the extent (from the lowest element that they reach to the highest, gaps
    ///    included) is initialised, readable and written by nobody, and the numbers do not change. If the read-only
    ///    flag is clear, the elements may be written, and nobody else reads them.
    ///
    /// # Errors
    /// [`Error::UnsupportedVersion`] for another major version, of which nothing but the version and the deleter is
    /// read; else as [`Descriptor::from_raw`](crate::Descriptor::from_raw).
    pub unsafe fn from_raw(managed: NonNull<DLManagedTensorVersioned>) -> Result<Self, Error> {
        let tensor = Self(Raw::Versioned(managed));
        // SAFETY: by the promise *owned* a struct is there. All versions begin with the version; only that is read.
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
    /// The struct that goes out has explicit strides, normal ones on axes of length 1, no `byte_offset` and a deleter.
    /// A foreign struct that already has that form goes out as it came in; wrapping any other takes one small
    /// allocation.
    ///
    /// `Copies: never`.
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        match self.0 {
            Raw::Owned(managed) => {
                mem::forget(self);
                managed
            }
            // SAFETY: by invariant *alive* of `Tensor` the struct is alive, of a version that this crate reads.
            Raw::Versioned(managed) if is_plain(&self, unsafe { managed.as_ref() }.deleter.is_some()) => {
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
            // SAFETY: by invariant *alive* of `Tensor` the struct is alive.
            Raw::Legacy(managed) if is_plain(&self, unsafe { managed.as_ref() }.deleter.is_some()) => {
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

/// Whether a tensor has the form that all consumers handle: a deleter, explicit strides that are those of a row-major
/// tensor where they mean nothing, and `data` at its first element.
pub(super) fn is_plain(tensor: &Tensor, has_deleter: bool) -> bool {
    let descriptor = tensor.descriptor();
    let is_normal = match descriptor.strides().as_slice() {
        Some(strides) => layout::is_normal(descriptor.shape(), strides),
        None => descriptor.ndim() == 0,
    };
    has_deleter && is_normal && tensor.dl_tensor().byte_offset == 0
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    /// A tensor of two by two, with an axis of length 1 in front, whose stride in the struct is `stride`.
    fn with_stride(stride: i64) -> NonNull<DLManagedTensorVersioned> {
        let mut managed = Tensor::new(vec![1f32, 2., 3., 4.], &[1, 2, 2]).unwrap().into_raw();
        // SAFETY: ours, and nobody else has it.
        let strides = unsafe { managed.as_mut() }.dl_tensor.strides;
        // SAFETY: there are three strides.
        unsafe { strides.write(stride) };
        managed
    }

    #[test]
    fn a_tensor_of_our_own_goes_out_as_it_is() {
        let tensor = Tensor::new(vec![1f32, 2.], &[2]).unwrap();
        let Raw::Owned(managed) = tensor.0 else { panic!("made from a vector") };
        let raw = tensor.into_raw();
        assert_eq!(raw, managed);
        // SAFETY: a managed tensor of ours.
        drop(unsafe { Tensor::from_raw(raw) });
    }

    #[test]
    fn strides_that_say_nothing_go_out_normal() {
        for stride in [1, 0, -7, i64::MAX, 4] {
            let managed = with_stride(stride);
            // SAFETY: a managed tensor of ours.
            let tensor = unsafe { Tensor::from_raw(managed) }.unwrap();
            let raw = tensor.into_raw();
            assert_eq!(raw == managed, stride == 4, "one that is normal goes out as it came in");
            // SAFETY: as above.
            let tensor = unsafe { Tensor::from_raw(raw) }.unwrap();
            assert_eq!(tensor.strides(), [4, 2, 1]);
            assert_eq!(tensor.as_slice::<f32>().unwrap(), [1., 2., 3., 4.]);
        }
    }
}
