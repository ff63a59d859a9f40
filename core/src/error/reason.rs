//! Why a conversion copies: the reason that a route gives, and that an error carries where no copy was allowed.

use core::fmt;

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
    /// The target could write the memory between the elements, which may be somebody else's.
    Gaps,
    /// The source is a variable, which an optimiser writes in place.
    Variable,
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
    /// Nulls of the source are filled, or null lists of it have to be as long as the others.
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
            Self::Gaps => {
                "there is memory between its elements that may be somebody else's and that the target could write"
            }
            Self::Variable => "the source is a variable, which an optimiser writes in place",
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
