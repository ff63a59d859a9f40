//! Tensors without ownership: what they are ([`Descriptor`]), reading them ([`TensorRef`]), writing them
//! ([`TensorMut`]).

use alloc::vec::Vec;
use core::any::TypeId;
use core::marker::PhantomData;
use core::ops::Deref;
use core::{fmt, mem, ptr, slice};

use crate::layout::{self, Dims, Extent, Strides};
use crate::owner::Provenance;
use crate::sys::DLTensor;
use crate::{DataType, Device, Element, Error, Flags, Tensor};

/// What a tensor is, without access to its elements: type, place, shape, strides, flags and address.
///
/// # Invariants
/// 1. Lengths are 0 or more; strides, where explicit, are as many as lengths.
/// 2. The element count, the size and the extent in bytes fit an `isize`, as [`layout::validate`] checks.
/// 3. `data` points at the first element (`byte_offset` applied), and is not NULL if there are elements.
#[derive(Clone, Copy)]
pub struct Descriptor<'a> {
    data: *mut u8,
    dtype: DataType,
    device: Device,
    flags: Flags,
    shape: &'a [i64],
    strides: Option<&'a [i64]>,
    owner: Option<Provenance>,
}

impl<'a> Descriptor<'a> {
    /// Describes memory at `data`, checking every number.
    ///
    /// # Errors
    /// [`Error::NegativeLength`], [`Error::Overflow`], [`Error::NullData`], and [`Error::LengthMismatch`] if the
    /// strides are not as many as the lengths.
    pub fn new(
        data: *const u8,
        dtype: DataType,
        device: Device,
        flags: Flags,
        shape: &'a [i64],
        strides: Option<&'a [i64]>,
    ) -> Result<Self, Error> {
        if let Some(strides) = strides.filter(|strides| strides.len() != shape.len()) {
            return Err(Error::LengthMismatch { expected: shape.len(), found: strides.len() });
        }
        let elements = layout::validate(shape, strides, dtype, flags.is_padded())?;
        if data.is_null() && elements > 0 {
            return Err(Error::NullData { elements });
        }
        Ok(Self { data: data.cast_mut(), dtype, device, flags, shape, strides, owner: None })
    }

    /// Reads and checks a raw tensor.
    ///
    /// # Safety
    /// If `ndim` is positive, `shape` is NULL or points to `ndim` integers, and so is `strides`; both stay unchanged
    /// for `'a`.
    ///
    /// # Errors
    /// As [`Descriptor::new`]; [`Error::NegativeNdim`] and [`Error::NullShape`].
    pub unsafe fn from_raw(raw: &DLTensor, flags: Flags) -> Result<Self, Error> {
        let ndim = usize::try_from(raw.ndim).map_err(|_| Error::NegativeNdim { ndim: raw.ndim })?;
        if raw.shape.is_null() && ndim > 0 {
            return Err(Error::NullShape { ndim: raw.ndim });
        }
        // SAFETY: the caller's promise, for `shape` that is not NULL or a rank of 0.
        let shape = unsafe { dims(raw.shape, ndim) }.unwrap_or(&[]);
        // SAFETY: the caller's promise.
        let strides = unsafe { dims(raw.strides, ndim) };
        let data = raw.data.cast::<u8>();
        let offset = usize::try_from(raw.byte_offset).ok();
        if data.is_null() {
            return Self::new(data, raw.dtype.into(), raw.device.into(), flags, shape, strides);
        }
        let in_range = offset.is_some_and(|offset| (data as usize).checked_add(offset).is_some());
        let Some(offset) = offset.filter(|_| in_range) else {
            return Err(Error::Overflow { quantity: "byte_offset" });
        };
        Self::new(data.wrapping_add(offset), raw.dtype.into(), raw.device.into(), flags, shape, strides)
    }

    /// As [`Descriptor::from_raw`], for a tensor that was checked before.
    ///
    /// # Safety
    /// [`Descriptor::from_raw`] has accepted `raw`, or it was made to be accepted, and it has not changed.
    #[inline]
    pub(crate) unsafe fn from_checked(raw: &DLTensor, flags: Flags, owner: Option<Provenance>) -> Self {
        let ndim = raw.ndim as usize;
        // SAFETY: the caller's promise.
        let shape = unsafe { dims(raw.shape, ndim) }.unwrap_or(&[]);
        // SAFETY: the caller's promise.
        let strides = unsafe { dims(raw.strides, ndim) };
        let offset = if raw.data.is_null() { 0 } else { raw.byte_offset as usize };
        let data = raw.data.cast::<u8>().wrapping_add(offset);
        Self { data, dtype: raw.dtype.into(), device: raw.device.into(), flags, shape, strides, owner }
    }

