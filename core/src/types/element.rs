//! Rust types that are element types: the one table of scalars.

use core::mem::size_of;

use crate::DataType;

mod sealed {
    /// # Safety
    /// 1. `DTYPE` describes the memory of `Self` exactly: its size is `DTYPE.itemsize()`, without padding bytes.
    /// 2. Every bit pattern is a valid value, unless `DTYPE` is the boolean; then `Self` is `bool`.
    pub unsafe trait Number {}
}

/// A Rust type that a tensor can be read as. Sealed: `bool`, the integers and floats, with the feature `half` those of
/// `half`, and with `complex` those of `num_complex`.
pub trait Element: sealed::Number + Copy + Send + Sync + 'static {
    /// The element type in DLPack's terms.
    const DTYPE: DataType;
}

macro_rules! elements {
    ($($(#[$meta:meta])* $ty:ty => $dtype:ident;)*) => {$(
        // SAFETY: (1) a primitive or `repr(transparent)`/`repr(C)` number of just these bits, asserted below for the
        // size; (2) numbers are valid whatever their bits.
        $(#[$meta])* unsafe impl sealed::Number for $ty {}
        $(#[$meta])* impl Element for $ty {
            const DTYPE: DataType = {
                let dtype = DataType::$dtype;
                assert!(matches!(dtype.itemsize(), Some(size) if size == size_of::<$ty>()));
                dtype
            };
        }
    )*};
}

elements! {
    i8 => INT8;
    i16 => INT16;
    i32 => INT32;
    i64 => INT64;
    u8 => UINT8;
    u16 => UINT16;
    u32 => UINT32;
    u64 => UINT64;
    f32 => FLOAT32;
    f64 => FLOAT64;
    #[cfg(feature = "half")] half::f16 => FLOAT16;
    #[cfg(feature = "half")] half::bf16 => BFLOAT16;
    #[cfg(feature = "complex")] num_complex::Complex<f32> => COMPLEX64;
    #[cfg(feature = "complex")] num_complex::Complex<f64> => COMPLEX128;
    #[cfg(all(feature = "complex", feature = "half"))] num_complex::Complex<half::f16> => COMPLEX32;
}

// SAFETY: (1) `bool` is one byte; (2) it is `bool`, whose only values are 0 and 1.
unsafe impl sealed::Number for bool {}
impl Element for bool {
    const DTYPE: DataType = DataType::BOOL;
}

/// Calls `$body` with `$T` bound to the Rust type of `$dtype`, or evaluates `$otherwise`.
macro_rules! dispatch {
    ($dtype:expr, $T:ident => $body:expr, _ => $otherwise:expr) => {{
        use $crate::Element;
        match $dtype {
            d if d == <f32 as Element>::DTYPE => {
                type $T = f32;
                $body
            }
            d if d == <f64 as Element>::DTYPE => {
                type $T = f64;
                $body
            }
            #[cfg(feature = "half")]
            d if d == <half::f16 as Element>::DTYPE => {
                type $T = half::f16;
                $body
            }
            #[cfg(feature = "half")]
            d if d == <half::bf16 as Element>::DTYPE => {
                type $T = half::bf16;
                $body
            }
            d if d == <i64 as Element>::DTYPE => {
                type $T = i64;
                $body
            }
            d if d == <i32 as Element>::DTYPE => {
                type $T = i32;
                $body
            }
            d if d == <i16 as Element>::DTYPE => {
                type $T = i16;
                $body
            }
            d if d == <i8 as Element>::DTYPE => {
                type $T = i8;
                $body
            }
            d if d == <u64 as Element>::DTYPE => {
                type $T = u64;
                $body
            }
            d if d == <u32 as Element>::DTYPE => {
                type $T = u32;
                $body
            }
            d if d == <u16 as Element>::DTYPE => {
                type $T = u16;
                $body
            }
            d if d == <u8 as Element>::DTYPE => {
                type $T = u8;
                $body
            }
            d if d == <bool as Element>::DTYPE => {
                type $T = bool;
                $body
            }
            #[cfg(feature = "complex")]
            d if d == <num_complex::Complex<f32> as Element>::DTYPE => {
                type $T = num_complex::Complex<f32>;
                $body
            }
            #[cfg(all(feature = "complex", feature = "half"))]
            d if d == <num_complex::Complex<half::f16> as Element>::DTYPE => {
                type $T = num_complex::Complex<half::f16>;
                $body
            }
            #[cfg(feature = "complex")]
            d if d == <num_complex::Complex<f64> as Element>::DTYPE => {
                type $T = num_complex::Complex<f64>;
                $body
            }
            _ => $otherwise,
        }
    }};
}
pub(crate) use dispatch;
