//! DLPack → libtorch.

use dlbridge_core::layout::{self, Dims};
use dlbridge_core::{Descriptor, DeviceType, Error, Import, ReadOnly, Reason, Route, Tensor, TensorRef};

use crate::shim::{self, Target};
use crate::{NAME, Tch, dtype};

/// A plain tensor may be written, so it shares writable memory only.
impl Import<Tch> for tch::Tensor {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match plan(tensor) {
            Route::Shared if tensor.flags().is_read_only() => Route::Copied(Reason::ReadOnly),
            route => route,
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        share(tensor, false)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        copy(tensor, false)
    }
}

/// A tensor that libtorch refuses to write, over memory of any kind.
impl Import<Tch> for ReadOnly<tch::Tensor> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        plan(tensor)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        plan(&tensor.descriptor()).require_shared(NAME)?;
        let sealed = share(tensor, true)?;
        // SAFETY: the storage is sealed: libtorch throws on every access that could write, through whatever tensor.
        Ok(unsafe { Self::new(sealed) })
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        // SAFETY: sealed as above, although nobody shares the copy: a `ReadOnly` behaves the same however it was made.
        copy(tensor, true).map(|tensor| unsafe { Self::new(tensor) })
    }
}

fn plan(tensor: &Descriptor<'_>) -> Route {
    let align = match target(tensor) {
        Ok((_, align)) => align,
        Err(error) => return Route::Impossible(error),
    };
    if tensor.is_empty() {
        Route::Shared
    } else if is_reversed(tensor) {
        Route::Copied(Reason::NegativeStrides)
    } else if tensor.check_align(align).is_err() {
        Route::Copied(Reason::Misaligned { align })
    } else {
        Route::Shared
    }
}

/// As what libtorch would hold the tensor, and the alignment that it needs.
fn target(tensor: &Descriptor<'_>) -> Result<(Target, usize), Error> {
    let (scalar_type, align) = dtype::to_scalar_type(tensor.dtype())?;
    let device = match tensor.device() {
        device if device.kind() == DeviceType::CUDA => dtype::cuda(device.id())?,
        device if device.is_host_accessible() => tch::Device::Cpu,
        device => return Err(Error::UnsupportedDevice { framework: NAME, device }),
    };
    Ok((Target { scalar_type, device }, align))
}

fn is_reversed(tensor: &Descriptor<'_>) -> bool {
    tensor.shape().iter().zip(tensor.strides().iter()).any(|(length, stride)| *length > 1 && stride < 0)
}

/// Strides as libtorch takes them: never negative, and 1 on axes that are not walked.
fn strides(tensor: &Descriptor<'_>) -> Dims {
    if tensor.is_empty() {
        let mut strides = Dims::zeros(tensor.ndim());
        layout::fill_row_major(tensor.shape(), &mut strides);
        return strides;
    }
    let axes = tensor.shape().iter().zip(tensor.strides().iter());
    axes.map(|(length, stride)| if *length == 1 { 1 } else { stride }).collect()
}

fn share(tensor: Tensor, sealed: bool) -> Result<tch::Tensor, Error> {
    let (target, _) = target(&tensor.descriptor())?;
    let strides = strides(&tensor.descriptor());
    shim::import(tensor, &strides, &target, sealed)
}

fn copy(tensor: &TensorRef<'_>, sealed: bool) -> Result<tch::Tensor, Error> {
    let (target, _) = target(tensor)?;
    if target.device == tch::Device::Cpu {
        return share(tensor.to_contiguous()?, sealed);
    }
    if is_reversed(tensor) {
        return Err(Error::Unsupported { framework: NAME, what: "negative strides on a GPU" });
    }
    // SAFETY: a `TensorRef` is readable on its device; its strides are not negative.
    unsafe { shim::clone(tensor, &strides(tensor), &target, sealed) }
}
