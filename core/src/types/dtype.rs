//! Element types: the triple `(code, bits, lanes)` that RFC #972 of the array API exchanges.
#![forbid(unsafe_code)]

use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;

use crate::sys::{self, DLDataType};

/// The kind of number an element is: an open integer, because producers may know codes that we do not.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataTypeCode(pub u8);

/// The type of an element: kind, bits of one lane, and lanes (DLPack's `DLDataType`).
///
/// Prints and parses under the names that array libraries use: `"float32"`, `"bfloat16"`, `"float8_e4m3fn"`,
/// `"float32x4"`. A triple without a name prints as `"code<code>_<bits>"` and parses back, so that no value is lost.
///
/// ```
/// # use dlbridge_core::DataType;
/// assert_eq!(DataType::FLOAT32.to_string(), "float32");
/// assert_eq!("bfloat16".parse(), Ok(DataType::BFLOAT16));
/// assert_eq!("float32x4".parse(), Ok(DataType::FLOAT32.with_lanes(4)));
/// assert_eq!(DataType::FLOAT4_E2M1FN.size_of(3, false), Some(2)); // packed: 12 bits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataType {
    code: DataTypeCode,
    bits: u8,
    lanes: u16,
}

/// The one table of names: the constant of a code, its prefix, and how the number of bits is written.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $sys:ident, $prefix:literal, $bits:expr;)*) => {
        impl DataTypeCode {
            $($(#[$doc])* pub const $name: Self = Self(sys::$sys);)*
        }
        const NAMES: &[(DataTypeCode, &str, Bits)] = &[$((DataTypeCode::$name, $prefix, $bits)),*];
    };
}

/// How a name carries the number of bits.
enum Bits {
    /// After the prefix: `int32`.
    Written,
    /// In the prefix itself; the name stands for this number only: `float8_e4m3fn`, `bool`.
    Fixed(u8),
}

codes! {
    /// Signed integers.
    INT = kDLInt, "int", Bits::Written;
    /// Unsigned integers.
    UINT = kDLUInt, "uint", Bits::Written;
    /// IEEE 754 floats.
    FLOAT = kDLFloat, "float", Bits::Written;
    /// Opaque handles.
    OPAQUE_HANDLE = kDLOpaqueHandle, "opaque_handle", Bits::Written;
    /// Brain floats.
    BFLOAT = kDLBfloat, "bfloat", Bits::Written;
    /// Complex numbers; the bits count both parts.
    COMPLEX = kDLComplex, "complex", Bits::Written;
    /// Booleans.
    BOOL = kDLBool, "bool", Bits::Fixed(8);
    /// `float8_e3m4`.
    FLOAT8_E3M4 = kDLFloat8_e3m4, "float8_e3m4", Bits::Fixed(8);
    /// `float8_e4m3`.
    FLOAT8_E4M3 = kDLFloat8_e4m3, "float8_e4m3", Bits::Fixed(8);
    /// `float8_e4m3b11fnuz`.
    FLOAT8_E4M3B11FNUZ = kDLFloat8_e4m3b11fnuz, "float8_e4m3b11fnuz", Bits::Fixed(8);
    /// `float8_e4m3fn`.
    FLOAT8_E4M3FN = kDLFloat8_e4m3fn, "float8_e4m3fn", Bits::Fixed(8);
    /// `float8_e4m3fnuz`.
    FLOAT8_E4M3FNUZ = kDLFloat8_e4m3fnuz, "float8_e4m3fnuz", Bits::Fixed(8);
    /// `float8_e5m2`.
    FLOAT8_E5M2 = kDLFloat8_e5m2, "float8_e5m2", Bits::Fixed(8);
    /// `float8_e5m2fnuz`.
    FLOAT8_E5M2FNUZ = kDLFloat8_e5m2fnuz, "float8_e5m2fnuz", Bits::Fixed(8);
    /// `float8_e8m0fnu`.
    FLOAT8_E8M0FNU = kDLFloat8_e8m0fnu, "float8_e8m0fnu", Bits::Fixed(8);
    /// `float6_e2m3fn`.
    FLOAT6_E2M3FN = kDLFloat6_e2m3fn, "float6_e2m3fn", Bits::Fixed(6);
    /// `float6_e3m2fn`.
    FLOAT6_E3M2FN = kDLFloat6_e3m2fn, "float6_e3m2fn", Bits::Fixed(6);
    /// `float4_e2m1fn`.
    FLOAT4_E2M1FN = kDLFloat4_e2m1fn, "float4_e2m1fn", Bits::Fixed(4);
    /// Complex numbers of two brain floats; the bits count both parts.
    BCOMPLEX = kDLBcomplex, "bcomplex", Bits::Written;
}

