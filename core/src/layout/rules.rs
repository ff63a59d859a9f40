//! One rule each for size, extent, contiguity and overlap, in checked arithmetic.
#![forbid(unsafe_code)]

use core::iter;

use crate::error::Error;
use crate::types::DataType;

/// The extent of a layout, relative to the first element: the offsets `lowest ..= highest`, with
/// `lowest <= 0 <= highest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The offset of the lowest element, in elements; negative with negative strides.
    pub lowest: i64,
    /// The offset of the highest element, in elements.
    pub highest: i64,
}

impl Extent {
    /// The length of the extent in elements, as if elements filled the gaps.
    pub fn span(self) -> u64 {
        self.highest.abs_diff(self.lowest).saturating_add(1)
    }
}

/// Checks every number of a layout once, so that arithmetic on it cannot overflow afterwards.
///
/// Returns the number of elements. After `Ok`, there are at most `i32::MAX` axes and all lengths are 0 or more; the
/// element count, the size in bytes and the extent, in elements and in bytes, fit an `isize`.
///
/// # Errors
/// [`Error::NegativeLength`] and [`Error::Overflow`].
#[inline]
pub fn validate(shape: &[i64], strides: Option<&[i64]>, dtype: DataType, padded: bool) -> Result<usize, Error> {
    let quick = strides.filter(|strides| strides.len() == shape.len() && shape.len() < 64);
    // If padded, a lane smaller than a byte takes a byte, even if the bits of the whole element fill bytes.
    let itemsize = dtype.itemsize().filter(|_| !(padded && dtype.is_sub_byte()));
    let elements = quick.zip(itemsize).and_then(|(strides, itemsize)| validate_quickly(shape, strides, itemsize));
    match elements {
        Some(elements) => Ok(elements),
        None => explain(shape, strides, dtype, padded),
    }
}

/// The fast path of [`validate`], for elements of whole bytes and explicit strides. `None` means that something is
/// wrong, or may be.
#[inline]
fn validate_quickly(shape: &[i64], strides: &[i64], itemsize: usize) -> Option<usize> {
    let (mut product, mut is_empty, mut span) = (1i64, false, 1i64);
    for (length, stride) in shape.iter().zip(strides) {
        if *length > 1 {
            product = product.checked_mul(*length)?;
            span = span.checked_add((length - 1).checked_mul(stride.checked_abs()?)?)?;
        } else if *length < 0 {
            return None;
        }
        is_empty |= *length == 0;
    }
    let itemsize = i64::try_from(itemsize).ok()?;
    isize::try_from(product.max(span).checked_mul(itemsize)?).ok()?;
    Some(if is_empty { 0 } else { product as usize })
}

/// The slow path of [`validate`], step by step, so that the error says which step failed.
fn explain(shape: &[i64], strides: Option<&[i64]>, dtype: DataType, padded: bool) -> Result<usize, Error> {
    let elements = count(shape)?;
    let fits = |count: usize| dtype.size_of(count, padded).is_some_and(|size| isize::try_from(size).is_ok());
    if !fits(elements) {
        return Err(Error::Overflow { quantity: "size in bytes" });
    }
    // Without explicit strides there are no gaps, so that the extent has the size that was checked above.
    if strides.is_some() {
        let span = extent(shape, strides).and_then(|extent| match extent {
            Some(extent) => isize::try_from(extent.span()).ok(),
            None => Some(0),
        });
        if !span.is_some_and(|span| fits(span as usize)) {
            return Err(Error::Overflow { quantity: "strides" });
        }
    }
    Ok(elements)
}

/// The number of elements of a shape; any axis of length 0 makes it 0.
///
/// The product of all lengths has to fit an `isize` with empty axes counted as 1: frameworks compute row-major strides
/// from it even if there are no elements.
///
/// # Errors
/// [`Error::NegativeLength`] and [`Error::Overflow`].
#[inline]
pub fn count(shape: &[i64]) -> Result<usize, Error> {
    if let Some(axis) = shape.iter().position(|length| *length < 0) {
        return Err(Error::NegativeLength { axis, length: shape[axis] });
    }
    product(shape.iter().map(|length| Some(*length)))
}

/// [`count`] for lengths that are counted in `usize`.
#[inline]
pub(crate) fn count_usize(shape: &[usize]) -> Result<usize, Error> {
    product(shape.iter().map(|length| i64::try_from(*length).ok()))
}