    /// Says which Rust value would own the memory once it is exported, so that a [route](crate::Import::route) can
    /// tell whether that value would come back whole.
    #[must_use]
    pub fn owned_by<O: 'static>(self) -> Self {
        Self { owner: Some(Provenance { type_id: TypeId::of::<O>, is_valid: false }), ..self }
    }

    /// Whether the memory is, or will be, owned by an `O` that [`Tensor::downcast`] can take out.
    pub fn is_owned_by<O: 'static>(&self) -> bool {
        self.owner.is_some_and(|owner| (owner.type_id)() == TypeId::of::<O>())
    }

    /// The type of one element.
    #[inline]
    pub fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Where the memory is.
    #[inline]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Flags of the exchange.
    #[inline]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// The number of axes.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The lengths of the axes, in elements.
    #[inline]
    pub fn shape(&self) -> &'a [i64] {
        self.shape
    }

    /// The strides of the axes, in elements.
    #[inline]
    pub fn strides(&self) -> Strides<'a> {
        Strides::new(self.shape, self.strides)
    }

    /// The number of elements; 1 for a 0-d tensor.
    #[inline]
    pub fn len(&self) -> usize {
        // By invariants (1) and (2) this neither overflows nor meets a negative number.
        self.shape.iter().fold(1usize, |count, length| count.wrapping_mul(*length as usize))
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The bytes that the elements take when they are contiguous.
    pub fn nbytes(&self) -> usize {
        self.dtype.size_of(self.len(), self.flags.is_padded()).unwrap_or(usize::MAX)
    }

    /// The offsets that the layout reaches from the first element; `None` if there are no elements.
    pub fn extent(&self) -> Option<Extent> {
        layout::extent_of(self.shape, self.strides)
    }

    /// Whether the elements are next to each other in row-major order. Axes of length 1 do not count.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        layout::is_row_major(self.shape, self.strides)
    }

    /// Whether the elements are next to each other in column-major (Fortran) order.
    pub fn is_column_major(&self) -> bool {
        layout::is_column_major(self.shape, self.strides)
    }

    /// The address of the first element. Reading it needs a [`TensorRef`]; on most devices it is not a CPU address.
    #[inline]
    pub fn data(&self) -> *const u8 {
        self.data
    }

    /// The alignment that `bytes` bytes ask for is met by the first element, or there is none.
    ///
    /// # Errors
    /// [`Error::Misaligned`].
    #[inline]
    pub fn check_align(&self, align: usize) -> Result<(), Error> {
        if align > 1 && self.data as usize % align != 0 && !self.is_empty() {
            return Err(Error::Misaligned { address: self.data as usize, align });
        }
        Ok(())
    }

    /// The CPU can read the memory.
    ///
    /// # Errors
    /// [`Error::NotOnHost`].
    #[inline]
    pub fn check_host(&self) -> Result<(), Error> {
        if self.device != Device::CPU && !self.device.is_host_accessible() {
            return Err(Error::NotOnHost { device: self.device });
        }
        Ok(())
    }

    /// The elements are of type `dtype`.
    ///
    /// # Errors
    /// [`Error::DTypeMismatch`].
    #[inline]
    pub fn check_dtype(&self, dtype: DataType) -> Result<(), Error> {
        if self.dtype != dtype {
            return Err(Error::DTypeMismatch { expected: dtype, found: self.dtype });
        }
        Ok(())
    }

    /// The raw tensor, with explicit numbers where this has them, and `byte_offset` 0. It points into what this
    /// borrows.
    pub fn to_raw(&self) -> DLTensor {
        DLTensor {
            data: self.data.cast(),
            device: self.device.into(),
            ndim: self.shape.len() as i32,
            dtype: self.dtype.into(),
            shape: self.shape.as_ptr().cast_mut(),
            strides: self.strides.map_or(ptr::null_mut(), |strides| strides.as_ptr().cast_mut()),
            byte_offset: 0,
        }
    }
}

/// # Safety
/// `numbers` is NULL or points to `ndim` integers that stay unchanged for `'a`.
#[inline]
unsafe fn dims<'a>(numbers: *const i64, ndim: usize) -> Option<&'a [i64]> {
    if numbers.is_null() {
        return None;
    }
    if ndim == 0 {
        return Some(&[]);
    }
    // SAFETY: not NULL, so the caller's promise holds.
    Some(unsafe { slice::from_raw_parts(numbers, ndim) })
}

impl fmt::Debug for Descriptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("dtype", &format_args!("{}", self.dtype))
            .field("device", &format_args!("{}", self.device))
            .field("shape", &self.shape)
            .field("strides", &self.strides())
            .field("data", &self.data)
            .field("flags", &self.flags)
            .finish()
    }
}

