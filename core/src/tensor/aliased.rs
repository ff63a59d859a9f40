//! An owned tensor that others may write at any time, with safe access to everything but its elements.
//!
//! In Python, several arrays often share memory, and any of them may be written whenever Python code runs. A [`Tensor`]
//! cannot hold such memory, because its safe views are Rust references. An [`Aliased`] can: type, shape, address and
//! ownership are safe to use, but reading or writing the elements is `unsafe`, and each function that gives access says
//! what has to hold.

use core::fmt;
use core::ptr::NonNull;

use super::abi::is_plain;
use super::owned::{Raw, Tensor};
use super::owner::{self, Header, Memory};
use crate::error::Error;
use crate::layout::descriptor::Descriptor;
use crate::sys::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::types::DataType;

/// An owned DLPack tensor whose memory others may read and write while it lives.
///
/// Dropping it calls the producer's deleter, on whatever thread that happens.
///
/// # Invariants
/// Those of [`Tensor`], except that of *access* only this is left: the extent stays allocated. Therefore no safe
/// function lends the inner tensor.
pub struct Aliased(Tensor);

impl Aliased {
    /// Takes over a versioned managed tensor (DLPack 1.0 and later), as [`Tensor::from_raw`] does.
    ///
    /// Whatever the outcome, the tensor is consumed: on an error its deleter has run. `Copies: never`.
    ///
    /// # Safety
    /// The promises *owned* and *numbers* of [`Tensor::from_raw`]. Until the deleter runs, the memory stays allocated
    /// and the numbers do not change.
    ///
    /// # Errors
    /// As [`Tensor::from_raw`].
    #[inline]
    pub unsafe fn from_raw(managed: NonNull<DLManagedTensorVersioned>) -> Result<Self, Error> {
        // SAFETY: the caller's promise. It lacks a part of the promise *access* of `Tensor::from_raw`, which is not
        // used, by the invariant of this type.
        unsafe { Tensor::from_raw(managed) }.map(Self)
    }

    /// Takes over a legacy managed tensor, as [`Tensor::from_legacy_raw`] does.
    ///
    /// Whatever the outcome, the tensor is consumed: on an error its deleter has run. `Copies: never`.
    ///
    /// # Safety
    /// As [`Aliased::from_raw`].
    ///
    /// # Errors
    /// As [`Tensor::from_legacy_raw`].
    pub unsafe fn from_legacy_raw(managed: NonNull<DLManagedTensor>) -> Result<Self, Error> {
        // SAFETY: as above.
        unsafe { Tensor::from_legacy_raw(managed) }.map(Self)
    }

