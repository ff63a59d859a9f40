//! Imports DLPack tensors into candle.

use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, DType, Device as CandleDevice, Storage, Tensor as CandleTensor, WithDType};
use dlbridge_core::{Descriptor, Element, Error, Import, Interchange, ReadOnly, Reason, Route, Tensor, TensorRef};
use float8::F8E4M3;

use crate::dtype::by_dtype;
use crate::export::{Exported, Sealed};
use crate::{Candle, NAME, adopt, failed};

/// A plain tensor may be written in place, so that it takes memory that is candle's own, or that may be written.
impl Import<Candle> for CandleTensor {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        plan(tensor, false)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        share(tensor, false)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        let (dtype, shape) = (check(tensor)?, dims(tensor));
        by_dtype!(
            tensor.dtype(),
            T => from_vec(copy::<T>(tensor)?, shape),
            _ => from_bytes(dtype, tensor.to_bytes()?, shape)
        )
    }
}

/// Over memory of any kind. What candle must not write is sealed.
impl Import<Candle> for ReadOnly<CandleTensor> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        plan(tensor, true)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        let shared = share(tensor, true)?;
        // SAFETY: the memory is candle's own, whose writers wait for whoever shares it (axiom *lock*); or candle may
        // write all of it; or it is sealed, so that whoever would write it waits for ever.
        Ok(unsafe { Self::new(shared) })
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        // SAFETY: nobody shares the copy.
        CandleTensor::import_copy(tensor).map(|copy| unsafe { Self::new(copy) })
    }
}

fn plan(tensor: &Descriptor<'_>, sealed: bool) -> Route {
    if let Err(error) = check(tensor) {
        return Route::Impossible(error);
    }
    if tensor.is_owned_by::<Exported>() {
        return Route::Shared;
    }
    if tensor.is_owned_by::<Sealed>() {
        return if sealed { Route::Shared } else { Route::Copied(Reason::ReadOnly) };
    }
    let is_vec = by_dtype!(tensor.dtype(), T => tensor.is_owned_by::<Vec<T>>(), _ => tensor.is_owned_by::<Vec<u8>>());
    if is_vec && tensor.is_row_major() {
        return Route::Shared;
    }
    match adopt::check(tensor, sealed) {
        Ok(()) => Route::Shared,
        Err(_) if is_vec => Route::Copied(Reason::Strided),
        Err(reason) => Route::Copied(reason),
    }
}

fn share(tensor: Tensor, sealed: bool) -> Result<CandleTensor, Error> {
    plan(&tensor.descriptor(), sealed).require_shared(NAME)?;
    let (dtype, shape) = (check(&tensor.descriptor())?, dims(&tensor.descriptor()));
    let tensor = match tensor.downcast::<Exported>() {
        Ok(exported) => return Ok(exported.tensor),
        Err(tensor) => tensor,
    };
    let tensor = match tensor.downcast::<Sealed>() {
        Ok(Sealed(tensor)) => return Ok(tensor),
        Err(tensor) => tensor,
    };
    let tensor = by_dtype!(
        tensor.dtype(),
        T => match tensor.into_vec::<T>() {
            Ok(vec) => return from_vec(vec, shape),
            Err(tensor) => tensor,
        },
        _ => match tensor.into_bytes() {
            Ok(bytes) => return from_bytes(dtype, bytes, shape),
            Err(tensor) => tensor,
        }
    );
    match adopt::check(&tensor.descriptor(), sealed) {
        Ok(()) => adopt::import(tensor, sealed),
        // A tensor that shows only a part of the vector that owns it.
        Err(_) => Err(Error::CopyRequired { framework: NAME, reason: Reason::Strided }),
    }
}

/// The candle dtype of a tensor that candle can hold.
fn check(tensor: &Descriptor<'_>) -> Result<DType, Error> {
    if !tensor.device().is_host_accessible() {
        return Err(Error::UnsupportedDevice { framework: NAME, device: tensor.device() });
    }
    if tensor.dtype().is_sub_byte() && tensor.flags().is_padded() {
        return Err(Error::Unsupported { framework: NAME, what: "sub-byte elements padded to bytes" });
    }
    DType::from_dlpack(tensor.dtype())
}

fn dims(tensor: &Descriptor<'_>) -> Vec<usize> {
    tensor.shape().iter().map(|length| *length as usize).collect()
}

fn from_vec<T: WithDType>(vec: Vec<T>, shape: Vec<usize>) -> Result<CandleTensor, Error> {
    CandleTensor::from_vec(vec, shape, &CandleDevice::Cpu).map_err(failed)
}

/// Copies the elements into a vector. A large vector is put on huge pages where the system has them, because a large
/// copy spends most of its time on getting pages.
fn copy<T: Element>(tensor: &TensorRef<'_>) -> Result<Vec<T>, Error> {
    let len = tensor.len();
    let mut elements: Vec<T> = Vec::new();
    elements.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes: tensor.nbytes() })?;
    let target = &mut elements.spare_capacity_mut()[..len];
    #[cfg(target_os = "linux")]
    advise_huge_pages(target);
    tensor.copy_to_uninit(target)?;
    // SAFETY: all elements are written.
    unsafe { elements.set_len(len) };
    Ok(elements)
}

#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(memory: &mut [T]) {
    const PAGE: usize = 4 << 10;
    const LEAST: usize = 4 << 20;
    let bytes = size_of_val(memory);
    let first = memory.as_mut_ptr().cast::<u8>();
    let skipped = (first as usize).next_multiple_of(PAGE) - first as usize;
    if bytes >= LEAST {
        let (start, len) = (first.wrapping_add(skipped), (bytes - skipped) / PAGE * PAGE);
        // SAFETY: these are whole pages within memory of our own, whose contents the advice does not change. It does
        // not matter if the system ignores the advice.
        unsafe { libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE) };
    }
}

/// A tensor of a dtype that candle keeps as bytes.
fn from_bytes(dtype: DType, bytes: Vec<u8>, shape: Vec<usize>) -> Result<CandleTensor, Error> {
    let storage = match dtype {
        // This reuses the allocation: each byte becomes a float in its place.
        DType::F8E4M3 => CpuStorage::F8E4M3(bytes.into_iter().map(F8E4M3::from_bits).collect()),
        DType::F6E2M3 => CpuStorage::F6E2M3(bytes),
        DType::F6E3M2 => CpuStorage::F6E3M2(bytes),
        DType::F4 => CpuStorage::F4(bytes),
        DType::F8E8M0 => CpuStorage::F8E8M0(bytes),
        _ => return Err(Error::Inexpressible { framework: NAME, what: "this dtype" }),
    };
    Ok(CandleTensor::from_storage(Storage::Cpu(storage), shape, BackpropOp::none(), false))
}
