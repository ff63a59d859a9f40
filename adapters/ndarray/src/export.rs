//! ndarray → DLPack.

use alloc::vec::Vec;

use dlbridge_core::layout::Dims;
use dlbridge_core::{Descriptor, Device, Element, Error, Export, Flags, Memory, Reason, Tensor, TensorRef};
use ndarray::{ArcArray, Array, ArrayBase, ArrayRef, ArrayView, ArrayViewMut, Data, Dimension, IxDyn, s};

use crate::{NAME, NdArray};

impl<A: Element, D: Dimension + 'static> Export<NdArray> for Array<A, D> {
    fn export(self) -> Result<Tensor, Error> {
        if !self.is_standard_layout() {
            // SAFETY: an `Array` is the only handle to its vector (axiom *owned*).
            return Ok(unsafe { own(self, Flags::empty(), |array| array.as_mut_ptr()) });
        }
        // In standard order the vector and the shape describe the array completely. The vector becomes the owner, so
        // that an import can take it back as a vector or as an array of any rank type.
        let (len, dim, shape): (_, _, Dims) = (self.len(), self.raw_dim(), lengths(&self).collect());
        match self.into_raw_vec_and_offset() {
            (mut vec, None | Some(0)) => {
                vec.truncate(len);
                // SAFETY: the vector begins with the array's `len` elements (axiom *vector*), or there are none; it was
                // cut off behind them.
                Ok(unsafe { own_vec(vec, &shape) })
            }
            (vec, Some(offset)) => {
                let window = Array::from_vec(vec).slice_move(s![offset..offset + len]).into_shape_with_order(dim);
                let window = window.map_err(|_| Error::LengthMismatch { expected: len, found: len })?;
                // SAFETY: as above.
                Ok(unsafe { own(window, Flags::empty(), |array| array.as_mut_ptr()) })
            }
        }
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        copy(self)
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        describe(self, Flags::empty(), |tensor| match self.is_standard_layout() {
            true => read(&tensor.owned_by::<Vec<A>>(), None),
            false => read(&tensor.solely_owned_by::<Array<A, IxDyn>>(), None),
        })
    }
}

impl<A: Element, D: Dimension + 'static> Export<NdArray> for ArcArray<A, D> {
    fn export(self) -> Result<Tensor, Error> {
        match self.try_into_owned_nocopy() {
            Ok(unique) => unique.export(),
            // SAFETY: nobody writes elements that have another handle, such as the tensor's (axiom *shared*).
            Err(shared) => Ok(unsafe { own(shared, Flags::READ_ONLY, |array| array.as_ptr().cast_mut()) }),
        }
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        copy(self)
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        // Only the export finds out whether this is the only handle. The description assumes that it is not, so it may
        // announce a copy that is not needed in the end.
        describe(self, Flags::READ_ONLY, |tensor| read(&tensor.owned_by::<ArcArray<A, IxDyn>>(), None))
    }
}

/// The array types that borrow their elements. They can only be exported as a copy.
macro_rules! borrowed {
    ($([$($generics:tt)*] $ty:ty;)*) => {$(
        impl<$($generics)*, A: Element, D: Dimension> Export<NdArray> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                Err(Error::CopyRequired { framework: NAME, reason: Reason::Borrowed })
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                copy(self)
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                describe(self, Flags::READ_ONLY, |tensor| read(tensor, Some(Reason::Borrowed)))
            }
        }
    )*};
}

borrowed! {
    ['a] ArrayView<'a, A, D>;
    ['a] ArrayViewMut<'a, A, D>;
    [S: Data<Elem = A>] &ArrayBase<S, D>;
}

/// Lends an array to code that reads DLPack tensors, for as long as that code runs.
///
/// `Copies: never.`
///
/// # Errors
/// [`Error::Overflow`] if the array is larger than DLPack can express. ndarray itself allows no such array.
pub fn with_ref<A: Element, D: Dimension, R>(
    array: &ArrayRef<A, D>,
    read: impl FnOnce(TensorRef<'_>) -> R,
) -> Result<R, Error> {
    describe(array, Flags::READ_ONLY, |tensor| {
        // SAFETY: the array is borrowed while `read` runs, so that its elements can be read, and nobody writes them
        // (axiom *layout*); they are values of `A`.
        read(unsafe { TensorRef::from_descriptor(*tensor) })
    })
}

fn lengths<A, D: Dimension>(array: &ArrayRef<A, D>) -> impl ExactSizeIterator<Item = i64> {
    array.shape().iter().map(|length| *length as i64)
}

fn strides<A, D: Dimension>(array: &ArrayRef<A, D>) -> impl ExactSizeIterator<Item = i64> {
    array.strides().iter().map(|stride| *stride as i64)
}

fn describe<A: Element, D: Dimension, R>(
    array: &ArrayRef<A, D>,
    flags: Flags,
    read: impl FnOnce(&Descriptor<'_>) -> R,
) -> Result<R, Error> {
    let (shape, strides): (Dims, Dims) = (lengths(array).collect(), strides(array).collect());
    let tensor = Descriptor::new(array.as_ptr().cast(), A::DTYPE, Device::CPU, flags, &shape, Some(&strides))?;
    Ok(read(&tensor))
}

fn copy<A: Element, D: Dimension>(array: &ArrayRef<A, D>) -> Result<Tensor, Error> {
    with_ref(array, |tensor| tensor.to_contiguous())?
}

/// A tensor owned by the array itself. The array gets a dynamic rank, so that an import can turn it into any rank.
///
/// # Safety
/// `data` gives the array's first element. Unless the flags say read-only, the array is the only handle to its storage,
/// and the address may be written.
unsafe fn own<S, A, D>(
    array: ArrayBase<S, D>,
    flags: Flags,
    data: impl FnOnce(&mut ArrayBase<S, IxDyn>) -> *mut A,
) -> Tensor
where
    S: Data<Elem = A>,
    A: Element,
    D: Dimension,
    ArrayBase<S, IxDyn>: Send + 'static,
{
    let array = array.into_dyn();
    let memory = Memory { dtype: A::DTYPE, device: Device::CPU, flags, is_valid: true };
    let ndim = array.ndim();
    // SAFETY: the lengths and strides are those of the array (axiom *layout*). Everything between its lowest element
    // and its highest is initialised (axiom *storage*), and stays alive and in place (axioms *owned* and *shared*).
    // Elements are values of `A`. The rest is the caller's promise.
    unsafe {
        Tensor::from_sole_owner(array, memory, ndim, |array, shape, steps| {
            lengths(array).zip(shape).for_each(|(length, slot)| *slot = length);
            strides(array).zip(steps).for_each(|(stride, slot)| *slot = stride);
            data(array).cast()
        })
    }
}

/// A row-major tensor owned by the vector of its elements.
///
/// # Safety
/// The shape has just as many elements as the vector.
unsafe fn own_vec<A: Element>(vec: Vec<A>, shape: &[i64]) -> Tensor {
    let memory = Memory { dtype: A::DTYPE, device: Device::CPU, flags: Flags::empty(), is_valid: true };
    // SAFETY: the caller's promise; the vector is the only handle to its elements.
    unsafe {
        Tensor::from_owner(vec, memory, shape.len(), |vec, lengths, strides| {
            lengths.copy_from_slice(shape);
            dlbridge_core::layout::fill_row_major(lengths, strides);
            vec.as_mut_ptr().cast()
        })
    }
}
