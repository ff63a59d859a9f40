//! The one table of the Rust types that are element types.

use core::mem::size_of;

use super::dtype::DataType;

mod sealed {
    /// # Safety
    /// 1. *exact*: `DTYPE` describes the memory of `Self` exactly: its size is `DTYPE.itemsize()`, without padding.
    /// 2. *valid*: every bit pattern is a valid value, unless `DTYPE` is the boolean; then `Self` is `bool`.
    pub unsafe trait Number {}
}

/// A Rust type that a tensor can be read as. Sealed: `bool`, the integers and floats, with the feature `half` those of
/// `half`, and with `complex` those of `num_complex`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of tensors",
    label = "no element type of tensors",
    note = "the element types are `bool`, `i8` to `i64`, `u8` to `u64`, `f32`, `f64`, and with the features `half` and \
            `complex` those of the crates `half` and `num_complex`",
    note = "`usize` and `isize` differ from machine to machine: cast them to `u64` and `i64` with `as`",
    note = "arrays such as `[f32; 3]` are an axis of the tensor: flatten them with `into_flattened` or `as_flattened`, \
            and give their length in the shape"
)]
pub trait Element: sealed::Number + Copy + Send + Sync + 'static {
    /// The element type in DLPack's terms.
    const DTYPE: DataType;
}

macro_rules! elements {
    ($($(#[$meta:meta])* $ty:ty => $dtype:ident;)*) => {$(
        // SAFETY: *exact*, as each is a primitive or a `repr(transparent)`/`repr(C)` number of just these bits, whose
        // size is asserted below; *valid*, as numbers are valid whatever their bits are.
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

// SAFETY: *exact*, as `bool` is one byte; *valid*, as it is `bool`, whose only values are 0 and 1.
unsafe impl sealed::Number for bool {}
impl Element for bool {
    const DTYPE: DataType = DataType::BOOL;
}

/// Evaluates an expression with a name bound to the Rust type of a [`DataType`], or another one if there is no such
/// type.
///
/// This is for writing adapters: `T` is the type whose [`Element::DTYPE`] is the one given. Without a list, all element
/// types of this build are considered, including those of `half` and `num_complex` where their features are on. With a
/// list, such as the types that a framework has, only the types in it are. The first expression is compiled once for
/// each type.
///
/// ```
/// use dlbridge_core::{by_dtype, DataType};
///
/// let size = |dtype| by_dtype!(dtype, T => Some(size_of::<T>()), _ => None);
/// assert_eq!(size(DataType::FLOAT64), Some(8));
/// assert_eq!(size(DataType::FLOAT4_E2M1FN), None);
///
/// let is_index = |dtype| by_dtype!(dtype, [i32, i64], _T => true, _ => false);
/// assert!(is_index(DataType::INT64) && !is_index(DataType::UINT8));
/// ```
#[macro_export]
macro_rules! by_dtype {
    ($dtype:expr, [$($ty:ty),* $(,)?], $T:ident => $body:expr, _ => $otherwise:expr) => {
        match $dtype {
            $(dtype if dtype == <$ty as $crate::Element>::DTYPE => {
                type $T = $ty;
                $body
            })*
            _ => $otherwise,
        }
    };
    ($dtype:expr, $T:ident => $body:expr, _ => $otherwise:expr) => {
        $crate::__with_features!($dtype, $T => $body, _ => $otherwise)
    };
    // Puts together the types that are always there and those that features add.
    (@ [$($more:ty),*] $dtype:expr, $($rest:tt)*) => {
        $crate::by_dtype!(
            $dtype,
            [f32, f64, i64, i32, i16, i8, u64, u32, u16, u8, bool $(, $more)*],
            $($rest)*
        )
    };
}

// An exported macro is expanded in the caller's crate, where a `cfg` would ask for that crate's features. To depend on
// the features of this crate, `by_dtype!` calls one of these macros.

/// Without features, there are no further types.
#[cfg(not(any(feature = "half", feature = "complex")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_features {
    ($($all:tt)*) => { $crate::by_dtype!(@ [] $($all)*) };
}

/// Adds the types of `half`.
#[cfg(all(feature = "half", not(feature = "complex")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_features {
    ($($all:tt)*) => { $crate::by_dtype!(@ [$crate::__types::f16, $crate::__types::bf16] $($all)*) };
}

/// Adds the types of `complex`.
#[cfg(all(not(feature = "half"), feature = "complex"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_features {
    ($($all:tt)*) => {
        $crate::by_dtype!(@ [$crate::__types::Complex<f32>, $crate::__types::Complex<f64>] $($all)*)
    };
}

/// Adds the types of both features.
#[cfg(all(feature = "half", feature = "complex"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_features {
    ($($all:tt)*) => {
        $crate::by_dtype!(
            @ [
                $crate::__types::f16,
                $crate::__types::bf16,
                $crate::__types::Complex<$crate::__types::f16>,
                $crate::__types::Complex<f32>,
                $crate::__types::Complex<f64>
            ]
            $($all)*
        )
    };
}

/// The types that [`by_dtype!`] names, for callers that do not depend on `half` and `num_complex` themselves.
#[doc(hidden)]
pub mod types {
    #[cfg(feature = "half")]
    pub use half::{bf16, f16};
    #[cfg(feature = "complex")]
    pub use num_complex::Complex;
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_element_type_is_bound_for_its_dtype_and_nothing_else() {
        let found = DataType::ALL
            .iter()
            .filter(|dtype| by_dtype!(**dtype, T => T::DTYPE == **dtype, _ => false))
            .map(|dtype| dtype.to_string());
        let mut expected = std::vec![
            "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"
        ];
        if cfg!(feature = "half") {
            expected.extend(["float16", "bfloat16"]);
        }
        if cfg!(feature = "complex") {
            expected.extend(["complex64", "complex128"]);
        }
        if cfg!(all(feature = "half", feature = "complex")) {
            expected.push("complex32");
        }
        let (mut found, mut expected) = (found.collect::<Vec<_>>(), expected);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
