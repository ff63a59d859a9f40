//! Ranks: what the type `D` of an array says of its number of axes, against what a tensor or another array has.

use dlbridge_core::{Descriptor, Error};
use ndarray::{ArrayBase, Dimension, RawData};

/// The rank is one that `D` can have.
#[inline]
pub(crate) fn check_ndim<D: Dimension>(tensor: &Descriptor<'_>) -> Result<(), Error> {
    match D::NDIM {
        Some(expected) if expected != tensor.ndim() => Err(Error::NdimMismatch { expected, found: tensor.ndim() }),
        _ => Ok(()),
    }
}

/// The shape of a tensor whose rank fits `D`. A fixed rank is known to the compiler, which then unrolls the loops.
#[inline]
pub(crate) fn dim<D: Dimension>(tensor: &Descriptor<'_>) -> D {
    let ndim = D::NDIM.unwrap_or(tensor.ndim());
    let mut dim = D::zeros(ndim);
    dim.slice_mut().iter_mut().zip(&tensor.shape()[..ndim]).for_each(|(slot, length)| *slot = *length as usize);
    dim
}

/// The same array with its rank known in another way.
#[inline(always)]
pub(crate) fn with_rank<S: RawData, From: Dimension, To: Dimension>(
    array: ArrayBase<S, From>,
) -> Result<ArrayBase<S, To>, Error> {
    let found = array.ndim();
    array.into_dimensionality().map_err(|_| Error::NdimMismatch { expected: To::NDIM.unwrap_or(found), found })
}
