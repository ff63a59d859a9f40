//! Foreign memory lent to candle for the length of a closure, whatever allocator is installed.

use std::sync::Mutex;
use std::{alloc, mem};

use candle_core::{CpuStorage, DType, Device as CandleDevice, InplaceOp1, Layout, Tensor as CandleTensor, WithDType};
use dlbridge_core::{Element, Error, Interchange, Tensor};

use crate::adopt::Steps;
use crate::dtype::by_dtype;
use crate::{NAME, failed};

/// Calls `use_it` with a candle tensor over the memory of `tensor`, and takes the memory back when it returns or
/// panics.
///
/// `Copies: never`. This works for nearly any layout without negative strides, if the element type is a Rust type. A
/// clone or view of the candle tensor that outlives the call reads zeros from then on; the system provides pages for
/// these only when they are read.
///
/// # Safety
/// 1. No in-place operation inside `use_it` replaces or resizes the storage's vector, because candle must not free it.
/// 2. Nothing inside `use_it` writes in place, unless `tensor` is not read-only and nobody else looks at it, or at
///    anything borrowed from it, meanwhile.
/// 3. No lock of the storage (`storage_and_layout`, an export of this crate) is still held when `use_it` returns:
///    taking the memory back would wait for it.
///
/// # Errors
/// Types and layouts that candle cannot hold, misaligned elements, and [`Error::OutOfMemory`] for the zeros.
pub unsafe fn lend<R>(tensor: &Tensor, use_it: impl FnOnce(&CandleTensor) -> R) -> Result<R, Error> {
    DType::from_dlpack(tensor.dtype())?;
    by_dtype!(
        tensor.dtype(),
        // SAFETY: the caller's promise.
        T => unsafe { lend_as::<T, R>(tensor, use_it) },
        _ => Err(Error::UnsupportedDType { framework: NAME, dtype: tensor.dtype() })
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
    let zeros = T::to_cpu_storage_owned(zeroed::<T>(span)?);
    // SAFETY: the vector is as long as the extent, which stays in place while `tensor` is borrowed. It does not matter
    // that Rust's allocator did not allocate it: by axiom *vector* the storage has the vector, and drops it with itself
    // only, and `Lent` takes it out again before.
    let elements = unsafe { Vec::from_raw_parts(data, span, span) };
    let storage = T::to_cpu_storage_owned(elements);
    let base = CandleTensor::from_storage(
        candle_core::Storage::Cpu(storage),
        span,
        candle_core::op::BackpropOp::none(),
        false,
    );
    let lent = Lent { base, take: Take(Mutex::new(Some(zeros))) };
    let view = if descriptor.is_empty() {
        CandleTensor::zeros(shape, <T as WithDType>::DTYPE, &CandleDevice::Cpu).map_err(failed)?
    } else {
        steps.view(lent.base.clone(), &shape).map_err(failed)?
    };
    let result = use_it(&view);
    drop(lent);
    Ok(result)
}

/// A tensor over lent memory, which gives the memory back when it is dropped.
struct Lent {
    base: CandleTensor,
    take: Take,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.base.inplace_op1(&self.take).is_err() {
            // This never happens for a storage on the CPU. If memory cannot be taken back, it must not be freed either.
            mem::forget(self.base.clone());
        }
    }
}

/// Puts zeros in the place of the lent elements, which it forgets without freeing them.
struct Take(Mutex<Option<CpuStorage>>);

impl InplaceOp1 for Take {
    fn name(&self) -> &'static str {
        "take back"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _: &Layout) -> candle_core::Result<()> {
        let zeros = self.0.lock().ok().and_then(|mut zeros| zeros.take());
        let Some(zeros) = zeros else { candle_core::bail!("taken back before") };
        mem::forget(mem::replace(storage, zeros));
        Ok(())
    }
}

/// A vector of `len` zeros, for which the system provides pages only when they are used.
fn zeroed<T: Element>(len: usize) -> Result<Vec<T>, Error> {
    let out_of_memory = Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) };
    let Ok(layout) = alloc::Layout::array::<T>(len) else { return Err(out_of_memory) };
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the size is not 0.
    let block = unsafe { alloc::alloc_zeroed(layout) }.cast::<T>();
    if block.is_null() {
        return Err(out_of_memory);
    }
    // SAFETY: the global allocator has allocated the block with just this layout; all of candle's elements are numbers,
    // for which zero is valid.
    Ok(unsafe { Vec::from_raw_parts(block, len, len) })
}
