//! burn's `DType` and `Device` ↔ DLPack's.

use burn_std::{BoolStore, DType};
use burn_tensor::Device as BurnDevice;
use dlbridge_core::{DataType, Device, DeviceType, Error, Interchange};

use crate::{Burn, NAME};

/// burn's element types and the same types of DLPack.
const DTYPES: &[(DType, DataType)] = &[
    (DType::F64, DataType::FLOAT64),
    (DType::F32, DataType::FLOAT32),
    (DType::F16, DataType::FLOAT16),
    (DType::BF16, DataType::BFLOAT16),
    (DType::I64, DataType::INT64),
    (DType::I32, DataType::INT32),
    (DType::I16, DataType::INT16),
    (DType::I8, DataType::INT8),
    (DType::U64, DataType::UINT64),
    (DType::U32, DataType::UINT32),
    (DType::U16, DataType::UINT16),
    (DType::U8, DataType::UINT8),
    (DType::Bool(BoolStore::Native), DataType::BOOL),
    // Further names of burn's for two of these types. An import gives the names above.
    (DType::Bool(BoolStore::U8), DataType::BOOL),
    (DType::Flex32, DataType::FLOAT32),
];

impl Interchange<Burn> for DType {
    type Standard = DataType;

    fn to_dlpack(&self) -> Result<DataType, Error> {
        let what = match self {
            Self::QFloat(_) => "quantized floats",
            Self::Bool(BoolStore::U32) => "booleans of four bytes",
            _ => "this dtype",
        };
        let row = DTYPES.iter().find(|(dtype, _)| dtype == self);
        row.map(|(_, standard)| *standard).ok_or(Error::Inexpressible { framework: NAME, what })
    }

    fn from_dlpack(standard: DataType) -> Result<Self, Error> {
        let row = DTYPES.iter().find(|(_, known)| *known == standard);
        row.map(|(dtype, _)| *dtype).ok_or(Error::UnsupportedDType { framework: NAME, dtype: standard })
    }
}

/// burn's backends on the CPU.
#[cfg_attr(feature = "ndarray", expect(deprecated, reason = "burn has deprecated the backend; it is still used"))]
const CPUS: &[fn() -> BurnDevice] = &[
    #[cfg(feature = "flex")]
    BurnDevice::flex,
    #[cfg(feature = "ndarray")]
    BurnDevice::ndarray,
];

impl Interchange<Burn> for BurnDevice {
    type Standard = Device;

    /// Knows the devices of burn's CPU backends, with or without autodiff.
    fn to_dlpack(&self) -> Result<Device, Error> {
        let device = self.clone().inner();
        match CPUS.iter().any(|cpu| cpu() == device) {
            true => Ok(Device::CPU),
            false => Err(Error::Inexpressible { framework: NAME, what: "the device of another backend" }),
        }
    }

    /// The CPU becomes the device of flex, or of ndarray if flex is not enabled.
    fn from_dlpack(standard: Device) -> Result<Self, Error> {
        match CPUS.first() {
            Some(cpu) if standard.kind() == DeviceType::CPU => Ok(cpu()),
            _ => Err(Error::UnsupportedDevice { framework: NAME, device: standard }),
        }
    }
}

/// [`dlbridge_core::by_dtype!`] for the types that burn has.
macro_rules! by_dtype {
    ($dtype:expr, $T:ident => $body:expr, _ => $otherwise:expr) => {
        dlbridge_core::by_dtype!(
            $dtype,
            [f64, f32, half::f16, half::bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool],
            $T => $body,
            _ => $otherwise
        )
    };
}
pub(crate) use by_dtype;
