//! Copies of a tensor as a vector, as bytes or as a new tensor. Each element is copied once, by [`crate::copy`].

use alloc::vec::Vec;
use core::mem::{size_of, MaybeUninit};
use core::ptr::NonNull;
use core::slice;

use super::owned::Tensor;
use super::owner::Memory;
use super::view::TensorRef;
use crate::by_dtype;
use crate::copy::{relayout, stack};
use crate::error::Error;
use crate::layout::descriptor::Descriptor;
use crate::layout::{self, Dims};
use crate::types::{DataType, Device, Element, Flags};

impl TensorRef<'_> {
    /// The elements in a vector, in row-major order.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// As [`TensorRef::as_ptr`], but any alignment will do; [`Error::OutOfMemory`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        self.check_dtype(T::DTYPE)?;
        self.check_host()?;
        self.check_values()?;
        // SAFETY: the CPU can read the elements, as checked, and `fill` gives room for all of them.
        let write = |target| unsafe { copy_all(self, target) };
        // SAFETY: all elements are written, and they are valid `T`s, as checked.
        unsafe { fill(self.len(), write) }
    }

    /// The bytes of the elements in row-major order, whatever their type. Sub-byte elements stay packed or padded as
    /// they are.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// [`Error::NotOnHost`] and [`Error::OutOfMemory`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.check_host()?;
        // SAFETY: as in `to_vec`.
        let write = |target| unsafe { copy_all(self, target) };
        // SAFETY: all bytes are written.
        unsafe { fill(self.nbytes(), write) }
    }

    /// Writes the elements to `target`, in row-major order.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// As [`TensorRef::to_vec`]; [`Error::LengthMismatch`] if `target` has another number of elements.
    pub fn copy_to_slice<T: Element>(&self, target: &mut [T]) -> Result<(), Error> {
        let target: *mut [T] = target;
        // SAFETY: initialised elements may be treated as possibly uninitialised ones, because only valid ones are
        // written.
        self.copy_to_uninit(unsafe { &mut *(target as *mut [MaybeUninit<T>]) })?;
        Ok(())
    }

    /// Writes the elements to a slice that need not be initialised yet, in row-major order.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// As [`TensorRef::copy_to_slice`].
    pub fn copy_to_uninit<'t, T: Element>(&self, target: &'t mut [MaybeUninit<T>]) -> Result<&'t mut [T], Error> {
        if target.len() != self.len() {
            return Err(Error::LengthMismatch { expected: self.len(), found: target.len() });
        }
        self.check_dtype(T::DTYPE)?;
        self.check_host()?;
        self.check_values()?;
        // SAFETY: the CPU can read the elements, and `target` has room for all of them.
        unsafe { relayout::copy(self, target.as_mut_ptr().cast()) };
        // SAFETY: all of them are written, they are of its type, and valid.
        Ok(unsafe { slice::from_raw_parts_mut(target.as_mut_ptr().cast(), target.len()) })
    }

    /// A new row-major tensor with the same elements, of any type, marked as copied.
    ///
    /// `Copies: always`, once. Sub-byte elements stay packed or padded as they are.
    ///
    /// # Errors
    /// [`Error::NotOnHost`], [`Error::OutOfMemory`], and [`Error::InvalidBool`] for booleans.
    pub fn to_contiguous(&self) -> Result<Tensor, Error> {
        self.check_values()?;
        self.check_host()?;
        // SAFETY: as in `to_vec`.
        let write = |target| unsafe { copy_all(self, target) };
        // SAFETY: all bytes are written, and booleans are valid, as checked.
        unsafe { filled(self, true, write) }
    }
}

impl Tensor {
    /// The elements in a vector, in row-major order.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// As [`TensorRef::to_vec`].
    pub fn to_vec<T: Element>(&self) -> Result<alloc::vec::Vec<T>, Error> {
        self.view().to_vec()
    }

