//! Copies between host memory and tensors on any backend, GPUs included.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use burn_std::{BoolStore, Bytes, DType, Reader, Shape, TensorData, Writer};
use burn_tensor::kind::{Basic, Kind, TensorKind};
use burn_tensor::{Device as BurnDevice, Tensor as BurnTensor};
use dlbridge_core::layout::{self, Dims};
use dlbridge_core::{DataType, Descriptor, Device, Error, Flags, Interchange, Memory, Tensor, TensorRef};

use crate::NAME;
use crate::dtype::by_dtype;

/// Copies a tensor on any backend to a row-major tensor in host memory. Waits for the device. Booleans become one byte
/// each, in whatever form the device stores them.
///
/// `Copies: always`: what burn's own `to_data` copies, and nothing more, unless burn still shares the result with
/// others, as its backend `cpu` does: then the copy is made here.
///
/// # Errors
/// DLPack cannot express the element type, or burn reports that the device failed.
pub fn to_host<const D: usize, K: Basic>(tensor: &BurnTensor<D, K>) -> Result<Tensor, Error> {
    if !tensor.dtype().is_bool() {
        tensor.dtype().to_dlpack()?;
    }
    let data = guarded(|| {
        let data = tensor.clone().try_into_data().map_err(|error| format!("{error:?}"))?;
        // On a GPU, burn may read only when somebody looks at the bytes. That is done here, before anybody can write
        // the tensor again, and where a failure is an error: anywhere else it is a panic.
        data.bytes().read(Reader::new()).map_err(|error| error.to_string())?;
        Ok(data)
    })?;
    let data = if data.dtype().is_bool() { data.convert_dtype(DType::Bool(BoolStore::Native)) } else { data };
    let (bytes, shape, dtype) = data.into_parts();
    let shape: Vec<usize> = shape.iter().copied().collect();
    let dtype = dtype.to_dlpack()?;
    by_dtype!(
        dtype,
        T => match bytes.try_into_vec::<T>() {
            Ok(vec) => Ok(Tensor::new(vec, &shape)?),
            // The bytes are no vector of `T`, as when a device allocated them: the tensor keeps them as they are.
            Err(bytes) => own(bytes, dtype, &shape),
        },
        _ => Err(Error::Inexpressible { framework: NAME, what: "this dtype" })
    )
}

/// A row-major tensor over bytes. If others have their memory, burn copies it first.
fn own(mut bytes: Bytes, dtype: DataType, shape: &[usize]) -> Result<Tensor, Error> {
    let lengths: Dims = shape.iter().map(|length| *length as i64).collect();
    let needed = layout::count(&lengths)?.saturating_mul(dtype.itemsize().unwrap_or(1));
    let memory = bytes.write(Writer::new()).map_err(|error| failed(error.to_string()))?;
    let (data, available) = (memory.as_mut_ptr(), memory.len());
    if needed > available {
        return Err(Error::OutOfStorage { framework: NAME, needed, available });
    }
    let flags = Flags::COPIED | Flags::READ_ONLY;
    let memory = Memory { dtype, device: Device::CPU, flags, is_valid: false };
    // SAFETY: as many bytes as checked above, which can be read (axiom *initialised*), stay where they are (axiom
    // *place*), and are reached by nobody else (axiom *alone*).
    Ok(unsafe {
        Tensor::from_owner(bytes, memory, lengths.len(), |_, shape, strides| {
            shape.copy_from_slice(&lengths);
            layout::fill_row_major(shape, strides);
            data
        })
    })
}

/// Copies `tensor` to a tensor of the same element type on any device of burn's. Booleans are stored in the form that
/// the device uses.
///
/// `Copies: always`.
///
/// # Errors
/// As for the imports: another rank or kind, a type that burn or the device lacks, memory that the CPU cannot read.
/// Also a tensor without axes, which burn cannot make on a chosen device, and a device that is not there.
pub fn from_host<const D: usize, K: Basic + TensorKind>(
    tensor: &TensorRef<'_>,
    device: &BurnDevice,
) -> Result<BurnTensor<D, K>, Error> {
    check::<D, K>(tensor)?;
    if D == 0 {
        let what = "tensors of no axes on a device of choice: give it one axis of length 1";
        return Err(Error::Unsupported { framework: NAME, what });
    }
    let dtype = DType::from_dlpack(tensor.dtype())?;
    if !dtype.is_bool() && !guarded(|| Ok(device.supports_dtype(dtype)))? {
        return Err(Error::UnsupportedDType { framework: "this device of burn's", dtype: tensor.dtype() });
    }
    let shape: Shape = tensor.shape().iter().map(|length| *length as usize).collect::<Vec<_>>().into();
    let bytes = by_dtype!(
        tensor.dtype(),
        T => Bytes::from_elems(tensor.to_vec::<T>()?),
        _ => return Err(Error::UnsupportedDType { framework: NAME, dtype: tensor.dtype() })
    );
    let data = TensorData::from_bytes(bytes, shape, dtype);
    guarded(|| {
        Ok(match dtype.is_bool() {
            true => BurnTensor::from_data(data, device),
            false => BurnTensor::from_data(data, (device, dtype)),
        })
    })
}

/// Turns a panic of burn's into an error. burn panics above all if a device is not there.
fn guarded<T>(ask: impl FnOnce() -> Result<T, String>) -> Result<T, Error> {
    // After a panic, nothing that `ask` has touched is used again.
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| Err(reason(&*panic))).map_err(failed)
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the device failed").to_owned()
}

fn failed(message: String) -> Error {
    Error::Framework { framework: NAME, message: message.into() }
}

/// Checks that rank and kind are those of a `Tensor<D, K>`.
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
    tensor.check_ndim(D)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_others_hold_are_copied() {
        let elements = [1f32, 2.];
        let bytes = Bytes::from_elems(elements.to_vec()).shared();
        let other = bytes.clone();
        let tensor = own(bytes, DataType::FLOAT32, &[2]).unwrap();
        assert_ne!(tensor.data(), other.as_ptr());
        assert_eq!(tensor.to_vec::<f32>().unwrap(), elements);
        // Bytes that nobody else has are taken as they are.
        let bytes = Bytes::from_bytes_vec(other.to_vec());
        let address = bytes.as_ptr();
        assert_eq!(own(bytes, DataType::FLOAT32, &[2]).unwrap().data(), address);
    }
}