/// The number of elements of a shape whose lengths are 0 or more. A length of `None` is one that does not fit an `i64`.
#[inline]
fn product(mut lengths: impl ExactSizeIterator<Item = Option<i64>>) -> Result<usize, Error> {
    if i32::try_from(lengths.len()).is_err() {
        return Err(Error::Overflow { quantity: "number of axes" });
    }
    let mut is_empty = false;
    let step = lengths.try_fold(1i64, |step, length| {
        is_empty |= length == Some(0);
        step.checked_mul(length?.max(1))
    });
    match step.and_then(|step| isize::try_from(step).ok()) {
        Some(step) => Ok(if is_empty { 0 } else { step as usize }),
        // The error is made only when it is needed, because dropping an unused one would cost a function call.
        None => Err(Error::Overflow { quantity: "element count" }),
    }
}

/// The extent of a layout: `Some(None)` if it has no elements, `None` if it overflows.
#[expect(clippy::option_option, reason = "no elements and no answer are different things")]
#[inline]
fn extent(shape: &[i64], strides: Option<&[i64]>) -> Option<Option<Extent>> {
    if shape.contains(&0) {
        return Some(None);
    }
    let mut extent = Extent { lowest: 0, highest: 0 };
    match strides {
        None => extent.highest = shape.iter().try_fold(1i64, |count, length| count.checked_mul(*length))? - 1,
        Some(strides) => {
            for (length, stride) in shape.iter().zip(strides).filter(|(length, _)| **length > 1) {
                let reach = (length - 1).checked_mul(*stride)?;
                let end = if reach < 0 { &mut extent.lowest } else { &mut extent.highest };
                *end = end.checked_add(reach)?;
            }
        }
    }
    Some(Some(extent))
}

/// The extent of a layout that [`validate`] accepted; `None` if it has no elements.
pub fn extent_of(shape: &[i64], strides: Option<&[i64]>) -> Option<Extent> {
    extent(shape, strides).flatten()
}

/// Whether the elements are next to each other, last axis fastest. The strides of axes of length 1 do not matter, and a
/// tensor without elements is contiguous in every order.
#[inline]
pub fn is_row_major(shape: &[i64], strides: Option<&[i64]>) -> bool {
    match strides {
        None => true,
        Some(strides) => is_packed(shape.iter().zip(strides).rev()) || shape.contains(&0),
    }
}

/// Whether the elements are next to each other, first axis fastest (Fortran order).
pub fn is_column_major(shape: &[i64], strides: Option<&[i64]>) -> bool {
    match strides {
        None => shape.contains(&0) || shape.iter().filter(|length| **length != 1).count() <= 1,
        Some(strides) => is_packed(shape.iter().zip(strides)) || shape.contains(&0),
    }
}

#[inline]
fn is_packed<'a>(axes_fastest_first: impl Iterator<Item = (&'a i64, &'a i64)>) -> bool {
    let mut step = 1i64;
    for (length, stride) in axes_fastest_first.filter(|(length, _)| **length != 1) {
        if *stride != step {
            return false;
        }
        step = step.saturating_mul(*length);
    }
    true
}

/// Fills in row-major strides; empty axes count as 1, so that `[0, 2048]` gives `[2048, 1]`.
#[inline]
pub fn fill_row_major(shape: &[i64], strides: &mut [i64]) {
    let mut step = 1i64;
    for (length, stride) in shape.iter().zip(strides).rev() {
        *stride = step;
        step = step.saturating_mul((*length).max(1));
    }
}

/// Replaces strides that mean nothing, on axes of length 0 or 1, by those of a row-major tensor, which consumers with a
/// naive check for contiguity expect. Returns whether there are no elements; then no stride means anything, and all are
/// replaced.
#[inline]
pub(crate) fn normalise(shape: &[i64], strides: &mut [i64]) -> bool {
    let (mut step, mut is_empty) = (1i64, false);
    for (length, stride) in shape.iter().zip(strides.iter_mut()).rev() {
        if *length == 1 {
            *stride = step;
        }
        step = step.wrapping_mul(*length);
        is_empty |= *length == 0;
    }
    if is_empty {
        fill_row_major(shape, strides);
    }
    is_empty
}

/// Whether strides are as [`normalise`] leaves them.
pub(crate) fn is_normal(shape: &[i64], strides: &[i64]) -> bool {
    let is_empty = shape.contains(&0);
    let mut step = 1i64;
    shape.iter().zip(strides).rev().all(|(length, stride)| {
        let is_normal = *stride == step || (*length != 1 && !is_empty);
        step = step.saturating_mul((*length).max(1));
        is_normal
    })
}

/// Whether the elements are all that lies between the lowest and the highest, each reached once or more.
///
/// Equal numbers are not enough: strides that overlap can reach as many indices as there are places, and leave some
/// out.
pub fn fills_extent(shape: &[i64], strides: Option<&[i64]>) -> bool {
    let Some(strides) = strides.filter(|_| !shape.contains(&0)) else { return true };
    // What is reached so far is all of `0 ..= reach`. The next wider axis leaves a gap if it steps over more than that.
    let mut reach = 0u64;
    axes_by_stride(shape, strides).all(|(stride, steps)| {
        let is_next = stride <= reach.saturating_add(1);
        reach = reach.saturating_add(stride.saturating_mul(steps));
        is_next
    })
}

