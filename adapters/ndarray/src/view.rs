//! DLPack → borrowed ndarray views, without an allocation for fixed ranks.

use dlbridge_core::{Descriptor, Element, Error, TensorMut, TensorRef, View, ViewMut};
use ndarray::{ArrayView, ArrayViewMut, Axis, Dimension, Ix1, Ix2, Ix3, Ix4, ShapeBuilder, StrideShape};

use crate::NdArray;
use crate::rank::{check_ndim, dim, with_rank};

/// Calls `$view` with the tensor's rank as a fixed rank, even where `D` is dynamic, for ranks up to 4. A view of a
/// fixed rank stays in registers, so its lengths and strides are written to memory only once: when it becomes dynamic.
macro_rules! by_rank {
    ($view:ident::<$A:ident, $D:ident>($tensor:ident)) => {
        match ($D::NDIM, $tensor.descriptor().ndim()) {
            (None, 1) => with_rank($view::<$A, Ix1>($tensor)?),
            (None, 2) => with_rank($view::<$A, Ix2>($tensor)?),
            (None, 3) => with_rank($view::<$A, Ix3>($tensor)?),
            (None, 4) => with_rank($view::<$A, Ix4>($tensor)?),
            _ => $view::<$A, $D>($tensor),
        }
    };
}

impl<'a, A: Element, D: Dimension> View<'a, NdArray> for ArrayView<'a, A, D> {
    // `always`, because the code for a fixed rank is short, and copying the returned `Result` would take longer than
    // making it.
    #[inline(always)]
    fn view(tensor: TensorRef<'a>) -> Result<Self, Error> {
        by_rank!(view::<A, D>(tensor))
    }
}

impl<'a, A: Element, D: Dimension> ViewMut<'a, NdArray> for ArrayViewMut<'a, A, D> {
    #[inline]
    fn view_mut(tensor: TensorMut<'a>) -> Result<Self, Error> {
        by_rank!(view_mut::<A, D>(tensor))
    }
}

#[inline(always)]
fn view<A: Element, D: Dimension>(tensor: TensorRef<'_>) -> Result<ArrayView<'_, A, D>, Error> {
    check_ndim::<D>(&tensor)?;
    let first = tensor.as_ptr::<A>()?;
    let layout = Layout::<D>::of(&tensor);
    let lowest = first.wrapping_offset(layout.lowest);
    // SAFETY: the view has just the tensor's elements (axiom *view*), which are readable and not written for its
    // lifetime. Its layout is checked not to overflow, and `first` is aligned and checked to hold `A`s. Strides are
    // made non-negative by starting at the lowest address, and flipped back below.
    let view = unsafe { ArrayView::from_shape_ptr(layout.shape, lowest) };
    if layout.lowest < 0 {
        let mut flipped = view; // A variable of its own: the usual view then needs no address and stays in registers.
        flip(&tensor, |axis| flipped.invert_axis(axis));
        return Ok(flipped);
    }
    Ok(view)
}

#[inline(always)]
fn view_mut<A: Element, D: Dimension>(mut tensor: TensorMut<'_>) -> Result<ArrayViewMut<'_, A, D>, Error> {
    let descriptor = tensor.descriptor();
    check_ndim::<D>(&descriptor)?;
    let first = tensor.as_mut_ptr::<A>()?;
    let layout = Layout::<D>::of(&descriptor);
    let lowest = first.wrapping_offset(layout.lowest);
    // SAFETY: as for `ArrayView`. For its lifetime, a `TensorMut` is the only access to its elements, which do not
    // overlap; the gaps, which may be somebody else's, are not touched (axiom *view*).
    let view = unsafe { ArrayViewMut::from_shape_ptr(layout.shape, lowest) };
    if layout.lowest < 0 {
        let mut flipped = view;
        flip(&descriptor, |axis| flipped.invert_axis(axis));
        return Ok(flipped);
    }
    Ok(view)
}

/// Shape and strides in the form that ndarray takes: no stride is negative, and they count from the lowest address.
struct Layout<D: Dimension> {
    shape: StrideShape<D>,
    /// The distance from the first element to the one at the lowest address, in elements: 0 or less.
    lowest: isize,
}

impl<D: Dimension> Layout<D> {
    /// The rank must fit `D`.
    #[inline(always)]
    fn of(tensor: &Descriptor<'_>) -> Self {
        let shape = dim::<D>(tensor);
        let ndim = shape.ndim();
        let lengths = &tensor.shape()[..ndim];
        // A tensor that is row-major or has no elements: its strides are not needed.
        let Some(given) = tensor.strides().as_slice().filter(|_| !lengths.contains(&0)) else {
            return Self { shape: shape.into_shape_with_order().into(), lowest: 0 };
        };
        let mut strides = D::zeros(ndim);
        let mut lowest = 0;
        for ((length, stride), slot) in lengths.iter().zip(&given[..ndim]).zip(strides.slice_mut()) {
            // The stride of an axis of length 1 is never used and may be any number. It is replaced by 0, because
            // ndarray requires that even such a stride stays within the memory.
            if *length > 1 {
                *slot = stride.unsigned_abs() as usize;
                lowest += (*length - 1) as isize * (*stride).min(0) as isize;
            }
        }
        Self { shape: shape.strides(strides), lowest }
    }
}

/// Calls `invert` for every axis with a negative stride.
#[cold]
fn flip(tensor: &Descriptor<'_>, mut invert: impl FnMut(Axis)) {
    for (axis, (length, stride)) in tensor.shape().iter().zip(tensor.strides().iter()).enumerate() {
        if stride < 0 && *length > 1 {
            invert(Axis(axis));
        }
    }
}
