//! Arrow's `DataType` ↔ DLPack's.

use arrow_schema::{DataType as ArrowType, IntervalUnit};
use dlbridge_core::{DataType, DataTypeCode, Error, Excerpt, Interchange};

use crate::options::Decimals;
use crate::{Arrow, NAME, Options};

/// The type of the unscaled integers that store 128-bit decimals.
const INT128: DataType = DataType::new(DataTypeCode::INT, 128, 1);

/// Arrow's types of numbers and the same types of DLPack. Arrow has no `bfloat16`, complex numbers or 8-bit floats.
const DTYPES: &[(ArrowType, DataType)] = &[
    (ArrowType::Boolean, DataType::BOOL),
    (ArrowType::Int8, DataType::INT8),
    (ArrowType::Int16, DataType::INT16),
    (ArrowType::Int32, DataType::INT32),
    (ArrowType::Int64, DataType::INT64),
    (ArrowType::UInt8, DataType::UINT8),
    (ArrowType::UInt16, DataType::UINT16),
    (ArrowType::UInt32, DataType::UINT32),
    (ArrowType::UInt64, DataType::UINT64),
    (ArrowType::Float16, DataType::FLOAT16),
    (ArrowType::Float32, DataType::FLOAT32),
    (ArrowType::Float64, DataType::FLOAT64),
];

impl Interchange<Arrow> for ArrowType {
    type Standard = DataType;

    /// Only for plain numbers and booleans: how a timestamp or a decimal is read depends on [`Options`].
    fn to_dlpack(&self) -> Result<DataType, Error> {
        plain(self).ok_or_else(|| unsupported(self))
    }

    fn from_dlpack(standard: DataType) -> Result<Self, Error> {
        let row = DTYPES.iter().find(|(_, known)| *known == standard);
        row.map(|(dtype, _)| dtype.clone()).ok_or(Error::UnsupportedDType { framework: NAME, dtype: standard })
    }
}

fn plain(dtype: &ArrowType) -> Option<DataType> {
    DTYPES.iter().find(|(known, _)| known == dtype).map(|(_, standard)| *standard)
}

/// How an array stores the elements of its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In the form that the tensor has them in.
    Plain,
    /// Booleans in bits.
    Bits,
    /// Booleans in bytes, some of which are neither 0 nor 1.
    Bytes,
    /// As keys into the values of a dictionary.
    Dictionary,
    /// As integers with a common exponent of ten.
    Decimal {
        /// The negative of the exponent.
        scale: i8,
    },
}

/// The tensor's element type for an array of type `dtype`, and how the array stores such elements.
pub(crate) fn elements(dtype: &ArrowType, options: &Options) -> Result<(DataType, Storage), Error> {
    use ArrowType::*;
    const FLOATS: &str = "Options::decimals_as_floats";
    let needs = |option| Error::NeedsOption { found: excerpt(dtype), option };
    let temporal = |standard| match options.temporal_as_integers {
        true => Ok((standard, Storage::Plain)),
        false => Err(needs("Options::temporal_as_integers")),
    };
    let decimal = |standard: Option<DataType>, scale| match options.decimals {
        Decimals::Integers => standard.map(|standard| (standard, Storage::Plain)).ok_or_else(|| needs(FLOATS)),
        Decimals::Floats => Ok((DataType::FLOAT64, Storage::Decimal { scale })),
        Decimals::Refuse if standard.is_none() => Err(needs(FLOATS)),
        Decimals::Refuse => Err(needs("Options::decimals_as_floats or Options::decimals_as_integers")),
    };
    match dtype {
        Boolean => Ok((DataType::BOOL, Storage::Bits)),
        Date32 | Time32(_) | Interval(IntervalUnit::YearMonth) => temporal(DataType::INT32),
        Date64 | Time64(_) | Timestamp(..) | Duration(_) => temporal(DataType::INT64),
        Decimal32(_, scale) => decimal(Some(DataType::INT32), *scale),
        Decimal64(_, scale) => decimal(Some(DataType::INT64), *scale),
        Decimal128(_, scale) => decimal(Some(INT128), *scale),
        Decimal256(_, scale) => decimal(None, *scale),
        Dictionary(_, values) => match elements(values, options)? {
            (standard, Storage::Plain) if standard != INT128 => Ok((standard, Storage::Dictionary)),
            _ => Err(unsupported(dtype)),
        },
        _ => plain(dtype).map(|standard| (standard, Storage::Plain)).ok_or_else(|| unsupported(dtype)),
    }
}

pub(crate) fn unsupported(dtype: &ArrowType) -> Error {
    Error::UnsupportedType { framework: NAME, found: excerpt(dtype) }
}

pub(crate) fn excerpt(dtype: &ArrowType) -> Excerpt {
    Excerpt::new(&dtype.to_string())
}

/// [`dlbridge_core::by_dtype!`] for the types that Arrow has as numbers.
macro_rules! by_dtype {
    ($dtype:expr, $T:ident => $body:expr, _ => $otherwise:expr) => {
        dlbridge_core::by_dtype!(
            $dtype,
            [i8, i16, i32, i64, u8, u16, u32, u64, half::f16, f32, f64],
            $T => $body,
            _ => $otherwise
        )
    };
}
pub(crate) use by_dtype;
