//! The integers that Python gives for DLPack's numbers: a `ValueError` if one does not fit.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

/// An integer of Python's that fits `T`.
pub(crate) struct Number<T>(pub(crate) T);

/// The integers that numbers of DLPack and of the array API have room for.
pub(crate) trait Integer {
    const FIRST: i64;
    const LAST: i64;
}

macro_rules! integer {
    ($($kind:ty),*) => {$(
        impl Integer for $kind {
            const FIRST: i64 = <$kind>::MIN as i64;
            const LAST: i64 = <$kind>::MAX as i64;
        }
    )*};
}

integer!(u8, u16, i32, i64);

impl<'a, 'py, T: Integer + FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Number<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self).map_err(|error: T::Error| {
            let error: PyErr = error.into();
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                let (first, last) = (T::FIRST, T::LAST);
                // Python does not print integers of too many digits.
                let found = object.repr().map_or_else(|_| "a number".to_owned(), |text| text.to_string());
                return PyValueError::new_err(format!("{found} is not from {first} to {last}"));
            }
            error
        })
    }
}
