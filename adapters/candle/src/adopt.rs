//! Makes foreign memory candle's own storage by adoption, and makes the layouts that candle's operations can express.

use candle_core::{Device as CandleDevice, Tensor as CandleTensor, WithDType};
use dlbridge_core::adopting::{self, adopt};
use dlbridge_core::{Descriptor, Element, Error, Reason, Tensor};

use crate::dtype::by_dtype;
use crate::lock::Seal;
use crate::{NAME, failed};

/// Checks that a tensor can be adopted; the error is the reason why it cannot. Memory that candle must not write, or
/// not all of, is adopted only if it is to be `sealed`.
pub(crate) fn check(tensor: &Descriptor<'_>, sealed: bool) -> Result<(), Reason> {
    by_dtype!(tensor.dtype(), T => check_as::<T>(tensor, sealed), _ => Err(Reason::ForeignMemory))
}

fn check_as<T: Element>(tensor: &Descriptor<'_>, sealed: bool) -> Result<(), Reason> {
    let span = tensor.extent().map_or(0, |extent| extent.span() as usize);
    adopting::check(tensor.data() as usize, span * size_of::<T>(), align_of::<T>())?;
    Steps::of(tensor).obstacle().map_or(Ok(()), Err)?;
    match writing(tensor) {
        Err(reason) if !sealed => Err(reason),
        _ => Ok(()),
    }
}

/// Whether candle may write all of the extent, as an operation in place does that gets the whole storage.
fn writing(tensor: &Descriptor<'_>) -> Result<(), Reason> {
    if tensor.flags().is_read_only() {
        Err(Reason::ReadOnly)
    } else if !tensor.owns_extent() {
        Err(Reason::Gaps)
    } else {
        Ok(())
    }
}

/// Makes a candle tensor of one that [`check`] has accepted. If candle may not write all of it, it is [sealed](Seal).
pub(crate) fn import(tensor: Tensor, sealed: bool) -> Result<CandleTensor, Error> {
    by_dtype!(
        tensor.dtype(),
        T => import_as::<T>(tensor, sealed),
        _ => Err(Error::CopyRequired { framework: NAME, reason: Reason::ForeignMemory })
    )
}

fn import_as<T: Element + WithDType>(tensor: Tensor, sealed: bool) -> Result<CandleTensor, Error> {
    let descriptor = tensor.descriptor();
    check_as::<T>(&descriptor, sealed).map_err(|reason| Error::CopyRequired { framework: NAME, reason })?;
    let span = descriptor.extent().map_or(0, |extent| extent.span() as usize);
    let shape: Vec<usize> = descriptor.shape().iter().map(|length| *length as usize).collect();
    let steps = Steps::of(&descriptor);
    let seal = writing(&descriptor).is_err().then(|| Seal::new(tensor.data()));
    let is_sealed = seal.is_some();
    let data = tensor.data().cast_mut().cast::<T>();
    // SAFETY: strides are not negative, so that the extent begins at the first element, and by invariant *access* of
    // `Tensor` all of it is initialised until the tensor is dropped. Either nobody else has access to any of it, or
    // nobody writes: by axiom *lock* candle writes only through the lock, which is never free for writers once the
    // storage is sealed below, before anybody else has it.
    let vec = unsafe { adopt(data, span, (seal, tensor)) }?;
    let base = CandleTensor::from_vec(vec, span, &CandleDevice::Cpu).map_err(failed)?;
    if is_sealed {
        Seal::close(&base)?;
    }
    steps.view(base, &shape).map_err(failed)
}

/// An axis that is longer than 1 and whose stride is not 0.
#[derive(Clone, Copy, Debug)]
struct Step {
    axis: usize,
    len: usize,
    stride: i64,
}

/// All such axes of a layout, those with the largest strides first.
#[derive(Debug)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    pub(crate) fn of(tensor: &Descriptor<'_>) -> Self {
        // Without elements no stride means anything, and none must be computed with.
        let is_empty = tensor.is_empty();
        let axes = tensor.shape().iter().zip(tensor.strides().iter()).enumerate();
        let mut steps: Vec<Step> = axes
            .filter(|(_, (length, stride))| **length > 1 && *stride != 0 && !is_empty)
            .map(|(axis, (length, stride))| Step { axis, len: *length as usize, stride })
            .collect();
        steps.sort_by_key(|step| std::cmp::Reverse(step.stride));
        Self(steps)
    }

    /// Why candle cannot express this layout as a view of a 1-D tensor, if it cannot.
    pub(crate) fn obstacle(&self) -> Option<Reason> {
        if self.0.iter().any(|step| step.stride < 0) {
            return Some(Reason::NegativeStrides);
        }
        (!self.can_be_said()).then_some(Reason::Strided)
    }

    /// The number of elements, gaps included, from the first to the last that the axes after `index` reach.
    fn span_behind(&self, index: usize) -> usize {
        self.0[index + 1..].iter().fold(1, |span, step| span + (step.len - 1) * step.stride as usize)
    }

    /// Whether the axes leave no gaps, so that a shape alone describes the layout.
    fn are_dense(&self) -> bool {
        let mut expected = 1;
        self.0.iter().rev().all(|step| {
            let is_next = step.stride == expected;
            expected *= step.len as i64;
            is_next
        })
    }

    /// Whether candle's operations can make this layout from a 1-D tensor. A layout with gaps needs `unfold`, which
    /// computes its length in `f32`, and so makes too few steps along some long axes.
    fn can_be_said(&self) -> bool {
        self.are_dense()
            || self.0.iter().enumerate().all(|(index, step)| {
                let inner = self.span_behind(index);
                let size = inner + (step.len - 1) * step.stride as usize;
                let found = ((size as f32 - inner as f32) / step.stride as f32 + 1.) as usize;
                found >= step.len
            })
    }

    /// This layout as a view of `base`, a 1-D tensor that is just as long as the axes reach.
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
        // Back from the order of strides to the order of the axes.
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
