//! Strides as a producer gives them, or the row-major ones where it gives none.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::{fmt, slice};

/// The strides of a tensor, in elements: explicit, or row-major where the producer gave none (DLPack: NULL strides).
///
/// On an axis of length 0 or 1 a stride means nothing, and producers write any number there.
#[derive(Clone, Copy)]
pub struct Strides<'a> {
    shape: &'a [i64],
    explicit: Option<&'a [i64]>,
}

impl<'a> Strides<'a> {
    #[inline]
    pub(crate) fn new(shape: &'a [i64], explicit: Option<&'a [i64]>) -> Self {
        Self { shape, explicit }
    }

    /// The strides as the producer wrote them; `None` means row-major.
    pub fn as_slice(self) -> Option<&'a [i64]> {
        self.explicit
    }

    /// The strides, first axis first.
    #[inline]
    pub fn iter(self) -> StridesIter<'a> {
        match self.explicit {
            Some(strides) => StridesIter(Walk::Explicit(strides.iter())),
            None => StridesIter(Walk::RowMajor(self.shape.iter(), row_major_step(self.shape))),
        }
    }

    /// The strides in a vector of their own.
    pub fn to_vec(self) -> Vec<i64> {
        self.iter().collect()
    }
}

/// The strides of a tensor, one by one.
#[derive(Clone, Debug)]
pub struct StridesIter<'a>(Walk<'a>);

#[derive(Clone, Debug)]
enum Walk<'a> {
    Explicit(slice::Iter<'a, i64>),
    /// The lengths still to come, and the row-major stride that an axis before them would have.
    RowMajor(slice::Iter<'a, i64>, i64),
}

impl Iterator for StridesIter<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        match &mut self.0 {
            Walk::Explicit(strides) => strides.next().copied(),
            Walk::RowMajor(lengths, step) => {
                *step /= (*lengths.next()?).max(1);
                Some(*step)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (Walk::Explicit(left) | Walk::RowMajor(left, _)) = &self.0;
        left.size_hint()
    }
}

impl ExactSizeIterator for StridesIter<'_> {}

/// The product of all lengths, with empty axes counted as 1. This is the row-major stride that one more axis before the
/// first would have.
#[inline]
fn row_major_step(shape: &[i64]) -> i64 {
    shape.iter().fold(1, |step: i64, length| step.saturating_mul((*length).max(1)))
}

impl fmt::Debug for Strides<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq<[i64]> for Strides<'_> {
    fn eq(&self, other: &[i64]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl<const N: usize> PartialEq<[i64; N]> for Strides<'_> {
    fn eq(&self, other: &[i64; N]) -> bool {
        *self == other[..]
    }
}
