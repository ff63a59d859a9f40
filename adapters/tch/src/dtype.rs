//! Conversions between the scalar types and devices of libtorch and those of DLPack.

use dlbridge_core::{DataType, Device, DeviceType, Error, Interchange};
use tch::Kind;

use crate::{NAME, Tch};

/// One element type: libtorch's number, DLPack's type, the alignment in bytes, and tch's name where it has one.
struct Row {
    scalar_type: i32,
    dtype: DataType,
    align: usize,
    kind: Option<Kind>,
}

/// Every type that libtorch and DLPack have in common. tch's `Kind` lacks the wide unsigned integers and two small
/// floats; tensors of these types can be exported and imported all the same. (Axiom *numbers*.)
static ROWS: [Row; 22] = [
    row(0, DataType::UINT8, 1, Some(Kind::Uint8)),
    row(1, DataType::INT8, 1, Some(Kind::Int8)),
    row(2, DataType::INT16, 2, Some(Kind::Int16)),
    row(3, DataType::INT32, 4, Some(Kind::Int)),
    row(4, DataType::INT64, 8, Some(Kind::Int64)),
    row(5, DataType::FLOAT16, 2, Some(Kind::Half)),
    row(6, DataType::FLOAT32, 4, Some(Kind::Float)),
    row(7, DataType::FLOAT64, 8, Some(Kind::Double)),
    row(8, DataType::COMPLEX32, 4, Some(Kind::ComplexHalf)),
    row(9, DataType::COMPLEX64, 8, Some(Kind::ComplexFloat)),
    row(10, DataType::COMPLEX128, 16, Some(Kind::ComplexDouble)),
    row(11, DataType::BOOL, 1, Some(Kind::Bool)),
    row(15, DataType::BFLOAT16, 2, Some(Kind::BFloat16)),
    row(23, DataType::FLOAT8_E5M2, 1, Some(Kind::Float8e5m2)),
    row(24, DataType::FLOAT8_E4M3FN, 1, Some(Kind::Float8e4m3fn)),
    row(25, DataType::FLOAT8_E5M2FNUZ, 1, Some(Kind::Float8e5m2fnuz)),
    row(26, DataType::FLOAT8_E4M3FNUZ, 1, Some(Kind::Float8e4m3fnuz)),
    row(27, DataType::UINT16, 2, None),
    row(28, DataType::UINT32, 4, None),
    row(29, DataType::UINT64, 8, None),
    row(44, DataType::FLOAT8_E8M0FNU, 1, None),
    // An element of libtorch's is a byte that holds two 4-bit floats.
    row(45, DataType::FLOAT4_E2M1FN.with_lanes(2), 1, None),
];

const fn row(scalar_type: i32, dtype: DataType, align: usize, kind: Option<Kind>) -> Row {
    Row { scalar_type, dtype, align, kind }
}

/// The DLPack type of a libtorch scalar type.
#[inline]
pub(crate) fn of_scalar_type(scalar_type: i32) -> Result<DataType, Error> {
    // The rows of the common types are at the index that is their number; the others are searched for.
    let is_it = |row: &&Row| row.scalar_type == scalar_type;
    let row = ROWS.get(scalar_type as usize).filter(is_it).or_else(|| ROWS.iter().find(is_it));
    match row {
        Some(row) => Ok(row.dtype),
        None => Err(Error::Inexpressible { framework: NAME, what: "a tensor of this scalar type" }),
    }
}

/// libtorch's number for a DLPack type, and the alignment that it needs.
pub(crate) fn to_scalar_type(dtype: DataType) -> Result<(i32, usize), Error> {
    let row = ROWS.iter().find(|row| row.dtype == dtype);
    row.map(|row| (row.scalar_type, row.align)).ok_or(Error::UnsupportedDType { framework: NAME, dtype })
}

impl Interchange<Tch> for Kind {
    type Standard = DataType;

    fn to_dlpack(&self) -> Result<DataType, Error> {
        let row = ROWS.iter().find(|row| row.kind == Some(*self));
        row.map(|row| row.dtype).ok_or(Error::Inexpressible { framework: NAME, what: "a quantized kind" })
    }

    fn from_dlpack(standard: DataType) -> Result<Self, Error> {
        let row = ROWS.iter().find(|row| row.dtype == standard);
        row.and_then(|row| row.kind).ok_or(Error::UnsupportedDType { framework: NAME, dtype: standard })
    }
}

impl Interchange<Tch> for tch::Device {
    type Standard = Device;

    fn to_dlpack(&self) -> Result<Device, Error> {
        Ok(match *self {
            Self::Cpu => Device::CPU,
            Self::Cuda(index) => Device::cuda(index as i32),
            Self::Mps => Device::new(DeviceType::METAL, 0),
            Self::Vulkan => Device::new(DeviceType::VULKAN, 0),
        })
    }

    fn from_dlpack(standard: Device) -> Result<Self, Error> {
        match (standard.kind(), standard.id()) {
            (DeviceType::CPU, _) => Ok(Self::Cpu),
            (DeviceType::CUDA, index) => cuda(index),
            (DeviceType::METAL, 0) => Ok(Self::Mps),
            (DeviceType::VULKAN, 0) => Ok(Self::Vulkan),
            _ => Err(Error::UnsupportedDevice { framework: NAME, device: standard }),
        }
    }
}

/// The CUDA device with this index, if libtorch sees it in this process.
pub(crate) fn cuda(index: i32) -> Result<tch::Device, Error> {
    let unavailable = Error::DeviceUnavailable { framework: NAME, device: Device::cuda(index) };
    match usize::try_from(index) {
        Ok(id) if i64::from(index) < tch::Cuda::device_count() => Ok(tch::Device::Cuda(id)),
        _ => Err(unavailable),
    }
}
