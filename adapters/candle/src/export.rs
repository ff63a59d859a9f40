//! Exports candle tensors as DLPack tensors.

use std::ptr;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Tensor as CandleTensor};
use dlbridge_core::layout::Dims;
use dlbridge_core::{
    DataType, Descriptor, Device, Error, Export, Flags, Interchange, Memory, ReadOnly, Reason, Tensor, TensorRef,
};

use crate::lock::{Lock, Seal, bytes, peek};
use crate::{Candle, NAME};

/// What keeps an export alive: the tensor, and the read lock of its storage unless the caller does without.
pub(crate) struct Exported {
    // Invariant: the lock is that of `tensor`, and is declared first so that it is released before `tensor` goes.
    _lock: Option<Lock>,
    pub(crate) tensor: CandleTensor,
}

/// What keeps an export of a sealed storage alive: candle never writes it, so that no lock is needed.
pub(crate) struct Sealed(pub(crate) CandleTensor);

impl Export<Candle> for CandleTensor {
    fn export(self) -> Result<Tensor, Error> {
        if let Some(reason) = obstacle(&self) {
            return Err(Error::CopyRequired { framework: NAME, reason });
        }
        let (storage, is_sealed) = peek(&self, |storage, _| Ok((ptr::from_ref(storage).addr(), Seal::is_on(storage))))?;
        if is_sealed {
            let source = peek(&self, Source::new)?;
            // SAFETY: `source` lies within the storage, which is sealed: by axiom *lock* candle never writes it.
            return Ok(unsafe { source.own(Sealed(self), |Sealed(tensor)| tensor) });
        }
        // SAFETY: `Exported` keeps the tensor longer than the lock.
        let lock = unsafe { Lock::hold(&self, storage) };
        let source = peek(&self, Source::new)?;
        let owner = Exported { _lock: Some(lock), tensor: self };
        // SAFETY: `source` lies within the storage, which by axiom *lock* is not written or replaced while the lock is
        // held.
        Ok(unsafe { source.own(owner, |owner| &owner.tensor) })
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        peek(self, |storage, layout| {
            Source::new(storage, layout)?.describe(layout, |tensor| {
                // SAFETY: the extent lies within the storage, which nobody writes meanwhile; candle has no booleans.
                unsafe { TensorRef::from_descriptor(*tensor) }.to_contiguous()
            })?
        })
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        let reason = obstacle(self);
        peek(self, |storage, layout| {
            let is_sealed = Seal::is_on(storage);
            Source::new(storage, layout)?.describe(layout, |tensor| match is_sealed {
                true => read(&tensor.owned_by::<Sealed>(), reason),
                false => read(&tensor.owned_by::<Exported>(), reason),
            })
        })
    }
}

/// Why a tensor is not shared, if it is not.
fn obstacle(tensor: &CandleTensor) -> Option<Reason> {
    tensor.is_variable().then_some(Reason::Variable)
}

/// One table of what is exported as the candle tensor in it.
macro_rules! exports {
    ($($ty:ty;)*) => {$(
        impl Export<Candle> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                CandleTensor::clone(&self).export()
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                CandleTensor::export_copy(self)
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                CandleTensor::describe(self, read)
            }
        }
    )*};
}

exports! {
    &CandleTensor;
    ReadOnly<CandleTensor>;
    &ReadOnly<CandleTensor>;
}

/// Shares a tensor without holding its storage's lock, so that writers need not wait. Variables are shared, too.
///
/// `Copies: never.`
///
/// # Safety
/// While the result lives, nobody writes the tensor's storage in place (`slice_set`, `zero_set`, `Var::set`, in-place
/// custom ops), through this tensor or any other that shares the storage.
///
/// # Errors
/// As the guarded export.
pub unsafe fn export_unguarded(tensor: &CandleTensor) -> Result<Tensor, Error> {
    let source = peek(tensor, Source::new)?;
    let owner = Exported { _lock: None, tensor: tensor.clone() };
    // SAFETY: `source` lies within the storage, which the clone keeps alive and the caller promises not to write.
    Ok(unsafe { source.own(owner, |owner| &owner.tensor) })
}

/// The address of the first element of a tensor on the CPU, once it has been checked that all elements lie within the
/// storage.
struct Source {
    data: *const u8,
    dtype: DataType,
}

impl Source {
    fn new(storage: &CpuStorage, layout: &Layout) -> Result<Self, Error> {
        let (start, bytes) = bytes(storage);
        let dtype = storage.dtype().to_dlpack()?;
        let bits = u128::from(dtype.bits_per_element());
        // Layouts have to be checked: some safe operations of candle (`unfold`) make layouts that reach past the
        // storage.
        let unbased = Self { data: start, dtype };
        if let Some(extent) = unbased.describe(layout, |tensor| tensor.extent())? {
            let needed = layout.start_offset() as u128 + extent.highest as u128 + 1;
            if needed * bits > bytes as u128 * 8 {
                let (needed, available) = (needed as usize, (bytes as u128 * 8 / bits) as usize);
                return Err(Error::OutOfStorage { framework: NAME, needed, available });
            }
        }
        let offset = layout.start_offset() as u128 * bits;
        if !offset.is_multiple_of(8) {
            return Err(Error::Inexpressible { framework: NAME, what: "a sub-byte tensor that begins within a byte" });
        }
        Ok(Self { data: start.wrapping_add((offset / 8) as usize), dtype })
    }

    /// Calls `read` with the description of the tensor that begins here.
    fn describe<R>(&self, layout: &Layout, read: impl FnOnce(&Descriptor<'_>) -> R) -> Result<R, Error> {
        let (shape, strides) = (dims(layout.dims())?, dims(layout.stride())?);
        Descriptor::new(self.data, self.dtype, Device::CPU, Flags::READ_ONLY, &shape, Some(&strides))
            .map(|tensor| read(&tensor))
    }

    /// # Safety
    /// This was made from the tensor that `tensor` finds in the owner, and nobody writes its storage while the owner
    /// lives.
    unsafe fn own<O: Send + 'static>(self, owner: O, tensor: fn(&O) -> &CandleTensor) -> Tensor {
        let memory = Memory { dtype: self.dtype, device: Device::CPU, flags: Flags::READ_ONLY, is_valid: true };
        let ndim = tensor(&owner).rank();
        // SAFETY: `Source::new` has checked layout and bounds, and `owner` keeps the tensor and with it the storage,
        // whose elements are those of a vector (axiom *vector*), so that all are initialised; candle has no booleans.
        unsafe {
            Tensor::from_owner(owner, memory, ndim, |owner, shape, strides| {
                let layout = tensor(owner).layout();
                shape.iter_mut().zip(layout.dims()).for_each(|(slot, length)| *slot = *length as i64);
                strides.iter_mut().zip(layout.stride()).for_each(|(slot, stride)| *slot = *stride as i64);
                self.data.cast_mut()
            })
        }
    }
}

fn dims(numbers: &[usize]) -> Result<Dims, Error> {
    let numbers: Option<Dims> = numbers.iter().map(|number| i64::try_from(*number).ok()).collect();
    numbers.ok_or(Error::Overflow { quantity: "strides" })
}
