//! Exports of libtorch tensors.

use dlbridge_core::{Descriptor, Device, Error, Export, Flags, Memory, ReadOnly, Reason, Tensor};

use crate::shim::Dense;
use crate::{NAME, Tch};

/// Implements the export of each type. `by_value` says that the caller gives up the tensor: it is then shared, as
/// writable, if it was the only handle. If it is not given up, the caller keeps a handle that can write, and the memory
/// cannot be shared. Sealed memory, which libtorch refuses to write, is shared in either case, as read-only.
macro_rules! exports {
    ($($ty:ty, by_value: $by_value:literal;)*) => {$(
        impl Export<Tch> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                // If `self` is owned, it is dropped at the end, and with it the last handle that could write.
                share(&self, $by_value)
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                copy(self)
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                describe(self, $by_value, read)
            }
        }
    )*};
}

exports! {
    tch::Tensor, by_value: true;
    &tch::Tensor, by_value: false;
    ReadOnly<tch::Tensor>, by_value: true;
}

/// Shares a tensor that others may also hold. The result is read-only.
///
/// `Copies: never.`
///
/// # Safety
/// While the result lives, nobody writes the memory through libtorch or moves it: no in-place operation (`add_`,
/// `fill_`, `copy_`, `resize_`, …) on this tensor, nor on any other that shares its storage.
///
/// # Errors
/// As for the safe export, except that other handles are no error.
#[inline]
pub unsafe fn export_shared(tensor: &tch::Tensor) -> Result<Tensor, Error> {
    Dense::read(tensor, |dense| {
        if dense.is_lazy() {
            return Err(Error::CopyRequired { framework: NAME, reason: Reason::Lazy });
        }
        if dense.is_copy_on_write() {
            return Err(Error::CopyRequired { framework: NAME, reason: Reason::NotUnique });
        }
        Ok(own(dense, Flags::READ_ONLY))
    })
}

fn share(tensor: &tch::Tensor, by_value: bool) -> Result<Tensor, Error> {
    Dense::read(tensor, |dense| match sharing(dense, by_value) {
        Ok(flags) => Ok(own(dense, flags)),
        Err(reason) => Err(Error::CopyRequired { framework: NAME, reason }),
    })
}

/// The flags to share with, or why the tensor cannot be shared. `by_value` says that the caller gives up the tensor.
fn sharing(dense: &Dense<'_>, by_value: bool) -> Result<Flags, Reason> {
    if dense.is_lazy() {
        Err(Reason::Lazy)
    } else if dense.is_sealed() {
        Ok(Flags::READ_ONLY)
    } else if by_value && dense.is_unique() {
        Ok(Flags::empty())
    } else {
        Err(Reason::NotUnique)
    }
}

/// Shares the memory. The caller has made sure that this is sound: nobody writes, or nobody else has access.
fn own(dense: &Dense<'_>, flags: Flags) -> Tensor {
    let (shape, strides) = (dense.shape(), dense.strides());
    // `is_valid: false`, because libtorch makes booleans of any bytes.
    let memory = Memory { dtype: dense.dtype, device: dense.device, flags, is_valid: false };
    // SAFETY: libtorch's sizes and strides, checked to lie within the storage, whose memory the owner keeps. Its memory
    // counts as initialised even where `empty` made it: libtorch hands it out the same way.
    unsafe {
        Tensor::from_owner(dense.retain(), memory, shape.len(), |_, lengths, steps| {
            lengths.copy_from_slice(shape);
            steps.copy_from_slice(strides);
            dense.data().cast_mut()
        })
    }
}

fn describe<R>(
    tensor: &tch::Tensor,
    by_value: bool,
    read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R,
) -> Result<R, Error> {
    Dense::read(tensor, |dense| {
        let (flags, reason) = match sharing(dense, by_value) {
            Ok(flags) => (flags, None),
            Err(reason) => (Flags::empty(), Some(reason)),
        };
        dense.describe(flags, |tensor| read(tensor, reason))
    })
}

/// A copy on the same device. libtorch makes it, and computes lazy elements; in host memory it goes into a vector.
fn copy(tensor: &tch::Tensor) -> Result<Tensor, Error> {
    Dense::read(tensor, |dense| {
        if dense.device != Device::CPU {
            let failed = |error: tch::TchError| Error::Framework { framework: NAME, message: error.to_string().into() };
            let copy =
                tensor.f_zeros_like().and_then(|mut copy| copy.f_copy_(tensor).map(|()| copy)).map_err(failed)?;
            return Dense::read(&copy, |copy| Ok(own(copy, Flags::COPIED)));
        }
        dense.describe(Flags::empty(), |like| {
            // SAFETY: `filled` gives room for all elements of `like`.
            let write = |target| unsafe { dense.copy_to_host(like.shape(), target) };
            // SAFETY: libtorch copies all elements, or fails.
            unsafe { Tensor::filled(like, write) }
        })?
    })
}
