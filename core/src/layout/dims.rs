//! A short list of lengths or strides that needs no allocation.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::iter;
use core::ops::{Deref, DerefMut};

/// Lengths or strides of one tensor, kept on the stack up to eight axes.
///
/// For adapters whose framework counts in `usize`: collect the converted numbers, and borrow them as `&[i64]`.
#[derive(Clone, Debug)]
pub struct Dims(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Inline([i64; Dims::INLINE], usize),
    Heap(Vec<i64>),
}

impl Dims {
    const INLINE: usize = 8;

    /// `ndim` zeros.
    pub fn zeros(ndim: usize) -> Self {
        iter::repeat(0).take(ndim).collect()
    }

    /// Appends a number.
    pub fn push(&mut self, number: i64) {
        match &mut self.0 {
            Repr::Inline(numbers, len) if *len < Self::INLINE => {
                numbers[*len] = number;
                *len += 1;
            }
            Repr::Inline(numbers, _) => self.0 = Repr::Heap(numbers.iter().copied().chain([number]).collect()),
            Repr::Heap(numbers) => numbers.push(number),
        }
    }
}

impl Default for Dims {
    fn default() -> Self {
        Self::zeros(0)
    }
}

impl FromIterator<i64> for Dims {
    fn from_iter<I: IntoIterator<Item = i64>>(numbers: I) -> Self {
        let mut inline = [0; Self::INLINE];
        let mut numbers = numbers.into_iter();
        let mut len = 0;
        while let Some(number) = numbers.next() {
            if len == Self::INLINE {
                let spilled = inline.into_iter().chain(iter::once(number)).chain(numbers);
                return Self(Repr::Heap(spilled.collect()));
            }
            inline[len] = number;
            len += 1;
        }
        Self(Repr::Inline(inline, len))
    }
}

impl Deref for Dims {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        match &self.0 {
            Repr::Inline(numbers, len) => &numbers[..*len],
            Repr::Heap(numbers) => numbers,
        }
    }
}

impl DerefMut for Dims {
    fn deref_mut(&mut self) -> &mut [i64] {
        match &mut self.0 {
            Repr::Inline(numbers, len) => &mut numbers[..*len],
            Repr::Heap(numbers) => numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_spill_to_the_heap_behind_eight_axes() {
        for ndim in [0, 1, 8, 9, 64] {
            let dims: Dims = (0..ndim).collect();
            assert!(dims.iter().copied().eq(0..ndim));
            let mut pushed = Dims::default();
            (0..ndim).for_each(|number| pushed.push(number));
            assert_eq!(*pushed, *dims);
        }
        assert_eq!(*Dims::zeros(3), [0, 0, 0]);
    }
}
