//! The owned tensor: one handle for both ABIs and for tensors made from Rust values. Its `Drop` calls the deleter.

use core::fmt;
use core::mem::{self, offset_of};
use core::ptr::NonNull;

use super::owner::{self, Buffer, Memory};
use super::view::{TensorMut, TensorRef};
use crate::error::{Error, Rejected};
use crate::layout::descriptor::Descriptor;
use crate::layout::{self, Strides};
use crate::sys::{self, DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::types::{DataType, Device, Element, Flags};

/// An owned DLPack tensor, made from a Rust value or received from a producer in any language through either ABI.
///
/// While it lives, its elements may be read. If [`Flags::READ_ONLY`] is clear, this handle is the only one that reads
/// or writes. Dropping it calls the producer's deleter, on whatever thread that happens.
///
/// # Invariants
/// 1. *checked*: the raw tensor is valid as [`Descriptor::from_raw`] checks it, and does not change.
/// 2. *access*: the extent is initialised and readable, and nobody else writes it. If `READ_ONLY` is clear, the
///    elements may be written, and nobody else reads them; if the owner came by [`Tensor::from_sole_owner`] as well, so
///    may all of the extent, and nobody else reads any of it.
/// 3. *alive*: the managed struct is alive; its deleter, if there is one, has not run yet, and may run on any thread.
/// 4. *ours*: `Raw::Owned` came from `owner::place` or `owner::place_buffer`, with an owner of the type that its
///    provenance names.
pub struct Tensor(pub(super) Raw);

#[derive(Clone, Copy)]
pub(super) enum Raw {
    /// Made by this crate from a Rust value.
    Owned(NonNull<DLManagedTensorVersioned>),
    Versioned(NonNull<DLManagedTensorVersioned>),
    Legacy(NonNull<DLManagedTensor>),
}

// SAFETY: by invariant *alive* the deleter may run on any thread, as DLPack demands of producers; owners that this
// crate places are `Send`.
unsafe impl Send for Tensor {}
// SAFETY: a shared handle only reads the elements, which invariant *access* allows, and it reaches the owner only if
// that is `Sync`.
unsafe impl Sync for Tensor {}

impl Tensor {
    /// A row-major tensor over a Rust buffer: `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `Arc<Vec<T>>` or `&'static [T]`.
    ///
    /// The tensor is writable if `buffer` is the only handle to its elements, else [`Flags::READ_ONLY`]. Making it
    /// takes one small allocation.
    ///
    /// `Copies: never`. The shape counts elements.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the shape asks for another number of elements, [`Error::Overflow`]; the buffer
    /// comes back.
    #[inline]
    pub fn new<B: Buffer>(buffer: B, shape: &[usize]) -> Result<Self, Rejected<B>> {
        let error = match layout::count_usize(shape) {
            Ok(count) if count == buffer.len() => None,
            Ok(expected) => Some(Error::LengthMismatch { expected, found: buffer.len() }),
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            return Err(Rejected { value: buffer, error });
        }
        // SAFETY: the buffer has as many elements as the shape, as checked above.
        let managed = unsafe { owner::place_buffer(buffer, shape) };
        Ok(Self(Raw::Owned(managed)))
    }

    /// A tensor over memory that `owner` keeps alive. Making it takes one small allocation.
    ///
    /// `describe` gets the owner in its final place, fills in `ndim` lengths and `ndim` strides (in elements, both
    /// zeros at first), and returns the address of the first element. Strides on axes of length 0 or 1 are normalised,
    /// and the address is dropped if there are no elements. [`Tensor::downcast`] gives the owner back whole, whatever
    /// part of it the tensor shows. If the owner is a `Vec` of the element type, the tensor should show all of it:
    /// imports that take over a vector count on that, and refuse a part with
    /// [`Reason::Strided`](crate::Reason::Strided) rather than copy it. To show only a part, wrap the vector in a type
    /// of your own.
    ///
    /// `Copies: never`.
    ///
    /// # Safety
    /// 1. *numbers*: there are at most `i32::MAX` axes; lengths and strides pass [`layout::validate`], and the address
    ///    is not NULL if there are elements.
    /// 2. *access*: until `owner` is dropped, the extent on `memory.device` (from the lowest element that they reach to
    ///    the highest, gaps included) is initialised, readable, and written by nobody. If `memory.flags` lacks
    ///    [`Flags::READ_ONLY`], the elements may be written, and nobody else reads them.
    /// 3. *valid*: if `memory.is_valid`, every element is a valid value of its type (a boolean is 0 or 1).
    /// 4. *owner*: [`Tensor::downcast`] gives the owner back to safe code. If `memory.flags` has [`Flags::READ_ONLY`]
    ///    because others read the memory, an `O` does not let safe code write it: a shared handle such as an `Arc` does
    ///    not, a `Vec` does.
    #[inline]
    pub unsafe fn from_owner<O: Send + 'static>(
        owner: O,
        memory: Memory,
        ndim: usize,
        describe: impl FnOnce(&mut O, &mut [i64], &mut [i64]) -> *mut u8,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::place(owner, (memory, false), ndim, describe) }
    }

    /// As [`Tensor::from_owner`], for an owner that has the memory between the elements to itself as well.
    ///
    /// Only such a tensor is shared with frameworks whose tensors can reach into the gaps between their elements, if it
    /// has gaps and may be written.
    ///
    /// `Copies: never`.
    ///
    /// # Safety
    /// The promises of [`Tensor::from_owner`]. Moreover, if `memory.flags` lacks [`Flags::READ_ONLY`], everything from
    /// the lowest element to the highest may be written, gaps included, and nobody else reads or writes any of it until
    /// `owner` is dropped.
    #[inline]
    pub unsafe fn from_sole_owner<O: Send + 'static>(
        owner: O,
        memory: Memory,
        ndim: usize,
        describe: impl FnOnce(&mut O, &mut [i64], &mut [i64]) -> *mut u8,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::place(owner, (memory, true), ndim, describe) }
    }

    /// # Safety
    /// As [`Tensor::from_owner`], or as [`Tensor::from_sole_owner`] if `owns_extent`.
    #[inline]
    unsafe fn place<O: Send + 'static>(
        owner: O,
        (memory, owns_extent): (Memory, bool),
        ndim: usize,
        describe: impl FnOnce(&mut O, &mut [i64], &mut [i64]) -> *mut u8,
    ) -> Self {
        // SAFETY: the caller's promise.
        let managed = unsafe {
            owner::place(owner, (memory, owns_extent), ndim, |owner: &mut O, shape, strides| {
                (describe(owner, shape, strides), memory.flags)
            })
        };
        let tensor = Self(Raw::Owned(managed));
        debug_assert_eq!(tensor.revalidate(), Ok(()), "from_owner was given an invalid layout");
        tensor
    }

    /// The same tensor, which nobody may write from now on.
    ///
    /// `Copies: never`. Costs one small allocation unless the tensor is read-only already.
    #[must_use]
    pub fn into_read_only(self) -> Self {
        if self.flags().is_read_only() {
            return self;
        }
        match self.0 {
            Raw::Owned(mut managed) => {
                // SAFETY: by invariant *ours* this crate made the struct and may change it; `READ_ONLY` only takes
                // rights away.
                unsafe { managed.as_mut() }.flags |= sys::DLPACK_FLAG_BITMASK_READ_ONLY;
                self
            }
            _ => {
                let mut managed: NonNull<DLManagedTensorVersioned> = self.rehouse();
                // SAFETY: the struct was just made, and nobody else has it.
                unsafe { managed.as_mut() }.flags |= sys::DLPACK_FLAG_BITMASK_READ_ONLY;
                Self(Raw::Versioned(managed))
            }
        }
    }

    /// Moves the tensor into a managed struct that this crate makes, with the same description.
    pub(super) fn rehouse<H: owner::Header>(self) -> NonNull<H> {
        let flags = self.flags();
        let memory = Memory { dtype: self.dtype(), device: self.device(), flags, is_valid: false };
        let ndim = self.descriptor().ndim();
        // SAFETY: by invariants *checked* and *access* the tensor describes memory that it keeps alive, and the new
        // struct says the same. (In an `Aliased`, *access* says less, before and after.)
        unsafe {
            owner::place(self, (memory, false), ndim, |tensor: &mut Self, shape, strides| {
                let descriptor = tensor.descriptor();
                shape.copy_from_slice(descriptor.shape());
                for (stride, given) in strides.iter_mut().zip(descriptor.strides().iter()) {
                    *stride = given;
                }
                (descriptor.data().cast_mut(), flags)
            })
        }
    }

    /// The Rust value that owns the memory, if the tensor was made from an `O` and has not left Rust since.
    ///
    /// `Copies: never`. What was written through the tensor is in the value.
    ///
    /// # Errors
    /// The tensor itself, if it was made from something else.
    pub fn downcast<O: 'static>(self) -> Result<O, Self> {
        match self.0 {
            Raw::Owned(managed) if self.descriptor().is_owned_by::<O>() => {
                mem::forget(self);
                // SAFETY: by invariant *ours* the owner is an `O`; the tensor is forgotten, so that it does not use the
                // owner again.
                Ok(unsafe { owner::take::<DLManagedTensorVersioned, O>(managed.as_ptr()) })
            }
            _ => Err(self),
        }
    }

    /// The elements as the vector that the tensor was made from, if it holds just these elements, in row-major order.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// The tensor itself, if it was made from something else or shows only a part of it.
    pub fn into_vec<T: Element>(self) -> Result<alloc::vec::Vec<T>, Self> {
        let descriptor = self.descriptor();
        let whole = self.owner::<alloc::vec::Vec<T>>().is_some_and(|vec| {
            vec.len() == descriptor.len() && (vec.as_ptr().cast() == descriptor.data() || descriptor.is_empty())
        });
        if whole && descriptor.is_row_major() && descriptor.dtype() == T::DTYPE {
            self.downcast()
        } else {
            Err(self)
        }
    }

    /// The bytes of the elements as the vector of bytes that owns them, if it holds just these elements, in row-major
    /// order. This crate's copies are owned like this if Rust lacks their element type and it is no larger than a byte.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// The tensor itself, if it is owned by something else or shows only a part of it.
    pub fn into_bytes(self) -> Result<alloc::vec::Vec<u8>, Self> {
        let descriptor = self.descriptor();
        let whole = self.owner::<alloc::vec::Vec<u8>>().is_some_and(|vec| {
            vec.len() == descriptor.nbytes() && (vec.as_ptr() == descriptor.data() || descriptor.is_empty())
        });
        if whole && descriptor.is_row_major() {
            self.downcast()
        } else {
            Err(self)
        }
    }

    /// The Rust value that owns the memory, borrowed, if the tensor was made from an `O` and has not left Rust since.
    ///
    /// This is private, because cloning an owner that is an `Arc` would give access to the elements beside the tensor's
    /// own.
    fn owner<O: Sync + 'static>(&self) -> Option<&O> {
        match self.0 {
            Raw::Owned(managed) if self.descriptor().is_owned_by::<O>() => {
                // SAFETY: by invariant *ours* the owner is an `O`; it stays in place while the tensor lives, and is
                // shared with other threads only as `O: Sync` allows.
                Some(unsafe { owner::peek::<DLManagedTensorVersioned, O>(managed) })
            }
            _ => None,
        }
    }

    #[inline]
    pub(super) fn dl_tensor(&self) -> &DLTensor {
        match &self.0 {
            // SAFETY: by invariant *alive* the struct is alive, and by *checked* the raw tensor in it does not change.
            Raw::Owned(managed) | Raw::Versioned(managed) => unsafe { &managed.as_ref().dl_tensor },
            // SAFETY: as above.
            Raw::Legacy(managed) => unsafe { &managed.as_ref().dl_tensor },
        }
    }

    /// Checks every number of invariant *checked*. That they do not change is the constructors' callers' promise.
    #[inline]
    pub(super) fn revalidate(&self) -> Result<(), Error> {
        // SAFETY: `shape` and `strides` are as the constructors' callers promise.
        unsafe { Descriptor::from_raw(self.dl_tensor(), self.flags()) }.map(|_| ())
    }

    /// What this tensor is, without access to its elements.
    #[inline]
    pub fn descriptor(&self) -> Descriptor<'_> {
        let owner = match self.0 {
            // SAFETY: by invariant *alive* the struct is alive, and by *ours* it came from `owner::place`.
            Raw::Owned(managed) => Some(unsafe { owner::provenance(managed) }),
            _ => None,
        };
        // SAFETY: by invariant *checked* the raw tensor is valid and does not change.
        unsafe { Descriptor::from_checked(self.dl_tensor(), self.flags(), owner) }
    }

    /// The tensor, borrowed for reading.
    #[inline]
    pub fn view(&self) -> TensorRef<'_> {
        // SAFETY: by invariant *access* the extent is readable. Elements that their owner's provenance calls valid are
        // so by the promise *valid* of `from_owner`, or because they are those of a `Buffer`.
        unsafe { TensorRef::from_descriptor(self.descriptor()) }
    }

    /// The tensor, borrowed for writing.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], and [`Error::Overlap`] if two elements lie in the same place (a broadcast axis).
    pub fn view_mut(&mut self) -> Result<TensorMut<'_>, Error> {
        // SAFETY: as in `view`. If the tensor is not read-only, by invariant *access* its elements may be written and
        // nobody else reads or writes them, and the exclusive borrow keeps this handle from reading meanwhile.
        unsafe { TensorMut::from_descriptor(self.descriptor()) }
    }

    /// The type of one element.
    pub fn dtype(&self) -> DataType {
        self.dl_tensor().dtype.into()
    }

    /// Where the memory is.
    pub fn device(&self) -> Device {
        self.dl_tensor().device.into()
    }

    /// Flags of the exchange; none for a legacy tensor.
    #[inline]
    pub fn flags(&self) -> Flags {
        match &self.0 {
            // SAFETY: by invariant *alive* the struct is alive, and `flags` lies in the same place in all versions.
            Raw::Owned(managed) | Raw::Versioned(managed) => Flags::from_bits(unsafe { managed.as_ref() }.flags),
            Raw::Legacy(_) => Flags::empty(),
        }
    }

    /// The lengths of the axes, in elements.
    pub fn shape(&self) -> &[i64] {
        self.descriptor().shape()
    }

    /// The strides of the axes, in elements.
    pub fn strides(&self) -> Strides<'_> {
        self.descriptor().strides()
    }

    /// The address of the first element.
    pub fn data(&self) -> *const u8 {
        self.descriptor().data()
    }

    /// The elements, if they are next to each other in row-major order.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// As [`TensorRef::as_slice`].
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Error> {
        self.view().as_slice()
    }

    /// The elements for writing, if they are next to each other in row-major order.
    ///
    /// `Copies: never`.
    ///
    /// # Errors
    /// As [`TensorRef::as_slice`]; [`Error::ReadOnly`] and [`Error::Overlap`].
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], Error> {
        self.view_mut()?.into_mut_slice()
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        match self.0 {
            Raw::Owned(managed) | Raw::Versioned(managed) => {
                let deleter = managed.as_ptr().cast::<u8>().wrapping_add(offset_of!(DLManagedTensorVersioned, deleter));
                let deleter = deleter.cast::<Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>>();
                // SAFETY: by invariant *alive* the struct is alive; `deleter` lies in the same place in all versions,
                // and nothing after the flags is touched.
                if let Some(deleter) = unsafe { deleter.read() } {
                    // SAFETY: by invariant *alive* it has not run yet, and nobody uses this handle afterwards.
                    unsafe { deleter(managed.as_ptr()) };
                }
            }
            Raw::Legacy(managed) => {
                // SAFETY: as above.
                if let Some(deleter) = unsafe { managed.as_ref() }.deleter {
                    // SAFETY: as above.
                    unsafe { deleter(managed.as_ptr()) };
                }
            }
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.descriptor().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn an_owner_is_borrowed_only_as_what_it_is() {
        let tensor = Tensor::new(vec![1u8, 2], &[2]).unwrap();
        assert_eq!(tensor.owner::<Vec<u8>>(), Some(&vec![1, 2]));
        assert_eq!((tensor.owner::<Vec<i8>>(), tensor.owner::<Box<[u8]>>()), (None, None));
        // SAFETY: a managed tensor of ours.
        let foreign = unsafe { Tensor::from_raw(tensor.into_raw()) }.unwrap();
        assert_eq!(foreign.owner::<Vec<u8>>(), None, "it has left Rust");
    }
}