/// The strides without their signs, smallest first, each with the number of steps along its axis; without axes of
/// length 1. Picks the next one each time: there are few axes, and this needs no allocation.
fn axes_by_stride<'a>(shape: &'a [i64], strides: &'a [i64]) -> impl Iterator<Item = (u64, u64)> + 'a {
    let mut last = None;
    iter::from_fn(move || {
        let axes = shape.iter().zip(strides).enumerate().filter(|(_, (length, _))| **length > 1);
        let next = axes
            .map(|(axis, (length, stride))| ((stride.unsigned_abs(), axis), length.unsigned_abs() - 1))
            .filter(|(key, _)| last.map_or(true, |last| *key > last))
            .min()?;
        last = Some(next.0);
        Some((next.0 .0, next.1))
    })
}

/// Whether two indices may reach the same element, so that a mutable view would alias itself.
///
/// Returns `false` only when that is certain: with the axes sorted by stride, each stride must be larger than the whole
/// reach of the axes with smaller strides.
pub fn may_overlap(shape: &[i64], strides: Option<&[i64]>) -> bool {
    let Some(strides) = strides else { return false };
    if shape.contains(&0) {
        return false;
    }
    let mut reach = 0u64;
    axes_by_stride(shape, strides).any(|(stride, steps)| {
        let overlaps = stride <= reach;
        reach = reach.saturating_add(stride.saturating_mul(steps));
        overlaps
    })
}

#[cfg(test)]
mod tests {
    use super::super::Strides;
    use super::*;

    const F32: DataType = DataType::FLOAT32;

    #[test]
    fn axes_of_length_one_do_not_count() {
        // Layouts that other consumers took for non-contiguous (cases A2, A3, A4, A9 and A10).
        assert!(is_row_major(&[1], Some(&[3])));
        assert!(is_row_major(&[1, 1, 4, 4], Some(&[1, 1, 4, 1])));
        assert!(is_row_major(&[1, 3, 1, 4, 1], Some(&[0, 4, 0, 1, 0])));
        assert!(is_row_major(&[1, 10, 20], Some(&[-200, 20, 1])));
        assert!(is_row_major(&[1, 1, 13, 13], Some(&[0, 0, 13, 1])));
        assert!(!is_row_major(&[2, 13], Some(&[0, 1])));
        assert!(!is_row_major(&[3, 2], Some(&[1, 3])));
        assert!(is_column_major(&[3, 2], Some(&[1, 3])));
        assert!(is_column_major(&[1, 5, 1], None) && !is_column_major(&[2, 5], None));
    }

    #[test]
    fn empty_layouts_are_contiguous_whatever_their_strides() {
        assert!(is_row_major(&[1, 8, 0, 128], Some(&[7, 7, 7, 7])));
        assert_eq!(validate(&[0, 3], Some(&[i64::MAX, i64::MIN]), F32, false), Ok(0));
        assert_eq!(count(&[i64::MAX, 1, 0]), Ok(0));
        assert_eq!(count(&[i64::MAX, 2, 0]), Err(Error::Overflow { quantity: "element count" }));
        let mut strides = [0; 2];
        fill_row_major(&[0, 2048], &mut strides);
        assert_eq!(strides, [2048, 1]);
        assert_eq!(Strides::new(&[2, 0, 3], None), [3, 3, 1]);
        assert_eq!(Strides::new(&[], None), []);
    }

    #[test]
    fn extents_follow_the_strides() {
        assert_eq!(extent_of(&[2, 2], Some(&[4, 1])), Some(Extent { lowest: 0, highest: 5 })); // 6 with the gap (A13)
        assert_eq!(extent_of(&[2, 2], Some(&[4, 1])).unwrap().span(), 6);
        assert_eq!(extent_of(&[3, 4], Some(&[4, -1])), Some(Extent { lowest: -3, highest: 8 }));
        assert_eq!(extent_of(&[3], None), Some(Extent { lowest: 0, highest: 2 }));
        assert_eq!(extent_of(&[], None), Some(Extent { lowest: 0, highest: 0 }));
    }

