//! Borrowed tensors: reading them ([`TensorRef`]) and writing them ([`TensorMut`]).

use core::ops::Deref;
use core::{mem, ptr, slice};

use crate::copy::{Elements, Offsets};
use crate::error::Error;
use crate::layout::descriptor::Descriptor;
use crate::layout::{self, Dims};
use crate::types::{DataType, Device, Element, Flags};

/// A borrowed tensor whose elements may be read: checked once, then free to use.
///
/// # Invariants
/// Those of [`Descriptor`], and:
/// 1. *readable*: the elements lie in one allocation, are initialised and readable, and are not written for `'a`. What
///    lies between them may be somebody else's, who writes it.
/// 2. *valid*: if the descriptor says so, the elements are valid values of their type (a `bool` is 0 or 1). Only a
///    tensor that this crate made from a Rust value says so.
#[derive(Clone, Copy, Debug)]
pub struct TensorRef<'a>(Descriptor<'a>);

// SAFETY: by invariant *readable* a `TensorRef` gives the access of a shared slice of plain numbers.
unsafe impl Send for TensorRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorRef<'_> {}

impl<'a> Deref for TensorRef<'a> {
    type Target = Descriptor<'a>;

    fn deref(&self) -> &Descriptor<'a> {
        &self.0
    }
}

impl<'a> TensorRef<'a> {
    /// A row-major tensor over a slice.
    ///
    /// `Copies: never`. The shape counts elements.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the shape asks for another number of elements; [`Error::NegativeLength`] and
    /// [`Error::Overflow`].
    pub fn from_slice<T: Element>(elements: &'a [T], shape: &'a [i64]) -> Result<Self, Error> {
        let expected = layout::count(shape)?;
        if expected != elements.len() {
            return Err(Error::LengthMismatch { expected, found: elements.len() });
        }
        let data = elements.as_ptr().cast();
        Descriptor::new(data, T::DTYPE, Device::CPU, Flags::READ_ONLY, shape, None).map(Self)
    }

    /// Borrows a described tensor.
    ///
    /// # Safety
    /// Invariant *readable* holds.
    #[inline]
    pub unsafe fn from_descriptor(descriptor: Descriptor<'a>) -> Self {
        Self(descriptor)
    }

    /// What this tensor is.
    #[inline]
    pub fn descriptor(&self) -> Descriptor<'a> {
        self.0
    }

    /// The address of the first element, once everything that reading it as `T` needs has been checked: type, device,
    /// alignment, and for `bool` the values. The caller has to mind the strides. The address is aligned and not NULL
    /// even if there are no elements.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// [`Error::DTypeMismatch`], [`Error::NotOnHost`], [`Error::Misaligned`], [`Error::InvalidBool`].
    #[inline]
    pub fn as_ptr<T: Element>(&self) -> Result<*const T, Error> {
        self.check_dtype(T::DTYPE)?;
        self.check_host()?;
        if self.data.is_null() || self.data as usize % mem::align_of::<T>() != 0 {
            self.check_align(mem::align_of::<T>())?;
            return Ok(ptr::NonNull::dangling().as_ptr()); // There are no elements.
        }
        self.check_values()?;
        Ok(self.data.cast::<T>().cast_const())
    }

    /// The elements, if they are next to each other in row-major order.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`]; [`Error::NotContiguous`].
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], Error> {
        if !self.is_row_major() {
            return Err(Error::NotContiguous);
        }
        let data = self.as_ptr()?;
        // SAFETY: the tensor is contiguous, so `len` elements follow `data`; by invariant *bounds* of `Descriptor`
        // their size fits, by *readable* they may be read for `'a`, and `as_ptr` checked type, alignment and values.
        Ok(unsafe { slice::from_raw_parts(data, self.len()) })
    }

    /// The element at `index`, which has one number for each axis.
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`]; [`Error::IndexMismatch`] and [`Error::IndexOutOfBounds`].
    pub fn get<T: Element>(&self, index: &[usize]) -> Result<T, Error> {
        let offset = self.offset(index)?;
        let data = self.as_ptr::<T>()?;
        // SAFETY: every index is in bounds, so the offset is within the extent, which fits by invariant *bounds* of
        // `Descriptor`.
        let element = unsafe { data.offset(offset) };
        // SAFETY: by invariant *readable* it may be read, and `as_ptr` checked the rest.
        Ok(unsafe { element.read() })
    }

    /// The offset of an element from the first, in elements.
    fn offset(&self, index: &[usize]) -> Result<isize, Error> {
        if index.len() != self.ndim() {
            return Err(Error::IndexMismatch { ndim: self.ndim(), found: index.len() });
        }
        let mut offset = 0isize;
        for (axis, ((index, length), stride)) in index.iter().zip(self.shape).zip(self.strides().iter()).enumerate() {
            let length = *length as usize;
            if *index >= length {
                return Err(Error::IndexOutOfBounds { axis, index: *index, length });
            }
            // Without a check: as long as every index is in bounds there are elements, whose offsets do not overflow.
            // On an axis of length 1 the index is 0, so that the stride, which may be any number, does not count.
            offset = offset.wrapping_add((*index as isize).wrapping_mul(stride as isize));
        }
        Ok(offset)
    }

    /// The elements in row-major order, whatever the strides.
    ///
    /// `Copies: never` (elements are read one by one).
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`].
    pub fn elements<T: Element>(&self) -> Result<Elements<'a, T>, Error> {
        let data = self.as_ptr()?;
        // SAFETY: `as_ptr` checked alignment, type and values; by invariant *readable* they may be read for `'a`.
        Ok(unsafe { Elements::new(data, &self.0) })
    }

    /// Checks that every element is a valid value of its type. Only booleans can be invalid; they are read unless their
    /// owner is known to hold valid ones.
    #[inline]
    pub(super) fn check_values(&self) -> Result<(), Error> {
        if self.dtype != DataType::BOOL || self.owner.is_some_and(|owner| owner.is_valid) {
            return Ok(());
        }
        self.check_host()?;
        self.check_bools()
    }

    /// Checks that every element is a boolean. A broadcast axis is walked once, because it only repeats the same
    /// elements.
    #[cold]
    fn check_bools(&self) -> Result<(), Error> {
        let data = self.data.cast_const();
        let axes = self.shape.iter().zip(self.strides().iter());
        let once: Dims = axes.map(|(n, stride)| if stride == 0 { 1.min(*n) } else { *n }).collect();
        let walked = Descriptor { shape: &once, ..self.0 };
        let mut offsets = Offsets::new(&walked);
        let mut at = Dims::zeros(self.ndim());
        loop {
            at.copy_from_slice(&offsets.index);
            let Some(offset) = offsets.next() else { return Ok(()) };
            // SAFETY: an offset of the layout is within the extent.
            let byte = unsafe { data.offset(offset) };
            // SAFETY: by invariant *readable* it may be read.
            let value = unsafe { byte.read() };
            if value > 1 {
                let index =
                    at.iter().zip(self.shape).fold(0, |index, (at, length)| index * *length as usize + *at as usize);
                return Err(Error::InvalidBool { index, value });
            }
        }
    }
}