    /// A tensor over memory that `owner` keeps alive, as [`Tensor::from_owner`] makes one, with every number checked.
    ///
    /// One allocation. `Copies: never`.
    ///
    /// # Safety
    /// There are at most `i32::MAX` axes. Until `owner` is dropped, the extent that lengths and strides reach stays
    /// allocated on `memory.device`. (`memory.is_valid` is ignored, because others may write anything.)
    ///
    /// # Errors
    /// As [`Descriptor::new`]; the owner is dropped.
    #[inline]
    pub unsafe fn from_owner<O: Send + 'static>(
        owner: O,
        memory: Memory,
        ndim: usize,
        describe: impl FnOnce(&mut O, &mut [i64], &mut [i64]) -> *mut u8,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's promise. It lacks two things that `Tensor::from_owner` asks for: access to the elements
        // is not used, by the invariant of this type, and the numbers are not used before they are checked below.
        let managed = unsafe {
            owner::place(owner, (memory, false), ndim, |owner: &mut O, shape, strides| {
                (describe(owner, shape, strides), memory.flags)
            })
        };
        let tensor = Self(Tensor(Raw::Versioned(managed)));
        tensor.descriptor().check_numbers().map(|()| tensor)
    }

    /// What this tensor is, without access to its elements.
    #[inline]
    pub fn descriptor(&self) -> Descriptor<'_> {
        self.0.descriptor()
    }

    /// The raw tensor, as C code borrows it.
    #[inline]
    pub fn as_raw(&self) -> &DLTensor {
        self.0.dl_tensor()
    }

    /// The same tensor with explicit strides and its address at the first element, a form that even careless consumers
    /// read correctly.
    ///
    /// `Copies: never`. One small allocation if the producer wrote it otherwise.
    #[inline]
    #[must_use]
    pub fn into_plain(self) -> Self {
        match self.0 .0 {
            Raw::Versioned(_) | Raw::Legacy(_) if !is_plain(&self.0, true) => {
                Self(Tensor(Raw::Versioned(self.0.rehouse())))
            }
            _ => self,
        }
    }

    /// The same tensor, which no consumer may write from now on.
    ///
    /// `Copies: never`. One small allocation if the producer's struct cannot say so.
    #[must_use]
    pub fn into_read_only(self) -> Self {
        Self(self.0.into_read_only())
    }

    /// A managed tensor for a consumer of the versioned ABI. This can be called for any number of consumers: each
    /// `owner` keeps the tensor alive until its consumer calls the deleter.
    ///
    /// One allocation. `Copies: never`.
    ///
    /// # Safety
    /// The tensor that `tensor` finds in the owner lives until the owner is dropped. The consumer's access and that of
    /// all others are coordinated: whoever writes knows of those who read.
    #[inline]
    pub unsafe fn export<O: Send + 'static>(
        owner: O,
        tensor: impl FnOnce(&O) -> &Self,
    ) -> NonNull<DLManagedTensorVersioned> {
        // SAFETY: the caller's promise.
        unsafe { place(owner, tensor) }
    }

    /// As [`Aliased::export`], for a consumer of the legacy ABI.
    ///
    /// # Safety
    /// As [`Aliased::export`].
    ///
    /// # Errors
    /// As [`Tensor::into_legacy_raw`].
    pub unsafe fn export_legacy<O: Send + 'static>(
        owner: O,
        tensor: impl Fn(&O) -> &Self,
    ) -> Result<NonNull<DLManagedTensor>, Error> {
        tensor(&owner).descriptor().check_legacy()?;
        // SAFETY: the caller's promise.
        Ok(unsafe { place(owner, tensor) })
    }

    /// A new row-major tensor with the same elements, in memory of its own, marked as copied.
    ///
    /// `Copies: always`, once.
    ///
    /// # Safety
    /// The memory is initialised, and nobody writes it during the call.
    ///
    /// # Errors
    /// As [`TensorRef::to_contiguous`](crate::TensorRef::to_contiguous).
    pub unsafe fn to_contiguous(&self) -> Result<Tensor, Error> {
        self.0.to_contiguous()
    }

    /// The tensor for reading: [`Flags::READ_ONLY`](crate::Flags::READ_ONLY), so that every safe use of it only reads.
    ///
    /// `Copies: never`.
    ///
    /// # Safety
    /// The memory is initialised, and nobody writes it until the tensor is dropped.
    #[must_use]
    pub unsafe fn assume_unwritten(self) -> Tensor {
        self.0.into_read_only()
    }

    /// The tensor with all the rights that its flags give.
    ///
    /// `Copies: never`.
    ///
    /// # Safety
    /// The memory is initialised, and until the tensor is dropped nobody else writes it. Unless it is read-only, it may
    /// be written, and nobody else reads it, either.
    #[must_use]
    pub unsafe fn assume_exclusive(self) -> Tensor {
        self.0
    }
}

/// Gives a tensor away: from now on others may use its memory, as far as its flags allow.
impl From<Tensor> for Aliased {
    fn from(tensor: Tensor) -> Self {
        if tensor.dtype() == DataType::BOOL {
            // From now on others may store any byte. A struct that counts as foreign does not claim that its booleans
            // are valid, so that they are checked when they are read.
            return Self(Tensor(Raw::Versioned(tensor.into_raw())));
        }
        Self(tensor)
    }
}

/// # Safety
/// As [`Aliased::export`].
#[inline]
unsafe fn place<H: Header, O: Send + 'static>(owner: O, tensor: impl FnOnce(&O) -> &Aliased) -> NonNull<H> {
    let Aliased(inner) = tensor(&owner);
    let (raw, flags) = (*inner.dl_tensor(), inner.flags());
    let memory = Memory { dtype: raw.dtype.into(), device: raw.device.into(), flags, is_valid: false };
    // SAFETY: the tensor has valid numbers, which `raw` still points to: by the caller's promise they live as long as
    // the owner, wherever that is moved.
    let descriptor = unsafe { Descriptor::from_checked(&raw, flags, None) };
    // SAFETY: a valid description of memory that the owner keeps alive, by the caller's promise. Who may write is up to
    // the consumer, as the struct goes to it at once.
    unsafe {
        owner::place(owner, (memory, false), descriptor.ndim(), |_, shape, strides| {
            shape.copy_from_slice(descriptor.shape());
            for (stride, given) in strides.iter_mut().zip(descriptor.strides().iter()) {
                *stride = given;
            }
            (descriptor.data().cast_mut(), flags)
        })
    }
}

