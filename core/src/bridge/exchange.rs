//! The exchange of element types and devices without a tensor (array-API RFC #972), between all frameworks.
//!
//! The RFC's `__dlpack_data_type__` and `__dlpack_device__` are [`Interchange::to_dlpack`]; the constructors that
//! accept any object with them are [`Interchange::from_dlpack`].
#![forbid(unsafe_code)]

use super::buffers::Core;
use crate::error::Error;
use crate::types::{DataType, Device};

/// A framework's name for an element type or a device. Translating it is lossless or an error, never a
/// reinterpretation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type or device that can be exchanged",
    label = "no enabled adapter knows this type",
    note = "enable the feature of the framework that `{Self}` belongs to: \
            `dlbridge = {{ features = [\"arrow\", \"burn\", \"candle\", \"tch\"] }}`",
    note = "if it is `!` or `()`, nothing says which type is wanted: write `exchange::<Target>()`, or give the \
            variable its type"
)]
pub trait Interchange<Via>: Sized {
    /// [`DataType`] or [`Device`].
    type Standard;

    /// The same in DLPack's terms.
    ///
    /// # Errors
    /// [`Error::Inexpressible`] if DLPack has no such type or device.
    fn to_dlpack(&self) -> Result<Self::Standard, Error>;

    /// The framework's name for `standard`.
    ///
    /// # Errors
    /// [`Error::UnsupportedDType`], [`Error::UnsupportedDevice`] or [`Error::DeviceUnavailable`].
    fn from_dlpack(standard: Self::Standard) -> Result<Self, Error>;
}

/// Translates an element type or a device from one framework to another:
/// `candle_core::DType::F32.exchange::<tch::Kind>()`.
///
/// ```
/// # use dlbridge_core::{DataType, Exchange};
/// let same: DataType = DataType::FLOAT32.exchange()?;
/// # assert_eq!(same, DataType::FLOAT32);
/// # Ok::<(), dlbridge_core::Error>(())
/// ```
pub trait Exchange<Out, In> {
    /// The same element type or device in another framework's terms.
    ///
    /// # Errors
    /// As [`Interchange::to_dlpack`] and [`Interchange::from_dlpack`].
    fn exchange<Dst>(&self) -> Result<Dst, Error>
    where
        Self: Interchange<Out>,
        Dst: Interchange<In, Standard = <Self as Interchange<Out>>::Standard>,
    {
        Dst::from_dlpack(self.to_dlpack()?)
    }
}

impl<T, Out, In> Exchange<Out, In> for T {}

macro_rules! identity {
    ($($ty:ty),*) => {$(
        impl Interchange<Core> for $ty {
            type Standard = Self;

            fn to_dlpack(&self) -> Result<Self, Error> {
                Ok(*self)
            }

            fn from_dlpack(standard: Self) -> Result<Self, Error> {
                Ok(standard)
            }
        }
    )*};
}

identity!(DataType, Device);
