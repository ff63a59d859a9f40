//! DLPack → candle.

use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, DType, Device as CandleDevice, Storage, Tensor as CandleTensor, WithDType};
use dlbridge_core::{Descriptor, Error, Import, Interchange, Reason, Route, Tensor, TensorRef};

use float8::F8E4M3;

use crate::export::Exported;
use crate::{Candle, NAME};

/// Calls `$body` with `$T` bound to the Rust type of a candle dtype, or `$raw` for those kept as bytes.
macro_rules! by_dtype {
    ($dtype:expr, $T:ident => $body:expr, $raw:ident => $raw_body:expr) => {
        match $dtype {
            DType::U8 => {
                type $T = u8;
                $body
            }
            DType::U32 => {
                type $T = u32;
                $body
            }
            DType::I16 => {
                type $T = i16;
                $body
            }
            DType::I32 => {
                type $T = i32;
                $body
            }
            DType::I64 => {
                type $T = i64;
                $body
            }
            DType::BF16 => {
                type $T = half::bf16;
                $body
            }
            DType::F16 => {
                type $T = half::f16;
                $body
            }
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            $raw => $raw_body,
        }
    };
}

impl Import<Candle> for CandleTensor {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        let dtype = match check(tensor) {
            Ok(dtype) => dtype,
            Err(error) => return Route::Impossible(error),
        };
        if tensor.is_owned_by::<Exported>() {
            return Route::Shared;
        }
        let is_vec = by_dtype!(dtype, T => tensor.is_owned_by::<Vec<T>>(), _raw => tensor.is_owned_by::<Vec<u8>>());
        match is_vec {
            true if tensor.is_row_major() => Route::Shared,
            true => Route::Copied(Reason::Strided),
            false => Route::Copied(Reason::ForeignMemory),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let (dtype, shape) = (check(&tensor.descriptor())?, dims(&tensor.descriptor()));
        let tensor = match tensor.downcast::<Exported>() {
            Ok(exported) => return Ok(exported.tensor),
            Err(tensor) => tensor,
        };
        // What is left otherwise is a tensor that shows only a part of the vector that owns it.
        let part = || Error::CopyRequired { framework: NAME, reason: Reason::Strided };
        by_dtype!(
            dtype,
            T => tensor.into_vec::<T>().map_err(|_| part()).and_then(|vec| from_vec(vec, shape)),
            raw => tensor.into_bytes().map_err(|_| part()).and_then(|bytes| from_bytes(raw, bytes, shape))
        )
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        let shape = dims(tensor);
        by_dtype!(
            check(tensor)?,
            T => from_vec(tensor.to_vec::<T>()?, shape),
            raw => from_bytes(raw, tensor.to_bytes()?, shape)
        )
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
    CandleTensor::from_vec(vec, shape, &CandleDevice::Cpu)
        .map_err(|error| Error::Framework { framework: NAME, message: error.to_string().into() })
}

/// A tensor of a dtype that candle keeps as bytes.
fn from_bytes(dtype: DType, bytes: Vec<u8>, shape: Vec<usize>) -> Result<CandleTensor, Error> {
    let storage = match dtype {
        // Collected in place: a byte becomes a float where it is.
        DType::F8E4M3 => CpuStorage::F8E4M3(bytes.into_iter().map(F8E4M3::from_bits).collect()),
        DType::F6E2M3 => CpuStorage::F6E2M3(bytes),
        DType::F6E3M2 => CpuStorage::F6E3M2(bytes),
        DType::F4 => CpuStorage::F4(bytes),
        DType::F8E8M0 => CpuStorage::F8E8M0(bytes),
        _ => return Err(Error::Inexpressible { framework: NAME, what: "this dtype" }),
    };
    Ok(CandleTensor::from_storage(Storage::Cpu(storage), shape, BackpropOp::none(), false))
}