    #[test]
    fn overflow_and_negative_lengths_are_errors() {
        assert_eq!(validate(&[-1], None, F32, false), Err(Error::NegativeLength { axis: 0, length: -1 }));
        assert_eq!(validate(&[0, -2], None, F32, false), Err(Error::NegativeLength { axis: 1, length: -2 }));
        assert_eq!(
            validate(&[1 << 62, 8], Some(&[8, 1]), F32, false),
            Err(Error::Overflow { quantity: "element count" })
        );
        assert_eq!(validate(&[1 << 62], None, F32, false), Err(Error::Overflow { quantity: "size in bytes" }));
        // The number of elements is small, but the extent is not (case I3).
        for strides in [[i64::MAX, 1], [i64::MIN, 1], [i64::MAX / 4, 1], [i64::MAX, i64::MIN], [i64::MIN, i64::MIN]] {
            assert_eq!(validate(&[2, 2], Some(&strides), F32, false), Err(Error::Overflow { quantity: "strides" }));
        }
        assert_eq!(
            validate(&[2, 2], Some(&[i64::MAX / 2, -i64::MAX / 2]), F32, false),
            Err(Error::Overflow { quantity: "strides" })
        );
        assert_eq!(validate(&[2, 2], Some(&[1 << 40, 1]), F32, false), Ok(4));
        // Even elements of 0 bits do not allow every extent.
        let nothing = DataType::new(crate::DataTypeCode::INT, 0, 1);
        let strides = [i64::MAX, i64::MIN];
        assert_eq!(validate(&[2, 2], Some(&strides), nothing, false), Err(Error::Overflow { quantity: "strides" }));
        assert_eq!(count_usize(&[usize::MAX, 0]), Err(Error::Overflow { quantity: "element count" }));
        assert_eq!((count_usize(&[]), count_usize(&[2, 3]), count_usize(&[2, 0])), (Ok(1), Ok(6), Ok(0)));
    }

    #[test]
    fn strides_that_mean_nothing_become_normal_and_others_stay() {
        for (shape, before, after) in [
            (&[][..], &[][..], &[][..]),
            (&[1], &[7], &[1]),
            (&[4], &[7], &[7]),
            (&[2, 1, 3], &[-9, 0, 5], &[-9, 3, 5]),
            (&[1, 1, 1], &[i64::MIN, i64::MAX, 0], &[1, 1, 1]),
            (&[1, 4, 2, 1], &[0, 0, 0, 0], &[8, 0, 0, 1]),
            (&[2, 0, 3, 4], &[9, 9, 9, 9], &[12, 12, 4, 1]),
            (&[0], &[0], &[1]),
            (&[1, 0], &[5, 1], &[1, 1]),
        ] {
            let mut strides = before.to_vec();
            assert_eq!(is_normal(shape, before), before == after, "{shape:?} {before:?}");
            assert_eq!(normalise(shape, &mut strides), shape.contains(&0), "{shape:?} {before:?}");
            assert_eq!(strides, after);
            assert!(is_normal(shape, after), "{shape:?} {after:?}");
        }
    }

    #[test]
    fn gaps_are_found() {
        for (shape, strides) in [
            (&[2, 3][..], &[3, 1][..]),
            (&[2, 3], &[1, 2]),
            (&[2, 3], &[-3, -1]),
            (&[5, 2, 3], &[0, 3, 1]),
            (&[2, 1, 3], &[3, 100, 1]),
            (&[2, 3, 4], &[4, 8, 1]),
            (&[6, 10], &[1, 1]),
            (&[3, 5], &[2, 1]),
            (&[0, 3], &[100, 100]),
            (&[], &[]),
        ] {
            assert!(fills_extent(shape, Some(strides)), "{shape:?} {strides:?}");
        }
        for (shape, strides) in [
            (&[2, 4][..], &[8, 1][..]),
            (&[4], &[2]),
            (&[2, 3], &[3, 2]),
            (&[4, 2], &[3, 1]),
            // As many indices as places, of which every 65th is reached.
            (&[129, 129], &[65, 65]),
            (&[2, 2], &[i64::MIN, 1]),
        ] {
            assert!(!fills_extent(shape, Some(strides)), "{shape:?} {strides:?}");
        }
        assert!(fills_extent(&[2, 3], None));
    }

    #[test]
    fn overlap_is_found() {
        assert!(may_overlap(&[2, 3], Some(&[1, 1]))); // an element is reached twice (A11)
        assert!(may_overlap(&[4, 3], Some(&[0, 1])));
        assert!(may_overlap(&[4, 3], Some(&[2, 1])));
        assert!(!may_overlap(&[4, 3], Some(&[3, 1])));
        assert!(!may_overlap(&[4, 3], Some(&[1, 4])));
        assert!(!may_overlap(&[4, 3], Some(&[-3, -1])));
        assert!(!may_overlap(&[1, 3], Some(&[0, 1])));
        assert!(!may_overlap(&[0, 3], Some(&[0, 0])));
        assert!(may_overlap(&[2, 2], Some(&[5, 5])));
    }
}
