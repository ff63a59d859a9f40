//! Foreign memory as candle's own storage, by adoption, and the layouts that candle can say.

use std::mem;

use candle_core::{Device as CandleDevice, Tensor as CandleTensor, WithDType};
use dlbridge_core::adopting::{self, adopt};
use dlbridge_core::{Descriptor, Element, Error, Reason, Tensor};

use crate::dtype::by_dtype;
use crate::{NAME, failed};

/// Why a tensor is not adopted, if it is not.
pub(crate) fn check(tensor: &Descriptor<'_>) -> Result<(), Reason> {
    by_dtype!(tensor.dtype(), T => check_as::<T>(tensor), _ => Err(Reason::ForeignMemory))
}

fn check_as<T: Element>(tensor: &Descriptor<'_>) -> Result<(), Reason> {
    let span = tensor.extent().map_or(0, |extent| extent.span() as usize);
    adopting::check(tensor.data() as usize, span * size_of::<T>(), align_of::<T>())?;
    Steps::of(tensor).obstacle().map_or(Ok(()), Err)
}

/// A tensor that [`check`] has accepted, as candle's own. Memory that must not be written, or whose gaps may be
/// somebody else's, is sealed: a read lock is never released, so that whoever would write waits.
pub(crate) fn import(tensor: Tensor) -> Result<CandleTensor, Error> {
    by_dtype!(
        tensor.dtype(),
        T => import_as::<T>(tensor),
        _ => Err(Error::CopyRequired { framework: NAME, reason: Reason::ForeignMemory })
    )
}

fn import_as<T: Element + WithDType>(tensor: Tensor) -> Result<CandleTensor, Error> {
    let descriptor = tensor.descriptor();
    check_as::<T>(&descriptor).map_err(|reason| Error::CopyRequired { framework: NAME, reason })?;
    let span = descriptor.extent().map_or(0, |extent| extent.span() as usize);
    let shape: Vec<usize> = descriptor.shape().iter().map(|length| *length as usize).collect();
    let steps = Steps::of(&descriptor);
    let has_gaps = steps.0.iter().try_fold(1usize, |count, step| count.checked_mul(step.len)) != Some(span);
    let is_sealed = descriptor.flags().is_read_only() || has_gaps;
    let data = tensor.data().cast_mut().cast::<T>();
    // SAFETY: strides are not negative, so that the extent begins at the first element, and all of it is initialised
    // until the tensor is dropped. Either nobody else has access, or nobody writes: candle writes through the lock
    // only, which is never free for writers once the storage is sealed below, before anybody else has it. What is not
    // sealed has no gaps, so that the extent is the elements.
    let vec = unsafe { adopt(data, span, tensor) }?;
    let base = CandleTensor::from_vec(vec, span, &CandleDevice::Cpu).map_err(failed)?;
    if is_sealed {
        mem::forget(base.storage_and_layout().0);
    }
    steps.view(base, &shape).map_err(failed)
}

/// One axis that is walked, and not on the spot.
#[derive(Clone, Copy, Debug)]
struct Step {
    axis: usize,
    len: usize,
    stride: i64,
}

/// The axes that are walked, the widest steps first.
#[derive(Debug)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    pub(crate) fn of(tensor: &Descriptor<'_>) -> Self {
        let axes = tensor.shape().iter().zip(tensor.strides().iter()).enumerate();
        let mut steps: Vec<Step> = axes
            .filter(|(_, (length, stride))| **length > 1 && *stride != 0)
            .map(|(axis, (length, stride))| Step { axis, len: *length as usize, stride })
            .collect();
        steps.sort_by_key(|step| std::cmp::Reverse(step.stride));
        Self(steps)
    }

    /// Why candle cannot have this layout over a flat run, if it cannot.
    pub(crate) fn obstacle(&self) -> Option<Reason> {
        if self.0.iter().any(|step| step.stride < 0) {
            return Some(Reason::NegativeStrides);
        }
        (!self.can_be_said()).then_some(Reason::Strided)
    }

    /// The number of elements from the first to the last that the steps behind `index` reach.
    fn span_behind(&self, index: usize) -> usize {
        self.0[index + 1..].iter().fold(1, |span, step| span + (step.len - 1) * step.stride as usize)
    }

    /// Whether the steps follow each other without gaps, so that a shape says it all.
    fn are_dense(&self) -> bool {
        let mut expected = 1;
        self.0.iter().rev().all(|step| {
            let is_next = step.stride == expected;
            expected *= step.len as i64;
            is_next
        })
    }

    /// Whether candle's operations make this layout of a flat run. With gaps it takes `unfold`, which computes its
    /// length in `f32` and so makes too few steps of some long runs.
    fn can_be_said(&self) -> bool {
        self.are_dense()
            || self.0.iter().enumerate().all(|(index, step)| {
                let inner = self.span_behind(index);
                let size = inner + (step.len - 1) * step.stride as usize;
                let found = ((size as f32 - inner as f32) / step.stride as f32 + 1.) as usize;
                found >= step.len
            })
    }

    /// The layout over `base`, a flat run that is just as long as the steps reach.
    pub(crate) fn view(&self, base: CandleTensor, shape: &[usize]) -> candle_core::Result<CandleTensor> {
        let mut view = base;
        if self.are_dense() {
            view = view.reshape(self.0.iter().map(|step| step.len).collect::<Vec<_>>())?;
        } else {
            for (index, step) in self.0.iter().enumerate() {
                view = view.unfold(index, self.span_behind(index), step.stride as usize)?.narrow(index, 0, step.len)?;
            }
            view = view.squeeze(self.0.len())?;
        }
        // From the widest first to the order of the axes.
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|index| self.0[*index].axis);
        view = view.permute(order)?;
        for axis in 0..shape.len() {
            if !self.0.iter().any(|step| step.axis == axis) {
                view = view.unsqueeze(axis)?;
            }
        }
        view = view.broadcast_as(shape)?;
        let says = |step: &Step| view.stride()[step.axis] as i64 == step.stride;
        match self.0.iter().all(says) {
            true => Ok(view),
            false => candle_core::bail!("the strides {:?} are not those asked for", view.stride()),
        }
    }
}
