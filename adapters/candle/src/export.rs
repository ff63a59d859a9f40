//! Exports candle tensors as DLPack tensors.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Storage, StorageRef, Tensor as CandleTensor};
use dlbridge_core::layout::Dims;
use dlbridge_core::{
    DataType, Descriptor, Device, Error, Export, Flags, Interchange, Memory, Reason, Tensor, TensorRef,
};

use crate::{Candle, NAME};

/// What keeps an export alive: the tensor, and the read lock of its storage unless the caller has chosen to do without
/// it.
pub(crate) struct Exported {
    // Invariant: the lock is that of `tensor`, and is declared first so that it is released before `tensor` is dropped.
    _guard: Option<StorageRef<'static>>,
    pub(crate) tensor: CandleTensor,
}

impl Export<Candle> for CandleTensor {
    fn export(self) -> Result<Tensor, Error> {
        let (guard, layout) = self.storage_and_layout();
        let source = Source::new(&guard, layout)?;
        // SAFETY: only the lifetime changes. The lock lives in the tensor's shared allocation, which `Exported` keeps
        // alive longer than the guard.
        let guard = unsafe { core::mem::transmute::<StorageRef<'_>, StorageRef<'static>>(guard) };
        let owner = Exported { _guard: Some(guard), tensor: self };
        // SAFETY: `source` lies within the storage, which the guard keeps from being written or replaced.
        Ok(unsafe { source.own(owner) })
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        let (guard, layout) = self.storage_and_layout();
        Source::new(&guard, layout)?.describe(layout, |tensor| {
            // SAFETY: the memory is within the storage, which nobody writes while the guard lives; candle has no bool.
            unsafe { TensorRef::from_descriptor(*tensor) }.to_contiguous()
        })?
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        let (guard, layout) = self.storage_and_layout();
        Source::new(&guard, layout)?.describe(layout, |tensor| read(&tensor.owned_by::<Exported>(), None))
    }
}

impl Export<Candle> for &CandleTensor {
    fn export(self) -> Result<Tensor, Error> {
        self.clone().export()
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        CandleTensor::export_copy(self)
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        CandleTensor::describe(self, read)
    }
}

/// Shares a tensor without holding its storage's lock, so that writers need not wait.
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
    let source = {
        let (guard, layout) = tensor.storage_and_layout();
        Source::new(&guard, layout)?
    };
    let owner = Exported { _guard: None, tensor: tensor.clone() };
    // SAFETY: `source` lies within the storage, which the clone keeps alive and the caller promises not to write.
    Ok(unsafe { source.own(owner) })
}

/// The address of the first element of a tensor on the CPU, once it has been checked that all elements lie within the
/// storage.
struct Source {
    data: *const u8,
    dtype: DataType,
}

impl Source {
    fn new(storage: &Storage, layout: &Layout) -> Result<Self, Error> {
        let Storage::Cpu(storage) = storage else {
            let device = storage.device().to_dlpack()?;
            return Err(Error::UnsupportedDevice { framework: NAME, device });
        };
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
        if offset % 8 != 0 {
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
    /// This was made from the tensor in `owner`, and nobody writes its storage while `owner` lives.
    unsafe fn own(self, owner: Exported) -> Tensor {
        let memory = Memory { dtype: self.dtype, device: Device::CPU, flags: Flags::READ_ONLY, is_valid: true };
        let ndim = owner.tensor.rank();
        // SAFETY: `Source::new` has checked layout and bounds, and `owner` keeps the tensor and with it the storage;
        // candle's storage is initialised, and has no booleans.
        unsafe {
            Tensor::from_owner(owner, memory, ndim, |owner, shape, strides| {
                let layout = owner.tensor.layout();
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

/// Where a storage begins, and its size in bytes.
fn bytes(storage: &CpuStorage) -> (*const u8, usize) {
    fn of<T>(elements: &[T]) -> (*const u8, usize) {
        (elements.as_ptr().cast(), size_of_val(elements))
    }
    match storage {
        CpuStorage::U8(elements) => of(elements),
        CpuStorage::U32(elements) => of(elements),
        CpuStorage::I16(elements) => of(elements),
        CpuStorage::I32(elements) => of(elements),
        CpuStorage::I64(elements) => of(elements),
        CpuStorage::BF16(elements) => of(elements),
        CpuStorage::F16(elements) => of(elements),
        CpuStorage::F32(elements) => of(elements),
        CpuStorage::F64(elements) => of(elements),
        CpuStorage::F8E4M3(elements) => of(elements),
        CpuStorage::F6E2M3(bytes) => of(bytes),
        CpuStorage::F6E3M2(bytes) => of(bytes),
        CpuStorage::F4(bytes) => of(bytes),
        CpuStorage::F8E8M0(bytes) => of(bytes),
    }
}
