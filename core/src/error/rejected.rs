//! A refusal that gives back what was refused, so that nothing is lost.

use core::fmt;

use super::Error;

/// A value that came back because a conversion was refused, and why.
///
/// It prints as the error does, whatever the value is. `?` makes it the [`Error`] alone, or a boxed error that keeps
/// the value.
pub struct Rejected<T> {
    /// The value, unchanged.
    pub value: T,
    /// Why it was refused.
    pub error: Error,
}

impl<T> From<Rejected<T>> for Error {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.error
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

/// The error itself is no source, because its message has been printed as that of the refusal.
impl<T> core::error::Error for Rejected<T> {}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use std::string::ToString;

    use super::*;

    /// A value without any traits.
    struct Plain;

    fn refuse() -> Result<(), Rejected<Plain>> {
        Err(Rejected { value: Plain, error: Error::ReadOnly })
    }

    #[test]
    fn a_refusal_goes_where_any_error_goes() {
        fn to_error() -> Result<(), Error> {
            Ok(refuse()?)
        }
        fn to_box() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            Ok(refuse()?)
        }
        assert_eq!(to_error(), Err(Error::ReadOnly));
        let boxed = to_box().unwrap_err();
        assert_eq!(boxed.to_string(), Error::ReadOnly.to_string());
        assert!(boxed.source().is_none(), "nothing is printed twice");
        assert!(boxed.downcast::<Rejected<Plain>>().is_ok(), "the value is kept");
        assert_eq!(std::format!("{:?}", refuse().unwrap_err()), std::format!("{:?}", Error::ReadOnly));
    }
}