/// A borrowed tensor whose elements may be read: checked once, then free to use.
///
/// # Invariants
/// 4. The memory within the extent is initialised, readable and not written for `'a`.
/// 5. If the descriptor says so, the elements are valid values of their type (a `bool` is 0 or 1). Only a tensor that
///    was made here from a Rust value says so.
#[derive(Clone, Copy, Debug)]
pub struct TensorRef<'a>(Descriptor<'a>);

// SAFETY: by invariant (4) a `TensorRef` gives the access of a shared slice of plain numbers.
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
    /// `Copies: never`. Shape in elements.
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
    /// Invariant (4) holds.
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
    /// alignment, and for `bool` the values. Strides are the caller's business. Aligned and not NULL even if there
    /// are no elements.
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
        if !T::ANY_BITS && !self.is_valid() {
            self.check_bools()?;
        }
        Ok(self.data.cast::<T>().cast_const())
    }

    /// The elements, if they are next to each other in row-major order.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`]; [`Error::NotContiguous`].
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], Error> {
        if !self.is_row_major() {
            return Err(Error::NotContiguous);
        }
        let data = self.as_ptr()?;
        // SAFETY: contiguous, so `len` elements follow `data`; by (2) their size fits, by (4) they are readable for
        // `'a`, and `as_ptr` checked type, alignment and values.
        Ok(unsafe { slice::from_raw_parts(data, self.len()) })
    }

    /// The element at `index`, one number an axis.
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`]; [`Error::NdimMismatch`] and [`Error::IndexOutOfBounds`].
    pub fn get<T: Element>(&self, index: &[usize]) -> Result<T, Error> {
        let offset = self.offset(index)?;
        let data = self.as_ptr::<T>()?;
        // SAFETY: every index is in bounds, so by (2) the offset is within the extent.
        let element = unsafe { data.offset(offset) };
        // SAFETY: by (4) it is readable, and `as_ptr` checked the rest.
        Ok(unsafe { element.read() })
    }

    /// The offset of an element from the first, in elements.
    fn offset(&self, index: &[usize]) -> Result<isize, Error> {
        if index.len() != self.ndim() {
            return Err(Error::NdimMismatch { expected: self.ndim(), found: index.len() });
        }
        let mut offset = 0isize;
        for (axis, ((index, length), stride)) in index.iter().zip(self.shape).zip(self.strides().iter()).enumerate() {
            let length = *length as usize;
            if *index >= length {
                return Err(Error::IndexOutOfBounds { axis, index: *index, length });
            }
            if length > 1 {
                offset += *index as isize * stride as isize;
            }
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
        Ok(Elements { data, offsets: Offsets::new(&self.0), lifetime: PhantomData })
    }

    #[inline]
    fn is_valid(&self) -> bool {
        self.owner.is_some_and(|owner| owner.is_valid)
    }

    /// Every element, checked to be a boolean. Broadcast axes are walked once: they hold the same elements again.
    fn check_bools(&self) -> Result<(), Error> {
        let data = self.data.cast_const();
        let strides: Dims = self.strides().iter().collect();
        let once: Dims =
            self.shape.iter().zip(&*strides).map(|(n, stride)| if *stride == 0 { 1.min(*n) } else { *n }).collect();
        let walked = Descriptor { shape: &once, strides: Some(&strides), ..self.0 };
        let mut offsets = Offsets::new(&walked);
        let mut at = Dims::zeros(self.ndim());
        loop {
            at.copy_from_slice(&offsets.index);
            let Some(offset) = offsets.next() else { return Ok(()) };
            // SAFETY: an offset of the layout is within the extent.
            let byte = unsafe { data.offset(offset) };
            // SAFETY: by (4) it is readable.
            let value = unsafe { byte.read() };
            if value > 1 {
                let index =
                    at.iter().zip(self.shape).fold(0, |index, (at, length)| index * *length as usize + *at as usize);
                return Err(Error::InvalidBool { index, value });
            }
        }
    }

    /// The elements in a vector, in row-major order.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`], but alignment is no matter; [`Error::OutOfMemory`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        self.check_dtype(T::DTYPE)?;
        if !T::ANY_BITS && !self.is_valid() {
            self.check_host()?;
            self.check_bools()?;
        }
        crate::relayout::to_vec(self)
    }

    /// The bytes of the elements in row-major order, of any type. Sub-byte elements stay packed or padded as they are.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// [`Error::NotOnHost`] and [`Error::OutOfMemory`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        crate::relayout::to_bytes(self)
    }

    /// The elements written to `target`, in row-major order.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// As [`TensorRef::to_vec`]; [`Error::LengthMismatch`] if `target` has another number of elements.
    pub fn copy_to_slice<T: Element>(&self, target: &mut [T]) -> Result<(), Error> {
        if target.len() != self.len() {
            return Err(Error::LengthMismatch { expected: self.len(), found: target.len() });
        }
        self.check_dtype(T::DTYPE)?;
        self.check_host()?;
        if !T::ANY_BITS && !self.is_valid() {
            self.check_bools()?;
        }
        // SAFETY: `target` has room for all elements; they are of its type, and valid.
        unsafe { crate::relayout::copy(self, target.as_mut_ptr().cast()) };
        Ok(())
    }

    /// A new row-major tensor with the same elements, of any type, marked as copied.
    ///
    /// `Copies: always`, once. Sub-byte elements stay packed or padded as they are.
    ///
    /// # Errors
    /// [`Error::NotOnHost`], [`Error::OutOfMemory`], and [`Error::InvalidBool`] for booleans.
    pub fn to_contiguous(&self) -> Result<Tensor, Error> {
        if self.dtype() == DataType::BOOL && !self.is_valid() {
            self.check_host()?;
            self.check_bools()?;
        }
        crate::relayout::to_tensor(self)
    }
}