macro_rules! dtypes {
    ($($name:ident = $code:ident, $bits:literal;)*) => {
        impl DataType {
            $(#[doc = concat!("`", stringify!($code), "` of ", $bits, " bits.")]
            pub const $name: Self = Self::new(DataTypeCode::$code, $bits, 1);)*

            /// Every type that has a constant here: all that DLPack names, at the widths that frameworks use.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

dtypes! {
    BOOL = BOOL, 8;
    INT8 = INT, 8;
    INT16 = INT, 16;
    INT32 = INT, 32;
    INT64 = INT, 64;
    UINT8 = UINT, 8;
    UINT16 = UINT, 16;
    UINT32 = UINT, 32;
    UINT64 = UINT, 64;
    FLOAT16 = FLOAT, 16;
    FLOAT32 = FLOAT, 32;
    FLOAT64 = FLOAT, 64;
    BFLOAT16 = BFLOAT, 16;
    COMPLEX32 = COMPLEX, 32;
    COMPLEX64 = COMPLEX, 64;
    COMPLEX128 = COMPLEX, 128;
    FLOAT8_E3M4 = FLOAT8_E3M4, 8;
    FLOAT8_E4M3 = FLOAT8_E4M3, 8;
    FLOAT8_E4M3B11FNUZ = FLOAT8_E4M3B11FNUZ, 8;
    FLOAT8_E4M3FN = FLOAT8_E4M3FN, 8;
    FLOAT8_E4M3FNUZ = FLOAT8_E4M3FNUZ, 8;
    FLOAT8_E5M2 = FLOAT8_E5M2, 8;
    FLOAT8_E5M2FNUZ = FLOAT8_E5M2FNUZ, 8;
    FLOAT8_E8M0FNU = FLOAT8_E8M0FNU, 8;
    FLOAT6_E2M3FN = FLOAT6_E2M3FN, 6;
    FLOAT6_E3M2FN = FLOAT6_E3M2FN, 6;
    FLOAT4_E2M1FN = FLOAT4_E2M1FN, 4;
    BCOMPLEX32 = BCOMPLEX, 32;
}

impl DataType {
    /// A type of `lanes` lanes of `bits` bits each. Any triple is accepted, as DLPack's integers are open.
    pub const fn new(code: DataTypeCode, bits: u8, lanes: u16) -> Self {
        Self { code, bits, lanes }
    }

    /// The kind of number.
    pub const fn code(self) -> DataTypeCode {
        self.code
    }

    /// Bits of one lane; for complex numbers both parts together.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Lanes of one element; 1 for a scalar.
    pub const fn lanes(self) -> u16 {
        self.lanes
    }

    /// The same kind and width with another number of lanes.
    pub const fn with_lanes(self, lanes: u16) -> Self {
        Self { lanes, ..self }
    }

    /// Bits of one element: `bits · lanes`.
    pub const fn bits_per_element(self) -> u32 {
        self.bits as u32 * self.lanes as u32
    }

    /// Whether a lane is smaller than a byte, so that elements share bytes unless they are padded.
    pub const fn is_sub_byte(self) -> bool {
        self.bits < 8
    }

    /// Bytes of one element, if that is a whole number (1 or more).
    pub const fn itemsize(self) -> Option<usize> {
        let bits = self.bits_per_element();
        if bits != 0 && bits % 8 == 0 {
            Some((bits / 8) as usize)
        } else {
            None
        }
    }

    /// Bytes of `elements` contiguous elements: `(elements · bits · lanes + 7) / 8`, or `None` on overflow.
    ///
    /// With `padded`, every lane smaller than a byte takes one byte
    /// (`DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED`, DLPack 1.1).
    #[inline]
    pub fn size_of(self, elements: usize, padded: bool) -> Option<usize> {
        let bits = self.stored_bits(padded);
        if bits % 8 == 0 {
            return elements.checked_mul(bits as usize / 8);
        }
        usize::try_from((u128::from(bits) * elements as u128).div_ceil(8)).ok()
    }

    /// Bits from one element to the next.
    pub(crate) const fn stored_bits(self, padded: bool) -> u32 {
        if padded && self.is_sub_byte() {
            8 * self.lanes as u32
        } else {
            self.bits_per_element()
        }
    }
}

impl From<DLDataType> for DataType {
    fn from(raw: DLDataType) -> Self {
        Self::new(DataTypeCode(raw.code), raw.bits, raw.lanes)
    }
}

impl From<DataType> for DLDataType {
    fn from(dtype: DataType) -> Self {
        Self { code: dtype.code.0, bits: dtype.bits, lanes: dtype.lanes }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(code, ..)| *code == self.code) {
            Some((_, prefix, Bits::Written)) => write!(f, "{prefix}{}", self.bits)?,
            Some((_, prefix, Bits::Fixed(bits))) if *bits == self.bits => f.write_str(prefix)?,
            _ => write!(f, "code{}_{}", self.code.0, self.bits)?,
        }
        match self.lanes {
            1 => Ok(()),
            lanes => write!(f, "x{lanes}"),
        }
    }
}

impl DataType {
    /// The type that `name` names, if there is one. Every type has one spelling: `"code2_32"` is not accepted for
    /// `"float32"`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        // "complex64" ends like a type of 64 lanes, so the whole string is tried first.
        let vector = || {
            let (scalar, lanes) = name.rsplit_once('x')?;
            Some(parse_scalar(scalar)?.with_lanes(parse_number(lanes)?))
        };
        parse_scalar(name).or_else(vector).filter(|dtype| dtype.to_string() == name)
    }
}

fn parse_scalar(name: &str) -> Option<DataType> {
    if let Some((code, bits)) = name.strip_prefix("code").and_then(|rest| rest.split_once('_')) {
        return Some(DataType::new(DataTypeCode(parse_number(code)?), parse_number(bits)?, 1));
    }
    NAMES.iter().find_map(|(code, prefix, bits)| {
        let rest = name.strip_prefix(prefix)?;
        let bits = match bits {
            Bits::Written => parse_number(rest)?,
            Bits::Fixed(bits) if rest.is_empty() => *bits,
            Bits::Fixed(_) => return None,
        };
        Some(DataType::new(*code, bits, 1))
    })
}

/// Parses decimal digits only, without a sign or leading zeros.
pub(super) fn parse_number<N: FromStr>(digits: &str) -> Option<N> {
    let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if canonical {
        digits.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Excerpt};

    #[test]
    fn every_code_and_width_survives_its_name() {
        for code in 0..=u8::MAX {
            for bits in 0..=u8::MAX {
                for lanes in [0, 1, 2, 4, 64, u16::MAX] {
                    let dtype = DataType::new(DataTypeCode(code), bits, lanes);
                    assert_eq!(dtype.to_string().parse(), Ok(dtype), "{dtype}");
                }
            }
        }
    }

    #[test]
    fn names_are_those_of_the_array_world() {
        for (name, code, bits, lanes) in [
            ("bool", 6, 8, 1),
            ("int64", 0, 64, 1),
            ("uint8", 1, 8, 1),
            ("float32", 2, 32, 1),
            ("bfloat16", 4, 16, 1),
            ("complex64", 5, 64, 1),
            ("complex64x2", 5, 64, 2),
            ("float8_e4m3fn", 10, 8, 1),
            ("float8_e4m3b11fnuz", 9, 8, 1),
            ("float4_e2m1fnx2", 17, 4, 2),
            ("float32x4", 2, 32, 4),
            ("bcomplex32", 18, 32, 1),
            ("code99_8", 99, 8, 1),
            ("code6_1", 6, 1, 1),
        ] {
            let dtype = DataType::new(DataTypeCode(code), bits, lanes);
            assert_eq!(dtype.to_string(), name);
            assert_eq!(name.parse(), Ok(dtype));
        }
    }

    #[test]
    fn other_strings_are_refused_and_named() {
        for name in [
            "code2_32",
            "float32x1",
            "",
            "float",
            "f32",
            "float032",
            "float+32",
            "float300",
            "float32x",
            "x4",
            "bool8",
            "Float32",
            "int8 ",
        ] {
            let error = name.parse::<DataType>().unwrap_err();
            assert_eq!(error, Error::UnknownName { what: "dtype", name: Excerpt::new(name) });
        }
    }

    #[test]
    fn sizes_are_packed_unless_padded() {
        assert_eq!(DataType::FLOAT4_E2M1FN.size_of(3, false), Some(2));
        assert_eq!(DataType::FLOAT4_E2M1FN.size_of(3, true), Some(3));
        assert_eq!(DataType::FLOAT6_E2M3FN.size_of(4, false), Some(3));
        assert_eq!(DataType::FLOAT32.with_lanes(4).size_of(2, false), Some(32));
        assert_eq!(DataType::FLOAT4_E2M1FN.with_lanes(2).itemsize(), Some(1));
        assert_eq!(DataType::FLOAT4_E2M1FN.itemsize(), None);
        assert_eq!(DataType::COMPLEX128.size_of(usize::MAX, false), None);
        assert_eq!(DataType::new(DataTypeCode::INT, 0, 1).itemsize(), None);
    }
}
