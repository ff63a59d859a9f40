//! Options for columns whose elements are not plain numbers: only the caller can choose how these are read.

use dlbridge_core::{DataType, Error};

/// How to read columns that do not hold plain numbers. Without the option that fits, such a column is an error that
/// names the option.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    pub(crate) nulls: Nulls,
    pub(crate) temporal_as_integers: bool,
    pub(crate) decimals: Decimals,
    pub(crate) lists_as_axis: bool,
    pub(crate) extensions_as_storage: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Nulls {
    #[default]
    Refuse,
    Fill(Scalar),
    Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decimals {
    #[default]
    Refuse,
    Integers,
    Floats,
}

impl Options {
    /// No option set: only plain numbers are read.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nulls are replaced by this value, which the tensor's type must be able to represent. Nulls of 128-bit integers
    /// cannot be filled. `Copies: once, if there are nulls.`
    #[must_use]
    pub fn fill_nulls(self, value: impl Into<Scalar>) -> Self {
        Self { nulls: Nulls::Fill(value.into()), ..self }
    }

    /// Nulls are ignored, so that the tensor has whatever number Arrow stores in their place;
    /// [`Column::validity`](crate::Column::validity) tells which elements are valid. This copies no more than a column
    /// without nulls does, unless there are null lists that are stored shorter than the others: their elements become
    /// zeros, in one copy.
    #[must_use]
    pub fn keep_nulls(self) -> Self {
        Self { nulls: Nulls::Keep, ..self }
    }

    /// Dates, times, timestamps, durations and intervals of months are read as the integers that store them, `int32` or
    /// `int64` in the column's own unit. `Copies: never.`
    #[must_use]
    pub fn temporal_as_integers(self) -> Self {
        Self { temporal_as_integers: true, ..self }
    }

    /// Decimals are read as their unscaled integers, of 32, 64 or 128 bits: `1.25` with a scale of 2 is `125`. Decimals
    /// of 256 bits are refused, because DLPack has no such integer. `Copies: never.`
    #[must_use]
    pub fn decimals_as_integers(self) -> Self {
        Self { decimals: Decimals::Integers, ..self }
    }

    /// Decimals become `float64`: the unscaled integer, rounded to `float64`, is divided by ten to the power of the
    /// scale. `Copies: always, once.`
    #[must_use]
    pub fn decimals_as_floats(self) -> Self {
        Self { decimals: Decimals::Floats, ..self }
    }

    /// Lists that all have the same length become an axis of that length. Valid lists of different lengths are
    /// [`Error::Ragged`]; null ones, if there is an option for nulls, are as long as the others.
    /// `Copies: once, if null lists are stored with another length; else never.`
    #[must_use]
    pub fn lists_as_axis(self) -> Self {
        Self { lists_as_axis: true, ..self }
    }

    /// Extension types that this adapter does not know are read as the numbers that store them. `Copies: never.`
    #[must_use]
    pub fn extensions_as_storage(self) -> Self {
        Self { extensions_as_storage: true, ..self }
    }
}

/// A number or a boolean to fill nulls with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
}

macro_rules! scalars {
    ($($ty:ty => $variant:ident;)*) => {$(
        impl From<$ty> for Scalar {
            fn from(value: $ty) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

scalars! {
    bool => Bool;
    i8 => Int;
    i16 => Int;
    i32 => Int;
    i64 => Int;
    i128 => Int;
    u8 => Int;
    u16 => Int;
    u32 => Int;
    u64 => Int;
    half::f16 => Float;
    f32 => Float;
    f64 => Float;
}

impl Scalar {
    /// The bytes of this value as an element of `dtype`. Integers and booleans must be exact; floats are rounded.
    pub(crate) fn to_bytes(self, dtype: DataType) -> Result<Vec<u8>, Error> {
        macro_rules! int {
            ($ty:ty, $value:expr) => {
                <$ty>::try_from($value).ok().map(|value| value.to_ne_bytes().to_vec())
            };
        }
        let bytes = match (dtype, self) {
            (DataType::BOOL, Self::Bool(value)) => Some(vec![u8::from(value)]),
            (DataType::INT8, Self::Int(value)) => int!(i8, value),
            (DataType::INT16, Self::Int(value)) => int!(i16, value),
            (DataType::INT32, Self::Int(value)) => int!(i32, value),
            (DataType::INT64, Self::Int(value)) => int!(i64, value),
            (DataType::UINT8, Self::Int(value)) => int!(u8, value),
            (DataType::UINT16, Self::Int(value)) => int!(u16, value),
            (DataType::UINT32, Self::Int(value)) => int!(u32, value),
            (DataType::UINT64, Self::Int(value)) => int!(u64, value),
            (DataType::FLOAT16, Self::Float(value)) => Some(half::f16::from_f64(value).to_ne_bytes().to_vec()),
            (DataType::FLOAT32, Self::Float(value)) => Some((value as f32).to_ne_bytes().to_vec()),
            (DataType::FLOAT64, Self::Float(value)) => Some(value.to_ne_bytes().to_vec()),
            // An integer can fill a column of floats, if a float represents it exactly.
            (DataType::FLOAT16 | DataType::FLOAT32 | DataType::FLOAT64, Self::Int(value)) => {
                let float = value as f64;
                let digits = match dtype {
                    DataType::FLOAT16 => 11,
                    DataType::FLOAT32 => f32::MANTISSA_DIGITS,
                    _ => f64::MANTISSA_DIGITS,
                };
                let limit = 1i128 << digits;
                let is_exact = (-limit..=limit).contains(&value);
                return if is_exact { Self::Float(float).to_bytes(dtype) } else { Err(refused(dtype)) };
            }
            _ => None,
        };
        bytes.ok_or(refused(dtype))
    }
}

fn refused(dtype: DataType) -> Error {
    Error::NotRepresentable { what: "the value for nulls", dtype }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_is_written_exactly_or_not_at_all() {
        let bytes = |scalar: Scalar, dtype| scalar.to_bytes(dtype).ok();
        assert_eq!(bytes(255.into(), DataType::UINT8), Some(vec![255]));
        assert_eq!(bytes(256.into(), DataType::UINT8), None);
        assert_eq!(bytes((-1).into(), DataType::UINT64), None);
        assert_eq!(bytes(0.5.into(), DataType::INT32), None);
        assert_eq!(bytes(true.into(), DataType::BOOL), Some(vec![1]));
        assert_eq!(bytes(1.into(), DataType::BOOL), None);
        assert_eq!(bytes(0.1.into(), DataType::FLOAT32), Some(0.1f32.to_ne_bytes().to_vec()));
        assert_eq!(bytes((-7).into(), DataType::FLOAT64), Some((-7f64).to_ne_bytes().to_vec()));
        assert_eq!(bytes(2049.into(), DataType::FLOAT16), None);
        assert_eq!(bytes((1i64 << 60).into(), DataType::INT64), Some((1i64 << 60).to_ne_bytes().to_vec()));
    }
}
