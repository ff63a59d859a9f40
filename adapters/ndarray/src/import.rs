//! DLPack → owned ndarray arrays.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use dlbridge_core::layout::Dims;
use dlbridge_core::{Descriptor, Element, Error, Export, Import, Lend, Reason, Route, Tensor, TensorRef, ViewMut};
use ndarray::{ArcArray, Array, ArrayBase, ArrayRef, ArrayView, ArrayViewMut, Data, Dimension, IxDyn};

use crate::rank::{check_ndim, dim, with_rank};
use crate::{NAME, NdArray};

/// An array over the memory of another framework, kept alive as long as the array.
///
/// It reads like any array, through [`Deref`] to [`ArrayRef`]. [`Owned::view_mut`] gives write access if nobody else
/// uses the memory.
/// `Copies: never.`
pub struct Owned<A: 'static, D: Dimension + 'static> {
    // Invariant: the view points into the memory of `tensor`, which does not move. The view is declared first, so that
    // it is dropped first. Its lifetime is not really `'static`: it is handed out only with the lifetime of `&self`.
    view: ArrayView<'static, A, D>,
    tensor: Tensor,
}

impl<A: Element, D: Dimension + 'static> Owned<A, D> {
    /// The array for writing.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] if others use the memory, and [`Error::Overlap`] if elements share memory.
    pub fn view_mut(&mut self) -> Result<ArrayViewMut<'_, A, D>, Error> {
        ArrayViewMut::view_mut(self.tensor.view_mut()?)
    }
}

impl<A: 'static, D: Dimension + 'static> Deref for Owned<A, D> {
    type Target = ArrayRef<A, D>;

    fn deref(&self) -> &ArrayRef<A, D> {
        &self.view
    }
}

impl<A: fmt::Debug, D: Dimension> fmt::Debug for Owned<A, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

impl<A: Element, D: Dimension + 'static> Export<NdArray> for Owned<A, D> {
    fn export(self) -> Result<Tensor, Error> {
        Ok(self.tensor)
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        self.tensor.to_contiguous()
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        Ok(read(&self.tensor.descriptor(), None))
    }
}

impl<A: Element, D: Dimension + 'static> Import<NdArray> for Owned<A, D> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match check::<A, D>(tensor).and_then(|()| tensor.check_align(align_of::<A>())) {
            Ok(()) => Route::Shared,
            Err(Error::Misaligned { align, .. }) => Route::Copied(Reason::Misaligned { align }),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let view: ArrayView<'_, A, D> = tensor.lend()?;
        // SAFETY: only the lifetime changes; see the invariant of `Owned`.
        let view = unsafe { core::mem::transmute::<ArrayView<'_, A, D>, ArrayView<'static, A, D>>(view) };
        Ok(Self { view, tensor })
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        Self::import(tensor.to_contiguous()?)
    }
}

/// Checks that element type, device and rank are those of an array of `A` and `D`.
fn check<A: Element, D: Dimension>(tensor: &Descriptor<'_>) -> Result<(), Error> {
    tensor.check_dtype(A::DTYPE)?;
    tensor.check_host()?;
    check_ndim::<D>(tensor)
}

/// The route to an array type that owns its elements. Such an array can hold only memory that Rust allocated, so the
/// memory is shared if the tensor is owned by a vector or an array (`is_owned`), and copied otherwise.
fn plan<A: Element, D: Dimension>(tensor: &Descriptor<'_>, is_owned: bool) -> Route {
    match check::<A, D>(tensor) {
        Err(error) => Route::Impossible(error),
        Ok(()) if is_owned => Route::Shared,
        Ok(()) => Route::Copied(Reason::ForeignMemory),
    }
}

impl<A: Element, D: Dimension + 'static> Import<NdArray> for Array<A, D> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        plan::<A, D>(tensor, Vec::<A>::plan(tensor) == Route::Shared || tensor.is_owned_by::<Array<A, IxDyn>>())
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let shape = dim::<D>(&tensor.descriptor());
        match tensor.descriptor().is_owned_by::<Array<A, IxDyn>>() {
            true => take(tensor),
            false => from_vec(shape, Vec::import(tensor)?),
        }
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        check_ndim::<D>(tensor)?;
        from_vec(dim(tensor), tensor.to_vec()?)
    }
}

impl<A: Element, D: Dimension + 'static> Import<NdArray> for ArcArray<A, D> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        if tensor.is_owned_by::<ArcArray<A, IxDyn>>() {
            return plan::<A, D>(tensor, true);
        }
        Array::<A, D>::plan(tensor)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        if tensor.descriptor().is_owned_by::<ArcArray<A, IxDyn>>() {
            return take(tensor);
        }
        Array::import(tensor).map(Array::into_shared)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        Array::import_copy(tensor).map(Array::into_shared)
    }
}

/// The array that owns the tensor, if the tensor has the same first element, shape and strides as the array.
fn take<S, A, D>(tensor: Tensor) -> Result<ArrayBase<S, D>, Error>
where
    S: Data<Elem = A> + 'static,
    A: Element,
    D: Dimension,
{
    let tensor_says: (_, Dims, Dims) = {
        let tensor = tensor.descriptor();
        (tensor.data(), tensor.shape().iter().copied().collect(), tensor.strides().iter().collect())
    };
    let part = Error::CopyRequired { framework: NAME, reason: Reason::Strided };
    let Ok(array) = tensor.downcast::<ArrayBase<S, IxDyn>>() else { return Err(part) };
    let (data, shape, strides) = tensor_says;
    let same_axes = array.ndim() == shape.len()
        && (0..shape.len()).all(|axis| {
            let (length, stride) = (array.shape()[axis] as i64, array.strides()[axis] as i64);
            length == shape[axis] && (length <= 1 || stride == strides[axis])
        });
    if !array.is_empty() && (array.as_ptr().cast() != data || !same_axes) {
        return Err(part);
    }
    with_rank(array)
}

fn from_vec<A, D: Dimension>(shape: D, vec: Vec<A>) -> Result<Array<A, D>, Error> {
    let (expected, found) = (shape.size(), vec.len());
    Array::from_shape_vec(shape, vec).map_err(|_| Error::LengthMismatch { expected, found })
}
