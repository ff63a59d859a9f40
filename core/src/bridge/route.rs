//! What a conversion did or would do: share, copy, or refuse, and why.
#![forbid(unsafe_code)]

use core::fmt;

use crate::Error;

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

/// Why a tensor is copied instead of shared.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The caller asked for a copy.
    Requested,
    /// The source only borrows its memory.
    Borrowed,
    /// The memory must not be written, and the target's type would allow it.
    ReadOnly,
    /// Other handles to the source could write the memory meanwhile.
    NotUnique,
    /// The target has no negative strides.
    NegativeStrides,
    /// The target needs contiguous elements.
    Strided,
    /// The first element is not aligned for its type.
    Misaligned {
        /// The alignment needed, in bytes.
        align: usize,
    },
    /// The target can only hold memory of its own allocator.
    ForeignMemory,
    /// The source computes its elements when they are read (a conjugate or negative view, an implicit zero).
    Lazy,
    /// One side stores its elements in another form (packed bits, a dictionary, decimals).
    Encoded,
    /// The memory is foreign, and so small that the adopting allocator leaves it alone.
    Small,
    /// Nulls of the source are filled.
    Nulls,
    /// The columns of the source are not equally spaced in one allocation.
    Scattered,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Requested => "the caller asked for a copy",
            Self::Borrowed => "the source only borrows its memory",
            Self::ReadOnly => "the memory is read-only and the target could write it",
            Self::NotUnique => "other handles to the source could write the memory",
            Self::NegativeStrides => "the target has no negative strides",
            Self::Strided => "the target needs contiguous elements",
            Self::Misaligned { align } => return write!(f, "the first element is not aligned to {align} bytes"),
            Self::ForeignMemory => "the target only holds memory of its own allocator",
            Self::Lazy => "the source computes its elements when they are read",
            Self::Encoded => "one side stores its elements in another form",
            Self::Small => "the memory is foreign, and too small to be adopted",
            Self::Nulls => "nulls are filled",
            Self::Scattered => "the columns are not equally spaced in one allocation",
        };
        f.write_str(text)
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