impl fmt::Debug for Aliased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.descriptor().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;

    use super::*;
    use crate::{Device, Flags};

    #[test]
    fn one_memory_goes_to_many_consumers_of_both_abis() {
        let shared = Arc::new(Aliased::from(Tensor::new(vec![1f32, 2., 3., 4.], &[2, 2]).unwrap()));
        let address = shared.descriptor().data();
        // SAFETY: the `Arc` keeps the tensor.
        let raw = unsafe { Aliased::export(Arc::clone(&shared), |shared| shared) };
        // SAFETY: as above.
        let legacy = unsafe { Aliased::export_legacy(Arc::clone(&shared), |shared| shared) }.unwrap();
        assert_eq!(Arc::strong_count(&shared), 3);
        // SAFETY: a managed tensor of ours.
        let versioned = unsafe { Aliased::from_raw(raw) }.unwrap();
        // SAFETY: as above.
        let legacy = unsafe { Aliased::from_legacy_raw(legacy) }.unwrap();
        for tensor in [&versioned, &legacy] {
            assert_eq!(tensor.descriptor().data(), address);
            assert_eq!(tensor.descriptor().shape(), [2, 2]);
            assert_eq!(tensor.descriptor().strides(), [2, 1]);
        }
        drop(versioned);
        // SAFETY: nobody writes.
        let read = unsafe { legacy.assume_unwritten() };
        assert_eq!(read.as_slice::<f32>().unwrap(), [1., 2., 3., 4.]);
        assert!(read.flags().is_read_only());
        drop(read);
        let alone = Arc::into_inner(shared).expect("the consumers let go");
        // SAFETY: nobody else has it any more.
        let mut tensor = unsafe { alone.assume_exclusive() };
        tensor.as_mut_slice::<f32>().unwrap()[0] = 7.;
        assert_eq!(tensor.into_vec::<f32>().unwrap(), [7., 2., 3., 4.]);
    }

    #[test]
    fn an_owner_is_dropped_with_its_tensor_and_with_numbers_that_are_wrong() {
        let memory = Memory { dtype: DataType::UINT8, device: Device::CPU, flags: Flags::empty(), is_valid: true };
        let owner = Arc::new([1u8, 2, 3, 4]);
        let make = |lengths: [i64; 2], steps: [i64; 2]| {
            let describe = |owner: &mut Arc<[u8; 4]>, shape: &mut [i64], strides: &mut [i64]| {
                shape.copy_from_slice(&lengths);
                strides.copy_from_slice(&steps);
                owner.as_ptr().cast_mut()
            };
            // SAFETY: the `Arc` keeps the array alive; wrong numbers are refused before they are used.
            unsafe { Aliased::from_owner(Arc::clone(&owner), memory, 2, describe) }
        };
        let tensor = make([2, 2], [1, 2]).unwrap();
        assert_eq!((tensor.descriptor().shape(), Arc::strong_count(&owner)), ([2, 2].as_slice(), 2));
        // SAFETY: nobody writes.
        assert_eq!(unsafe { tensor.to_contiguous() }.unwrap().as_slice::<u8>().unwrap(), [1, 3, 2, 4]);
        drop(tensor);
        assert_eq!(make([-1, 2], [1, 2]).unwrap_err(), Error::NegativeLength { axis: 0, length: -1 });
        assert_eq!(make([2, 2], [i64::MAX, 2]).unwrap_err(), Error::Overflow { quantity: "strides" });
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn what_others_have_written_into_booleans_is_looked_at() {
        let write = || {
            let shared = Aliased::from(Tensor::new(vec![true, false], &[2]).unwrap());
            // SAFETY: the element is there, and any byte may be written to what is aliased.
            unsafe { shared.as_raw().data.cast::<u8>().wrapping_add(1).write(2) };
            shared
        };
        let invalid = Error::InvalidBool { index: 1, value: 2 };
        // SAFETY: nobody else has it.
        assert_eq!(unsafe { write().to_contiguous() }.unwrap_err(), invalid);
        // SAFETY: as above.
        assert_eq!(unsafe { write().assume_unwritten() }.as_slice::<bool>(), Err(invalid.clone()));
        // SAFETY: as above.
        let tensor = unsafe { write().assume_exclusive() };
        assert_eq!(tensor.as_slice::<bool>(), Err(invalid));
        assert!(tensor.into_vec::<bool>().is_err());
    }

    #[test]
    fn the_legacy_abi_takes_nothing_that_must_not_be_written() {
        let tensor = Tensor::new(vec![0u8; 4], &[4]).unwrap().into_read_only();
        let shared = Arc::new(Aliased::from(tensor));
        // SAFETY: the `Arc` keeps the tensor.
        let refused = unsafe { Aliased::export_legacy(Arc::clone(&shared), |shared| shared) };
        assert_eq!(refused.unwrap_err(), Error::ReadOnly);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn a_plain_tensor_has_explicit_strides_at_its_first_element() {
        let mut managed = Tensor::new(vec![1u16, 2, 3, 4, 5, 6], &[2, 3]).unwrap().into_raw();
        // SAFETY: ours, and nobody else has it.
        let raw = unsafe { &mut managed.as_mut().dl_tensor };
        raw.strides = core::ptr::null_mut();
        raw.data = raw.data.cast::<u8>().wrapping_sub(8).cast();
        raw.byte_offset = 8;
        // SAFETY: still well-formed.
        let plain = unsafe { Aliased::from_raw(managed) }.unwrap().into_plain();
        assert_eq!(plain.as_raw().byte_offset, 0);
        assert!(!plain.as_raw().strides.is_null());
        // SAFETY: nobody else has it.
        let tensor = unsafe { plain.assume_exclusive() };
        assert_eq!(tensor.as_slice::<u16>().unwrap(), [1, 2, 3, 4, 5, 6]);
    }
}
