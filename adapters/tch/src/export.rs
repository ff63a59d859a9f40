//! Exports of libtorch tensors.

use dlbridge_core::{Descriptor, Device, Error, Export, Flags, Memory, ReadOnly, Reason, Tensor};

use crate::shim::{self, Dense, Owner};
use crate::{NAME, Tch};

/// Implements the export of each type. `by_value` says that the caller gives up the tensor: it is then shared, as
/// writable, if it was the only handle. If it is not given up, the caller keeps a handle that can write, and the memory
/// cannot be shared. Sealed memory, which libtorch refuses to write, is shared in either case, as read-only.
macro_rules! exports {
    ($($ty:ty, by_value: $by_value:literal;)*) => {$(
        impl Export<Tch> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                // SAFETY: if `self` is owned, it is dropped at the end; a reference is not given up.
                unsafe { share(&self, $by_value) }
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
    let shared = |dense: Dense<'_>| {
        if dense.is_lazy() {
            return Err(Error::CopyRequired { framework: NAME, reason: Reason::Lazy });
        }
        if dense.is_copy_on_write() {
            return Err(Error::CopyRequired { framework: NAME, reason: Reason::NotUnique });
        }
        // SAFETY: the tensor is not lazy; the rest is the caller's promise.
        Ok(unsafe { own(&dense, Flags::READ_ONLY) })
    };
    // SAFETY: the closure runs no code of others.
    unsafe { Dense::read(tensor, shared) }
}

/// Shares a tensor if nobody else can write it.
///
/// # Safety
/// If `by_value`, the caller drops the tensor without using it again.
unsafe fn share(tensor: &tch::Tensor, by_value: bool) -> Result<Tensor, Error> {
    let shared = |dense: Dense<'_>| match sharing(&dense, by_value) {
        // SAFETY: the tensor is not lazy. Sealed memory is written by nobody (axioms *seal* and *const*). Other memory
        // can be reached by nobody else when the caller has dropped the tensor (axioms *counts* and *apart*), nor can
        // the rest of its storage.
        Ok(flags) => Ok(unsafe { own(&dense, flags) }),
        Err(reason) => Err(Error::CopyRequired { framework: NAME, reason }),
    };
    // SAFETY: the closure runs no code of others.
    unsafe { Dense::read(tensor, shared) }
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

/// A tensor that keeps the memory of a libtorch tensor, and shares it.
///
/// # Safety
/// The libtorch tensor is not lazy. As long as the result or anything made from it lives, nobody else writes its
/// elements; if `flags` lacks `READ_ONLY`, nobody else reads or writes any of its storage.
unsafe fn own(dense: &Dense<'_>, flags: Flags) -> Tensor {
    let (shape, strides) = (dense.shape(), dense.strides());
    // `is_valid: false`, because libtorch makes booleans of any bytes.
    let memory = Memory { dtype: dense.dtype, device: dense.device, flags, is_valid: false };
    // SAFETY: the sizes and strides were checked to lie within the storage. The owner keeps the memory of the storage
    // (axioms *storage* and *deleter*), which is initialised (axiom *initialised*), and gives no access to it. That
    // nobody else writes or reads it is the caller's promise.
    unsafe {
        Tensor::from_sole_owner(dense.retain(), memory, shape.len(), |_, lengths, steps| {
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
    let described = |dense: Dense<'_>| {
        let (flags, reason) = match sharing(&dense, by_value) {
            Ok(flags) => (flags, None),
            Err(reason) => (Flags::empty(), Some(reason)),
        };
        dense.describe(flags, |tensor| match reason {
            None => read(&tensor.solely_owned_by::<Owner>(), None),
            _ => read(tensor, reason),
        })
    };
    // SAFETY: `read`, which is code of others, runs when `describe` has taken the `Dense` away.
    unsafe { Dense::read(tensor, described) }
}

/// A copy on the same device. libtorch makes it, and computes lazy elements; in host memory it goes into a vector.
fn copy(tensor: &tch::Tensor) -> Result<Tensor, Error> {
    let copied = |dense: Dense<'_>| {
        if dense.device != Device::CPU {
            let failed = |error: tch::TchError| Error::Framework { framework: NAME, message: error.to_string().into() };
            let copy =
                tensor.f_zeros_like().and_then(|mut copy| copy.f_copy_(tensor).map(|()| copy)).map_err(failed)?;
            // SAFETY: the new tensor is not lazy, nobody else has it, and it is dropped at the end of this block.
            let owned = |copy: Dense<'_>| Ok(unsafe { own(&copy, Flags::COPIED) });
            // SAFETY: the closure runs no code of others.
            return unsafe { Dense::read(&copy, owned) };
        }
        dense.describe(Flags::empty(), |like| {
            // SAFETY: `filled` gives room for all elements of `like`, which has the tensor's type.
            let write = |target| unsafe { shim::copy_to_host(tensor, like.shape(), target) };
            // SAFETY: libtorch copies all elements, or fails (axiom *copy*).
            unsafe { Tensor::filled(like, write) }
        })?
    };
    // SAFETY: the closure runs no code of others.
    unsafe { Dense::read(tensor, copied) }
}
