//! Imports as libtorch tensors.

use dlbridge_core::{Descriptor, Device, DeviceType, Error, Import, ReadOnly, Reason, Route, Tensor, TensorRef};

use crate::shim::{self, Target};
use crate::{NAME, Tch, dtype};

/// libtorch can write a plain tensor, so only writable memory is shared.
impl Import<Tch> for tch::Tensor {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        plan(tensor, false)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        share(tensor, false)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        copy(tensor, false)
    }
}

/// libtorch refuses to write a sealed tensor, so read-only memory is shared as well.
impl Import<Tch> for ReadOnly<tch::Tensor> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        plan(tensor, true)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        let sealed = share(tensor, true)?;
        // SAFETY: libtorch refuses to write the storage (axioms *seal* and *const*). Who asks for an `unsealed` tensor
        // promises not to write it.
        Ok(unsafe { Self::new(sealed) })
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        // SAFETY: nobody shares the copy. On the CPU it is sealed all the same, to behave alike however it was made.
        copy(tensor, true).map(|tensor| unsafe { Self::new(tensor) })
    }
}

fn plan(tensor: &Descriptor<'_>, sealed: bool) -> Route {
    match target(tensor) {
        Err(error) => Route::Impossible(error),
        Ok(target) => obstacle(tensor, &target, sealed).map_or(Route::Shared, Route::Copied),
    }
}

/// The scalar type, alignment and device with which libtorch would hold the tensor.
fn target(tensor: &Descriptor<'_>) -> Result<Target, Error> {
    let (scalar_type, align) = dtype::to_scalar_type(tensor.dtype())?;
    if tensor.dtype().is_sub_byte() && tensor.flags().is_padded() {
        return Err(Error::Unsupported { framework: NAME, what: "sub-byte elements padded to bytes" });
    }
    let device = match tensor.device() {
        Device::CPU => tch::Device::Cpu,
        device if device.kind() == DeviceType::CUDA => dtype::cuda(device.id())?,
        device if device.is_host_accessible() => tch::Device::Cpu,
        device => return Err(Error::UnsupportedDevice { framework: NAME, device }),
    };
    Ok(Target { scalar_type, align, device })
}

/// Why libtorch cannot share a tensor that it could hold.
fn obstacle(tensor: &Descriptor<'_>, target: &Target, sealed: bool) -> Option<Reason> {
    let is_reversed = || tensor.shape().iter().zip(tensor.strides().iter()).any(|(n, stride)| *n > 1 && stride < 0);
    if is_reversed() && !tensor.is_empty() {
        Some(Reason::NegativeStrides)
    } else if tensor.check_align(target.align).is_err() {
        Some(Reason::Misaligned { align: target.align })
    } else if tensor.flags().is_read_only() && !sealed {
        Some(Reason::ReadOnly)
    } else if !sealed && !tensor.owns_extent() {
        // `as_strided` reaches all of the storage.
        Some(Reason::Gaps)
    } else {
        None
    }
}

fn share(tensor: Tensor, sealed: bool) -> Result<tch::Tensor, Error> {
    let target = target(&tensor.descriptor())?;
    match obstacle(&tensor.descriptor(), &target, sealed) {
        Some(reason) => Err(Error::CopyRequired { framework: NAME, reason }),
        // SAFETY: the target is that of the tensor, and there is no obstacle: the elements are aligned, no stride is
        // negative, and memory that others use, or that is read-only, is sealed.
        None => unsafe { shim::import(tensor, &target, sealed) },
    }
}

fn copy(tensor: &TensorRef<'_>, sealed: bool) -> Result<tch::Tensor, Error> {
    let target = target(tensor)?;
    if target.device == tch::Device::Cpu {
        let copy = tensor.to_contiguous()?;
        // SAFETY: the copy has the type of the target, is aligned to it, row-major and writable.
        return unsafe { shim::import(copy, &target, sealed) };
    }
    if tensor.strides().iter().any(|stride| stride < 0) {
        return Err(Error::Unsupported { framework: NAME, what: "negative strides on a GPU" });
    }
    // SAFETY: a `TensorRef` is readable on its device; its strides are not negative.
    unsafe { shim::clone(tensor, &target) }
}
