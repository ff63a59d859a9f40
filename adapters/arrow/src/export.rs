//! Arrow → DLPack: arrays and buffers.

use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, MutableBuffer, ScalarBuffer};
use dlbridge_core::layout;
use dlbridge_core::{DataType, Descriptor, Device, Element, Error, Export, Flags, Memory, Reason, Tensor, TensorRef};

use crate::column::locate;
use crate::dtype::by_dtype;
use crate::source::Source;
use crate::{Arrow, Column, NAME, Options};

/// The owner of a tensor over a buffer that others may read, too.
pub(crate) struct Exported(pub(crate) Buffer);

/// What can be read as a [`Source`].
pub(crate) trait AsSource {
    fn source(&self) -> Result<Source<'_>, Error>;

    /// Adds to an error the name of the column that it is about, if the name is known.
    fn locate(&self, error: Error) -> Error {
        error
    }
}

impl AsSource for Column {
    fn source(&self) -> Result<Source<'_>, Error> {
        self.read(&self.options)
    }

    fn locate(&self, error: Error) -> Error {
        locate(self.field().name(), error)
    }
}

impl AsSource for ArrayRef {
    fn source(&self) -> Result<Source<'_>, Error> {
        Source::new(&**self, None, &Options::default())
    }
}

macro_rules! arrays {
    ($([$($generics:tt)*] $ty:ty;)*) => {$(
        impl<$($generics)*> AsSource for $ty {
            fn source(&self) -> Result<Source<'_>, Error> {
                Source::new(self, None, &Options::default())
            }
        }
    )*};
}

arrays! {
    [T: ArrowPrimitiveType] PrimitiveArray<T>;
    [] FixedSizeListArray;
    [] BooleanArray;
    [K: ArrowDictionaryKeyType] DictionaryArray<K>;
}

/// Implements the export of types that hold one array, by value and by reference.
macro_rules! exports {
    ($([$($generics:tt)*] $ty:ty;)*) => {$(
        impl<$($generics)*> Export<Arrow> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                let source = self.source()?;
                let buffer = source.plain().map_err(|error| self.locate(error))?;
                let (dtype, shape, strides) = (source.dtype, source.shape, source.strides);
                drop(self); // Now `buffer` may be the only handle to the memory.
                own(buffer, dtype, &shape, &strides)
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                self.source()?.copy().map_err(|error| self.locate(error))
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                self.source()?.describe(read)
            }
        }

        impl<$($generics)*> Export<Arrow> for &$ty {
            fn export(self) -> Result<Tensor, Error> {
                self.clone().export()
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                (**self).export_copy()
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                (**self).describe(read)
            }
        }
    )*};
}

exports! {
    [T: ArrowPrimitiveType] PrimitiveArray<T>;
    [] FixedSizeListArray;
    [] BooleanArray;
    [K: ArrowDictionaryKeyType] DictionaryArray<K>;
    [] ArrayRef;
    [] Column;
}

/// Implements the export of buffers. Each row gives a type, the type of its elements, and the `Buffer` in it.
macro_rules! buffers {
    ($([$($generics:tt)*] $ty:ty, $element:ty, $this:ident => $buffer:expr;)*) => {$(
        impl<$($generics)*> Export<Arrow> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                let ($this, length) = (&self, self.len() as i64);
                let buffer: Buffer = $buffer.clone();
                drop(self);
                own(buffer, <$element as Element>::DTYPE, &[length], &[1])
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                let elements: &[$element] = self;
                TensorRef::from_slice(elements, &[elements.len() as i64])?.to_contiguous()
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                let elements: &[$element] = self;
                let (data, shape) = (elements.as_ptr().cast(), [elements.len() as i64]);
                Descriptor::new(data, <$element as Element>::DTYPE, Device::CPU, Flags::READ_ONLY, &shape, None)
                    .map(|tensor| read(&tensor, None))
            }
        }
    )*};
}

buffers! {
    [] Buffer, u8, this => this;
    [T: ArrowNativeType + Element] ScalarBuffer<T>, T, this => this.inner();
}

/// A tensor over the elements of `buffer`, which holds nothing else. It is writable if `buffer` is the only handle to
/// memory that Arrow allocated. If the buffer was made from a vector, the tensor is owned by that vector.
///
/// # Errors
/// The lengths and strides do not fit the buffer.
pub(crate) fn own(buffer: Buffer, dtype: DataType, shape: &[i64], strides: &[i64]) -> Result<Tensor, Error> {
    layout::validate(shape, Some(strides), dtype, false)?;
    let needed = layout::extent_of(shape, Some(strides)).map_or(0, |extent| extent.highest as usize + 1);
    let available = dtype.itemsize().map_or(0, |size| buffer.len() / size);
    if needed > available {
        return Err(Error::OutOfStorage { framework: NAME, needed, available });
    }
    let layout = (dtype, shape, strides);
    let buffer = by_dtype!(
        dtype,
        T => match buffer.into_vec::<T>() {
            // SAFETY: as many elements as checked above, in a vector that nobody else has (axiom *sole*); its memory
            // does not move with it. There are no booleans in it.
            Ok(vec) => return Ok(unsafe { place(vec, layout, Flags::empty(), |vec| vec.as_mut_ptr().cast()) }),
            Err(buffer) => buffer,
        },
        _ => buffer
    );
    Ok(match buffer.into_mutable() {
        // SAFETY: as above; a mutable buffer is the only handle to its memory (axiom *sole*). Booleans come from a
        // `Source` only, which has checked them while it held the buffer (axiom *unwritten*).
        Ok(buffer) => unsafe { place(buffer, layout, Flags::empty(), MutableBuffer::as_mut_ptr) },
        Err(buffer) => {
            let exported = Exported(buffer);
            // SAFETY: as above; the buffer keeps its bytes in place (axiom *bytes*), and nobody writes them meanwhile
            // (axioms *unwritten* and *foreign*).
            unsafe { place(exported, layout, Flags::READ_ONLY, |exported| exported.0.as_ptr().cast_mut()) }
        }
    })
}

/// # Safety
/// `data` gives the first of the elements that dtype, shape and strides describe, which lie in memory that `owner`
/// keeps alive and in place, and none of which is written by anybody, nor read by others unless `flags` say read-only.
/// Booleans are 0 or 1.
pub(crate) unsafe fn place<O: Send + 'static>(
    owner: O,
    (dtype, lengths, steps): (DataType, &[i64], &[i64]),
    flags: Flags,
    data: impl FnOnce(&mut O) -> *mut u8,
) -> Tensor {
    let memory = Memory { dtype, device: Device::CPU, flags, is_valid: true };
    // SAFETY: the caller's promise.
    unsafe {
        Tensor::from_sole_owner(owner, memory, lengths.len(), |owner, shape, strides| {
            shape.copy_from_slice(lengths);
            strides.copy_from_slice(steps);
            data(owner)
        })
    }
}
