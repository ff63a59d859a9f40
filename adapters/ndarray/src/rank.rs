//! Conversions between the rank that a type `D` fixes at compile time and the rank of a tensor or an array.

use dlbridge_core::{Descriptor, Error};
use ndarray::{ArrayBase, Dimension, RawData};

/// Checks that `D` can have the rank of the tensor.
#[inline]
pub(crate) fn check_ndim<D: Dimension>(tensor: &Descriptor<'_>) -> Result<(), Error> {
    D::NDIM.map_or(Ok(()), |expected| tensor.check_ndim(expected))
}

/// The shape of a tensor whose rank fits `D`. If `D` is a fixed rank, the compiler knows it and unrolls the loops.
#[inline]
pub(crate) fn dim<D: Dimension>(tensor: &Descriptor<'_>) -> D {
    let ndim = D::NDIM.unwrap_or(tensor.ndim());
    let mut dim = D::zeros(ndim);
    dim.slice_mut().iter_mut().zip(&tensor.shape()[..ndim]).for_each(|(slot, length)| *slot = *length as usize);
    dim
}

/// The same array with another rank type, from fixed to dynamic or the other way round.
#[inline(always)]
pub(crate) fn with_rank<S: RawData, From: Dimension, To: Dimension>(
    array: ArrayBase<S, From>,
) -> Result<ArrayBase<S, To>, Error> {
    match To::NDIM {
        Some(expected) if expected != array.ndim() => {
            let shape = array.shape().iter().map(|length| *length as i64).collect();
            Err(Error::NdimMismatch { expected, shape })
        }
        _ => array.into_dimensionality().map_err(|_| Error::Overflow { quantity: "number of axes" }),
    }
}
