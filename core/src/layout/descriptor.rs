//! What a tensor is, without access to its elements.

use core::any::TypeId;
use core::{fmt, ptr, slice};

use super::{rules, Extent, Strides};
use crate::error::Error;
use crate::sys::DLTensor;
use crate::types::{DataType, Device, Flags};

/// What a tensor is, without access to its elements: type, place, shape, strides, flags and address.
///
/// # Invariants
/// 1. *axes*: lengths are 0 or more; strides, where explicit, are as many as lengths.
/// 2. *bounds*: the element count, the size and the extent in bytes fit an `isize`, as [`validate`](super::validate)
///    checks.
/// 3. *first*: `data` points at the first element (`byte_offset` applied), and is not NULL if there are elements.
#[derive(Clone, Copy)]
pub struct Descriptor<'a> {
    pub(crate) data: *mut u8,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
    pub(crate) flags: Flags,
    pub(crate) shape: &'a [i64],
    pub(crate) strides: Option<&'a [i64]>,
    pub(crate) owner: Option<&'static Provenance>,
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
        let this = Self { data: data.cast_mut(), dtype, device, flags, shape, strides, owner: None };
        this.check_numbers().map(|()| this)
    }

    /// Checks all invariants but one: that there are as many strides as lengths is up to the caller.
    #[inline]
    pub(crate) fn check_numbers(&self) -> Result<(), Error> {
        let elements = rules::validate(self.shape, self.strides, self.dtype, self.flags.is_padded())?;
        if self.data.is_null() && elements > 0 {
            return Err(Error::NullData { elements });
        }
        Ok(())
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
        // SAFETY: the caller's promise; a `shape` that is NULL was refused above unless `ndim` is 0.
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
    /// [`Descriptor::from_raw`] has accepted `raw`, or `raw` was made so that it would, and `raw` has not changed
    /// since.
    #[inline]
    pub(crate) unsafe fn from_checked(raw: &DLTensor, flags: Flags, owner: Option<&'static Provenance>) -> Self {
        let ndim = raw.ndim as usize;
        // SAFETY: the caller's promise.
        let shape = unsafe { dims(raw.shape, ndim) }.unwrap_or(&[]);
        // SAFETY: the caller's promise.
        let strides = unsafe { dims(raw.strides, ndim) };
        let offset = if raw.data.is_null() { 0 } else { raw.byte_offset as usize };
        let data = raw.data.cast::<u8>().wrapping_add(offset);
        Self { data, dtype: raw.dtype.into(), device: raw.device.into(), flags, shape, strides, owner }
    }

    /// Says which Rust value would own the memory once it is exported, so that a [plan](crate::Import::plan) can
    /// tell whether that value would come back whole.
    #[must_use]
    pub fn owned_by<O: 'static>(self) -> Self {
        Self { owner: Some(Provenance::of::<O>(false, false)), ..self }
    }

    /// As [`Descriptor::owned_by`], for an owner that [`Tensor::from_sole_owner`](crate::Tensor::from_sole_owner) would
    /// get.
    #[must_use]
    pub fn solely_owned_by<O: 'static>(self) -> Self {
        Self { owner: Some(Provenance::of::<O>(false, true)), ..self }
    }

    /// Whether the memory is, or will be, owned by an `O` that [`Tensor::downcast`](crate::Tensor::downcast) can take
    /// out.
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
        // By invariants *axes* and *bounds* this neither overflows nor meets a negative number.
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

    /// The extent, as offsets from the first element; `None` if there are no elements.
    pub fn extent(&self) -> Option<Extent> {
        rules::extent_of(self.shape, self.strides)
    }

    /// Whether all that lies between the lowest and the highest element is the tensor's own: its elements fill it, or
    /// its owner has [said so](crate::Tensor::from_sole_owner).
    ///
    /// A target whose tensors can reach into the gaps (by another stride, or as a slice of bytes) takes a writable
    /// tensor only if this holds: somebody else may use what lies in the gaps.
    pub fn owns_extent(&self) -> bool {
        self.owner.is_some_and(|owner| owner.owns_extent) || rules::fills_extent(self.shape, self.strides)
    }

    /// Whether the elements are next to each other in row-major order. The strides of axes of length 1 do not matter.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        rules::is_row_major(self.shape, self.strides)
    }

    /// Whether the elements are next to each other in column-major (Fortran) order.
    pub fn is_column_major(&self) -> bool {
        rules::is_column_major(self.shape, self.strides)
    }

    /// The address of the first element. Reading it needs a [`TensorRef`](crate::TensorRef); on most devices it is not
    /// a CPU address.
    #[inline]
    pub fn data(&self) -> *const u8 {
        self.data
    }

    /// Checks that the first element, if there is one, is aligned to `align` bytes.
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

    /// Checks that the CPU can read the memory.
    ///
    /// # Errors
    /// [`Error::NotOnHost`].
    #[inline]
    pub fn check_host(&self) -> Result<(), Error> {
        if self.device == Device::CPU || self.device.is_host_accessible() {
            return Ok(());
        }
        Err(Error::NotOnHost { device: self.device })
    }

    /// Checks that the elements are of type `dtype`.
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

    /// Checks that the tensor has `expected` axes.
    ///
    /// # Errors
    /// [`Error::NdimMismatch`].
    #[inline]
    pub fn check_ndim(&self, expected: usize) -> Result<(), Error> {
        if self.ndim() != expected {
            return Err(Error::NdimMismatch { expected, shape: self.shape.into() });
        }
        Ok(())
    }

    /// Checks that the legacy ABI, which has no flags, can express this tensor.
    pub(crate) fn check_legacy(&self) -> Result<(), Error> {
        if self.flags.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if self.flags.is_padded() && self.dtype.is_sub_byte() {
            return Err(Error::Inexpressible { framework: "the legacy ABI", what: "padded sub-byte elements" });
        }
        Ok(())
    }

    /// Checks that type and shape are those of `other`.
    ///
    /// # Errors
    /// [`Error::DTypeMismatch`], [`Error::NdimMismatch`], [`Error::AxisMismatch`].
    pub fn check_like(&self, other: &Descriptor<'_>) -> Result<(), Error> {
        self.check_dtype(other.dtype)?;
        self.check_ndim(other.ndim())?;
        match self.shape.iter().zip(other.shape).position(|(found, expected)| found != expected) {
            Some(axis) => Err(Error::AxisMismatch { axis, expected: other.shape[axis], found: self.shape[axis] }),
            None => Ok(()),
        }
    }

    /// The raw tensor. Its strides are NULL if they are not explicit here, and its `byte_offset` is 0. It points to the
    /// shape and strides that this descriptor borrows.
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

