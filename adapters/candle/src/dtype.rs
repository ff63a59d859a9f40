//! Translates between candle's `DType` and `Device` and DLPack's.

use candle_core::{DType, Device as CandleDevice, DeviceLocation};
use dlbridge_core::{DataType, Device, DeviceType, Error, Interchange};

use crate::{Candle, NAME};

/// candle's types in DLPack's terms. candle's `F8E4M3` is the finite variant (`fn`), as in its safetensors files.
const DTYPES: &[(DType, DataType)] = &[
    (DType::U8, DataType::UINT8),
    (DType::U32, DataType::UINT32),
    (DType::I16, DataType::INT16),
    (DType::I32, DataType::INT32),
    (DType::I64, DataType::INT64),
    (DType::BF16, DataType::BFLOAT16),
    (DType::F16, DataType::FLOAT16),
    (DType::F32, DataType::FLOAT32),
    (DType::F64, DataType::FLOAT64),
    (DType::F8E4M3, DataType::FLOAT8_E4M3FN),
    (DType::F6E2M3, DataType::FLOAT6_E2M3FN),
    (DType::F6E3M2, DataType::FLOAT6_E3M2FN),
    (DType::F4, DataType::FLOAT4_E2M1FN),
    (DType::F8E8M0, DataType::FLOAT8_E8M0FNU),
];

impl Interchange<Candle> for DType {
    type Standard = DataType;

    fn to_dlpack(&self) -> Result<DataType, Error> {
        let row = DTYPES.iter().find(|(dtype, _)| dtype == self);
        row.map(|(_, standard)| *standard).ok_or(Error::Inexpressible { framework: NAME, what: "this dtype" })
    }

    fn from_dlpack(standard: DataType) -> Result<Self, Error> {
        let row = DTYPES.iter().find(|(_, known)| *known == standard);
        row.map(|(dtype, _)| *dtype).ok_or(Error::UnsupportedDType { framework: NAME, dtype: standard })
    }
}

impl Interchange<Candle> for CandleDevice {
    type Standard = Device;

    fn to_dlpack(&self) -> Result<Device, Error> {
        Ok(match self.location() {
            DeviceLocation::Cpu => Device::CPU,
            DeviceLocation::Cuda { gpu_id } => Device::cuda(gpu_id as i32),
            DeviceLocation::Metal { gpu_id } => Device::new(DeviceType::METAL, gpu_id as i32),
        })
    }

    /// If the device is a GPU, this opens it: every call makes a new context, as candle's own constructors do.
    fn from_dlpack(standard: Device) -> Result<Self, Error> {
        let unavailable = Error::DeviceUnavailable { framework: NAME, device: standard };
        let Ok(id) = usize::try_from(standard.id()) else { return Err(unavailable) };
        match standard.kind() {
            DeviceType::CPU => Ok(Self::Cpu),
            DeviceType::CUDA => Self::new_cuda(id).map_err(|_| unavailable),
            DeviceType::METAL => Self::new_metal(id).map_err(|_| unavailable),
            _ => Err(Error::UnsupportedDevice { framework: NAME, device: standard }),
        }
    }
}

/// [`dlbridge_core::by_dtype!`] for the types that candle stores as elements of a Rust type, not as bytes.
macro_rules! by_dtype {
    ($dtype:expr, $T:ident => $body:expr, _ => $otherwise:expr) => {
        dlbridge_core::by_dtype!(
            $dtype,
            [u8, u32, i16, i32, i64, half::bf16, half::f16, f32, f64],
            $T => $body,
            _ => $otherwise
        )
    };
}
pub(crate) use by_dtype;
