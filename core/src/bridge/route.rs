//! What a conversion did or would do: share, copy, or refuse, and why.
#![forbid(unsafe_code)]

use core::fmt;

use crate::error::{Error, Reason};

/// What a conversion may do: the array API's `copy=False`, `None` and `True`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyPolicy {
    /// Share, or fail.
    Never,
    /// Share if possible, else copy once.
    #[default]
    IfNeeded,
    /// Copy once, even if sharing is possible.
    Always,
}

/// What a conversion would do, known before anything happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Both sides use the same memory.
    Shared,
    /// One copy is needed.
    Copied(Reason),
    /// There is no way, not even with a copy.
    Impossible(Error),
}

impl Route {
    /// `Ok` if the tensor can be shared, else the error that sharing fails with.
    ///
    /// # Errors
    /// [`Error::CopyRequired`], or the error of [`Route::Impossible`].
    pub fn require_shared(self, framework: &'static str) -> Result<(), Error> {
        match self {
            Self::Shared => Ok(()),
            Self::Copied(reason) => Err(Error::CopyRequired { framework, reason }),
            Self::Impossible(error) => Err(error),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => f.write_str("shared"),
            Self::Copied(reason) => write!(f, "copied, because {reason}"),
            Self::Impossible(error) => write!(f, "impossible: {error}"),
        }
    }
}

/// A converted value, and whether it took a copy.
#[derive(Clone, Debug)]
pub struct Converted<T> {
    /// The value.
    pub value: T,
    /// Why the elements were copied; `None` if the memory is shared.
    pub copied: Option<Reason>,
}