/// What is known of the owner of a tensor that this crate made from a Rust value.
pub(crate) struct Provenance {
    /// The type of the owner.
    pub(crate) type_id: fn() -> TypeId,
    /// Whether every element is known to be a valid value of its type.
    pub(crate) is_valid: bool,
    /// Whether nobody else uses the memory between the elements, as
    /// [`Tensor::from_sole_owner`](crate::Tensor::from_sole_owner) was promised.
    pub(crate) owns_extent: bool,
}

impl Provenance {
    /// The provenance of an `O`. It is static, so that tensors and descriptors only hold its address.
    #[inline]
    pub(crate) fn of<O: 'static>(is_valid: bool, owns_extent: bool) -> &'static Self {
        match (is_valid, owns_extent) {
            (true, true) => const { &Self { type_id: TypeId::of::<O>, is_valid: true, owns_extent: true } },
            (true, false) => const { &Self { type_id: TypeId::of::<O>, is_valid: true, owns_extent: false } },
            (false, true) => const { &Self { type_id: TypeId::of::<O>, is_valid: false, owns_extent: true } },
            (false, false) => const { &Self { type_id: TypeId::of::<O>, is_valid: false, owns_extent: false } },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legacy_abi_has_no_way_to_say_read_only_or_padded() {
        let padded = Error::Inexpressible { framework: "the legacy ABI", what: "padded sub-byte elements" };
        for (dtype, flags, expected) in [
            (DataType::FLOAT32, Flags::COPIED, Ok(())),
            (DataType::FLOAT32, Flags::PADDED, Ok(())), // there is nothing to pad
            (DataType::FLOAT4_E2M1FN, Flags::empty(), Ok(())),
            (DataType::FLOAT4_E2M1FN, Flags::PADDED, Err(padded)),
            (DataType::FLOAT32, Flags::READ_ONLY, Err(Error::ReadOnly)),
        ] {
            let it = Descriptor::new(ptr::null(), dtype, Device::CPU, flags, &[0], None).unwrap();
            assert_eq!(it.check_legacy(), expected, "{dtype} {flags:?}");
        }
    }
}