/// A borrowed tensor whose elements may be read and written.
///
/// # Invariants
/// 6. As [`TensorRef`], but nobody else reads or writes the memory for `'a`, and no two elements overlap.
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
    /// Invariants (4) to (6) hold, but for the overlap, which is checked.
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
        // The pointer's right to write comes from invariant (6); the cast only undoes `as_ptr`'s.
        self.0.as_ptr::<T>().map(<*const T>::cast_mut)
    }

    /// Writes the element at `index`, one number an axis.
    ///
    /// # Errors
    /// As [`TensorRef::get`].
    pub fn set<T: Element>(&mut self, index: &[usize], element: T) -> Result<(), Error> {
        let offset = self.0.offset(index)?;
        let data = self.as_mut_ptr::<T>()?;
        // SAFETY: every index is in bounds, so by (2) the offset is within the extent.
        let place = unsafe { data.offset(offset) };
        // SAFETY: by (6) it is writable, and `as_mut_ptr` checked the rest.
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
        // SAFETY: as in `TensorRef::as_slice`; by (6) nobody else has access while `self` is borrowed.
        Ok(unsafe { slice::from_raw_parts_mut(data, len) })
    }

    /// As [`TensorMut::as_mut_slice`], for the whole lifetime.
    ///
    /// # Errors
    /// As [`TensorRef::as_slice`].
    pub fn into_mut_slice<T: Element>(mut self) -> Result<&'a mut [T], Error> {
        let elements: *mut [T] = self.as_mut_slice()?;
        // SAFETY: by (6) the access is exclusive for `'a`, and `self`, which held it, is gone.
        Ok(unsafe { &mut *elements })
    }
}

/// Walks the offsets of a layout in row-major order, in elements from the first.
pub(crate) struct Offsets<'a> {
    shape: &'a [i64],
    strides: Dims,
    index: Dims,
    offset: isize,
    left: usize,
}

impl<'a> Offsets<'a> {
    pub(crate) fn new(descriptor: &Descriptor<'a>) -> Self {
        Self {
            shape: descriptor.shape,
            strides: descriptor.strides().iter().collect(),
            index: Dims::zeros(descriptor.ndim()),
            offset: 0,
            left: descriptor.len(),
        }
    }
}

impl Iterator for Offsets<'_> {
    type Item = isize;

    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.offset;
        for axis in (0..self.shape.len()).rev() {
            let stride = self.strides[axis] as isize;
            if self.index[axis] + 1 < self.shape[axis] {
                self.index[axis] += 1;
                self.offset += stride;
                break;
            }
            // On an axis of length 1 the index is 0 and its stride, which may be anything, is not used.
            if self.index[axis] > 0 {
                self.offset -= self.index[axis] as isize * stride;
                self.index[axis] = 0;
            }
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The elements of a [`TensorRef`], in row-major order.
pub struct Elements<'a, T> {
    data: *const T,
    offsets: Offsets<'a>,
    lifetime: PhantomData<&'a [T]>,
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let offset = self.offsets.next()?;
        // SAFETY: an offset of the layout is within the extent, which by (2) is in range.
        let element = unsafe { self.data.offset(offset) };
        // SAFETY: by (4) readable; type, alignment and values were checked when `data` was made.
        Some(unsafe { element.read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}

impl<T> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements").field("left", &self.offsets.left).finish()
    }
}
