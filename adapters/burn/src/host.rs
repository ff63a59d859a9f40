//! Tensors of any backend, GPUs included, copied through host memory under names that say so.

use burn_std::{Bytes, DType, Shape, TensorData};
use burn_tensor::kind::{Basic, Kind, TensorKind};
use burn_tensor::{Device as BurnDevice, Tensor as BurnTensor};
use dlbridge_core::{Descriptor, Device, Error, Flags, Interchange, Tensor, TensorRef};

use crate::NAME;
use crate::dtype::by_dtype;

/// A row-major tensor in host memory with the elements of a tensor on any backend. Waits for the device.
///
/// `Copies: always`.
///
/// # Errors
/// Types that DLPack cannot express, [`Error::OutOfMemory`], and what burn says of the device.
pub fn to_host<const D: usize, K: Basic>(tensor: &BurnTensor<D, K>) -> Result<Tensor, Error> {
    let failed = |error: String| Error::Framework { framework: NAME, message: error.into() };
    tensor.dtype().to_dlpack()?;
    let data = tensor.clone().try_into_data().map_err(|error| failed(format!("{error:?}")))?;
    let shape: Vec<i64> = data.shape().iter().map(|length| *length as i64).collect();
    let dtype = data.dtype().to_dlpack()?;
    let tensor = Descriptor::new(data.bytes().as_ptr(), dtype, Device::CPU, Flags::READ_ONLY, &shape, None)?;
    let (needed, available) = (tensor.nbytes(), data.bytes().len());
    if needed > available {
        return Err(Error::OutOfStorage { framework: NAME, needed, available });
    }
    // SAFETY: as many bytes as checked above, which `data` holds until they are copied.
    unsafe { TensorRef::from_descriptor(tensor) }.to_contiguous()
}

/// A tensor on any device of burn's with the elements of `tensor`, of the same type.
///
/// `Copies: always`.
///
/// # Errors
/// As the imports: another rank or kind, a type that burn or the device lacks, memory that the CPU cannot read.
pub fn from_host<const D: usize, K: Basic + TensorKind>(
    tensor: &TensorRef<'_>,
    device: &BurnDevice,
) -> Result<BurnTensor<D, K>, Error> {
    check::<D, K>(tensor)?;
    let dtype = DType::from_dlpack(tensor.dtype())?;
    if !device.supports_dtype(dtype) {
        return Err(Error::UnsupportedDType { framework: "this device of burn's", dtype: tensor.dtype() });
    }
    let shape: Shape = tensor.shape().iter().map(|length| *length as usize).collect::<Vec<_>>().into();
    let bytes = by_dtype!(
        dtype,
        T => Bytes::from_elems(tensor.to_vec::<T>()?),
        _ => return Err(Error::UnsupportedDType { framework: NAME, dtype: tensor.dtype() })
    );
    Ok(BurnTensor::from_data(TensorData::from_bytes(bytes, shape, dtype), (device, dtype)))
}

/// Rank and kind are those of a `Tensor<D, K>`.
pub(crate) fn check<const D: usize, K: TensorKind>(tensor: &Descriptor<'_>) -> Result<(), Error> {
    let dtype = DType::from_dlpack(tensor.dtype())?;
    let (is_kind, framework) = match K::KIND {
        Kind::Float => (dtype.is_float(), "burn::Tensor<_, Float>"),
        Kind::Int => (dtype.is_int() || dtype.is_uint(), "burn::Tensor<_, Int>"),
        Kind::Bool => (dtype.is_bool(), "burn::Tensor<_, Bool>"),
    };
    if !is_kind {
        return Err(Error::UnsupportedDType { framework, dtype: tensor.dtype() });
    }
    match tensor.ndim() {
        found if found != D => Err(Error::NdimMismatch { expected: D, found }),
        _ => Ok(()),
    }
}