    /// A new row-major tensor with the same elements.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// As [`TensorRef::to_contiguous`].
    pub fn to_contiguous(&self) -> Result<Self, Error> {
        self.view().to_contiguous()
    }

    /// A new row-major tensor of `parts`, which all have one type and shape, side by side along the new axis `axis`
    /// (the array API's `stack`), marked as copied.
    ///
    /// `Copies: always`, once.
    ///
    /// # Errors
    /// What does not fit together: [`Error::DTypeMismatch`], [`Error::NdimMismatch`], [`Error::AxisMismatch`];
    /// [`Error::IndexOutOfBounds`] for the axis; [`Error::Unsupported`] if there are no parts, and for elements packed
    /// into parts of bytes; [`Error::NotOnHost`], [`Error::OutOfMemory`], and [`Error::InvalidBool`] for booleans.
    pub fn stack(parts: &[TensorRef<'_>], axis: usize) -> Result<Self, Error> {
        stack(parts, axis)
    }

    /// A new row-major tensor in host memory with the type and shape of `like`, marked as copied. `write` writes the
    /// bytes of the elements at the address that it is given.
    ///
    /// This is for adapters whose framework copies faster than a loop over strides can. The owner is a `Vec` of the
    /// element type where Rust has that type.
    ///
    /// # Safety
    /// If `write` gives `Ok`, it has written all `like.nbytes()` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what `write` returns.
    pub unsafe fn filled(
        like: &Descriptor<'_>,
        write: impl FnOnce(*mut u8) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        unsafe { filled(like, false, write) }
    }
}

/// See [`Tensor::stack`].
fn stack(parts: &[TensorRef<'_>], axis: usize) -> Result<Tensor, Error> {
    let Some(first) = parts.first() else {
        return Err(Error::Unsupported { framework: "Tensor::stack", what: "result for no tensors" });
    };
    if axis > first.ndim() {
        return Err(Error::IndexOutOfBounds { axis, index: axis, length: first.ndim() + 1 });
    }
    parts.iter().try_for_each(|part| check(part, first))?;
    let padded = first.flags().is_padded();
    let bits = first.dtype().stored_bits(padded);
    if bits % 8 != 0 {
        return Err(Error::Unsupported { framework: "Tensor::stack", what: "elements packed into parts of bytes" });
    }
    let mut shape: Dims = first.shape().iter().copied().chain([0]).collect();
    shape[axis..].rotate_right(1);
    shape[axis] = i64::try_from(parts.len()).map_err(|_| Error::Overflow { quantity: "element count" })?;
    let nowhere = NonNull::<u128>::dangling().as_ptr().cast::<u8>();
    let like = Descriptor::new(nowhere, first.dtype(), Device::CPU, first.flags(), &shape, None)?;
    let write = |target| {
        // SAFETY: the parts are checked, and `filled` gives room for all elements.
        unsafe { stack::copy(parts, axis, &like, bits as usize / 8, target) };
        Ok(())
    };
    // SAFETY: every element of the result is an element of one part, and `copy` writes all of every part; the parts'
    // booleans are checked.
    unsafe { filled(&like, true, write) }
}

/// Checks that `part` can be stacked beside `first`.
fn check(part: &TensorRef<'_>, first: &TensorRef<'_>) -> Result<(), Error> {
    part.check_host()?;
    part.check_like(first)?;
    part.check_values()?;
    if part.dtype().is_sub_byte() && part.flags().is_padded() != first.flags().is_padded() {
        return Err(Error::Unsupported { framework: "Tensor::stack", what: "mix of packed and padded elements" });
    }
    Ok(())
}

/// [`relayout::copy`] with the result type that [`fill`] expects.
///
/// # Safety
/// As [`relayout::copy`].
unsafe fn copy_all(source: &TensorRef<'_>, target: *mut u8) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { relayout::copy(source, target) };
    Ok(())
}

/// A row-major tensor of the type and shape of `like`, whose bytes `write` writes. It is owned by a vector of the
/// element type; where Rust has none, by one of bytes, or of 16-byte units if the elements are larger than a byte.
///
/// # Safety
/// `write` writes all `like.nbytes()` bytes at the address that it gets, or fails; if `is_valid`, with valid elements.
unsafe fn filled(
    like: &Descriptor<'_>,
    is_valid: bool,
    write: impl FnOnce(*mut u8) -> Result<(), Error>,
) -> Result<Tensor, Error> {
    let padded = Flags::from_bits(like.flags().bits() & Flags::PADDED.bits());
    let memory = Memory { dtype: like.dtype(), device: Device::CPU, flags: Flags::COPIED | padded, is_valid: true };
    if like.dtype() == DataType::BOOL && !is_valid {
        // SAFETY: the caller's promise; any byte is a valid `u8`.
        let bytes: Vec<u8> = unsafe { fill(like.len(), write) }?;
        if let Some(index) = bytes.iter().position(|byte| *byte > 1) {
            return Err(Error::InvalidBool { index, value: bytes[index] });
        }
        // This reuses the allocation: each byte becomes a boolean in its place.
        let elements: Vec<bool> = bytes.into_iter().map(|byte| byte == 1).collect();
        // SAFETY: the vector has one element for each of `like`.
        return Ok(unsafe { own(elements, memory, like.shape()) });
    }
    by_dtype!(
        like.dtype(),
        T => {
            // SAFETY: the caller's promise; the elements take just `nbytes` bytes.
            let elements = unsafe { fill::<T>(like.len(), write) }?;
            // SAFETY: the vector has one element for each of `like`.
            Ok(unsafe { own(elements, memory, like.shape()) })
        },
        _ => {
            let bytes = like.nbytes();
            if like.dtype().stored_bits(padded.is_padded()) <= 8 {
                // SAFETY: the caller's promise.
                let bytes = unsafe { fill::<u8>(bytes, write) }?;
                // SAFETY: the vector has the bytes of all elements.
                return Ok(unsafe { own(bytes, memory, like.shape()) });
            }
            // SAFETY: the caller's promise; the bytes of the last unit that lie after the first `nbytes` are zero.
            let units = unsafe { fill::<u128>(bytes.div_ceil(size_of::<u128>()), write) }?;
            // SAFETY: the units have the bytes of all elements, and perhaps a few more.
            Ok(unsafe { own(units, memory, like.shape()) })
        }
    )
}

/// A vector of `len` elements that `write` writes. The last one is zeroed first, so that `write` need not fill it.
///
/// # Safety
/// `write` writes the elements at the address that it gets, the last one at least in part, or fails. Zero is a valid
/// element.
unsafe fn fill<U>(len: usize, write: impl FnOnce(*mut u8) -> Result<(), Error>) -> Result<Vec<U>, Error> {
    let mut elements: Vec<U> = Vec::new();
    let bytes = len.saturating_mul(size_of::<U>());
    elements.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    if let Some(last) = elements.spare_capacity_mut()[..len].last_mut() {
        *last = MaybeUninit::zeroed();
    }
    write(elements.as_mut_ptr().cast())?;
    // SAFETY: there is room for them, and by the caller's promise they are written.
    unsafe { elements.set_len(len) };
    Ok(elements)
}

/// A row-major tensor over elements that `memory` and `shape` describe.
///
/// # Safety
/// The vector has at least as many bytes as the tensor, which are valid elements of its type; the shape passes
/// [`layout::validate`], and the memory is that of the CPU.
unsafe fn own<U: Send + 'static>(elements: Vec<U>, memory: Memory, shape: &[i64]) -> Tensor {
    // SAFETY: the caller's promise; the vector owns the elements, and nobody else has access.
    unsafe {
        Tensor::from_sole_owner(elements, memory, shape.len(), |elements, lengths, strides| {
            lengths.copy_from_slice(shape);
            layout::fill_row_major(lengths, strides);
            elements.as_mut_ptr().cast()
        })
    }
}