/// A borrowed tensor whose elements may be read and written.
///
/// # Invariants
/// Those of [`TensorRef`], and:
/// 1. *exclusive*: the elements may be written, nobody else reads or writes them for `'a`, and no two of them overlap.
///    What lies between them is not touched.
#[derive(Debug)]
pub struct TensorMut<'a>(TensorRef<'a>);

impl<'a> TensorMut<'a> {
    /// A row-major tensor over a mutable slice.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// As [`TensorRef::from_slice`].
    pub fn from_slice<T: Element>(elements: &'a mut [T], shape: &'a [i64]) -> Result<Self, Error> {
        let data = elements.as_mut_ptr();
        let TensorRef(descriptor) = TensorRef::from_slice(elements, shape)?;
        Ok(Self(TensorRef(Descriptor { data: data.cast(), flags: Flags::empty(), ..descriptor })))
    }

    /// Borrows a described tensor for writing.
    ///
    /// # Safety
    /// Invariants *readable*, *valid* and *exclusive* hold, except that overlap is checked here. (*exclusive* need not
    /// hold of a tensor that is read-only, which is refused.)
    ///
    /// # Errors
    /// [`Error::ReadOnly`] and [`Error::Overlap`].
    pub unsafe fn from_descriptor(descriptor: Descriptor<'a>) -> Result<Self, Error> {
        if descriptor.flags.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if layout::may_overlap(descriptor.shape, descriptor.strides) {
            return Err(Error::Overlap);
        }
        Ok(Self(TensorRef(descriptor)))
    }

    /// The tensor for reading.
    pub fn as_ref(&self) -> TensorRef<'_> {
        self.0
    }

    /// What this tensor is.
    #[inline]
    pub fn descriptor(&self) -> Descriptor<'a> {
        self.0 .0
    }

    /// As [`TensorRef::as_ptr`], for writing.
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`].
    pub fn as_mut_ptr<T: Element>(&mut self) -> Result<*mut T, Error> {
        // The pointer's right to write comes from invariant *exclusive*; the cast only undoes the one in `as_ptr`.
        self.0.as_ptr::<T>().map(<*const T>::cast_mut)
    }

    /// Writes the element at `index`, which has one number for each axis.
    ///
    /// # Errors
    /// As [`TensorRef::get`].
    pub fn set<T: Element>(&mut self, index: &[usize], element: T) -> Result<(), Error> {
        let offset = self.0.offset(index)?;
        let data = self.as_mut_ptr::<T>()?;
        // SAFETY: every index is in bounds, so the offset is within the extent, which fits by invariant *bounds* of
        // `Descriptor`.
        let place = unsafe { data.offset(offset) };
        // SAFETY: by invariant *exclusive* it may be written, and `as_mut_ptr` checked the rest.
        unsafe { place.write(element) };
        Ok(())
    }

    /// The elements, if they are next to each other in row-major order.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// As [`TensorRef::as_slice`].
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], Error> {
        if !self.0.is_row_major() {
            return Err(Error::NotContiguous);
        }
        let (data, len) = (self.as_mut_ptr()?, self.0.len());
        // SAFETY: as in `TensorRef::as_slice`; by invariant *exclusive* nobody else has access meanwhile.
        Ok(unsafe { slice::from_raw_parts_mut(data, len) })
    }

    /// As [`TensorMut::as_mut_slice`], for the whole lifetime `'a`.
    ///
    /// # Errors
    /// As [`TensorRef::as_slice`].
    pub fn into_mut_slice<T: Element>(mut self) -> Result<&'a mut [T], Error> {
        let elements: *mut [T] = self.as_mut_slice()?;
        // SAFETY: by invariant *exclusive* nobody else has access for `'a`, and `self`, which had it, is gone.
        Ok(unsafe { &mut *elements })
    }
}
