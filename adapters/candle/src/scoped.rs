//! Foreign memory lent to candle for the length of a closure, whatever allocator is installed.

use std::mem;

use candle_core::{CpuStorage, DType, Device as CandleDevice, InplaceOp1, Layout, Tensor as CandleTensor, WithDType};
use dlbridge_core::{Element, Error, Interchange, Tensor};

use crate::NAME;
use crate::adopt::Steps;
use crate::import::{by_dtype, failed};

/// Calls `use_it` with a candle tensor over the memory of `tensor`, and takes the memory back when it returns or panics.
///
/// `Copies: never`. Any layout that candle can say, of a type that Rust has. A clone or view of the candle tensor that
/// outlives the call reads zeros from then on.
///
/// # Safety
/// 1. No in-place operation inside `use_it` replaces or resizes the storage's vector: it is not candle's to free.
/// 2. If `tensor` is read-only, nothing inside `use_it` writes in place.
/// 3. No lock of the storage (`storage_and_layout`, an export of this crate) is still held when `use_it` returns: taking
///    the memory back would wait for it.
///
/// # Errors
/// Types and layouts that candle cannot hold, and misaligned elements.
pub unsafe fn lend<R>(tensor: &Tensor, use_it: impl FnOnce(&CandleTensor) -> R) -> Result<R, Error> {
    let dtype = DType::from_dlpack(tensor.dtype())?;
    by_dtype!(
        dtype,
        // SAFETY: the caller's promise.
        T => unsafe { lend_as::<T, R>(tensor, use_it) },
        _raw => Err(Error::UnsupportedDType { framework: NAME, dtype: tensor.dtype() })
    )
}

/// # Safety
/// As [`lend`].
unsafe fn lend_as<T: Element + WithDType, R>(
    tensor: &Tensor,
    use_it: impl FnOnce(&CandleTensor) -> R,
) -> Result<R, Error> {
    let descriptor = tensor.descriptor();
    let data = tensor.view().as_ptr::<T>()?.cast_mut();
    let steps = Steps::of(&descriptor);
    if let Some(reason) = steps.obstacle() {
        return Err(Error::CopyRequired { framework: NAME, reason });
    }
    let span = descriptor.extent().map_or(0, |extent| extent.span() as usize);
    let shape: Vec<usize> = descriptor.shape().iter().map(|length| *length as usize).collect();
    // SAFETY: as many elements as the extent has, which are there while `tensor` is borrowed. That they are not of Rust's
    // allocator does not matter, because `Lent` takes them out again before the vector is dropped.
    let elements = unsafe { Vec::from_raw_parts(data, span, span) };
    let storage = T::to_cpu_storage_owned(elements);
    let base = CandleTensor::from_storage(
        candle_core::Storage::Cpu(storage),
        span,
        candle_core::op::BackpropOp::none(),
        false,
    );
    let lent = Lent { base, take: Take::<T> { len: span, element: std::marker::PhantomData } };
    let view = if descriptor.is_empty() {
        CandleTensor::zeros(shape, <T as WithDType>::DTYPE, &CandleDevice::Cpu).map_err(failed)?
    } else {
        steps.view(lent.base.clone(), &shape).map_err(failed)?
    };
    let result = use_it(&view);
    drop(lent);
    Ok(result)
}

/// A tensor over lent memory, which it gives back when dropped.
struct Lent<T: Element + WithDType> {
    base: CandleTensor,
    take: Take<T>,
}

impl<T: Element + WithDType> Drop for Lent<T> {
    fn drop(&mut self) {
        if self.base.inplace_op1(&self.take).is_err() {
            // Never for a storage on the CPU; what cannot be taken back must not be freed either.
            mem::forget(self.base.clone());
        }
    }
}

/// Puts zeros in the place of lent elements, and forgets the elements.
struct Take<T> {
    len: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Element + WithDType> InplaceOp1 for Take<T> {
    fn name(&self) -> &'static str {
        "take back"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _: &Layout) -> candle_core::Result<()> {
        let zeros = T::to_cpu_storage_owned(vec![T::from_f64(0.); self.len]);
        mem::forget(mem::replace(storage, zeros));
        Ok(())
    }
}
