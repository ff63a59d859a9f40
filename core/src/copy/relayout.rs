//! Copies strided elements into row-major order, about as fast as the memory allows.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::Offsets;
use crate::layout::descriptor::Descriptor;

/// One axis of a copy, with steps in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) len: usize,
    pub(crate) from: isize,
    pub(crate) to: isize,
}

/// Copies all elements of `source`, in row-major order.
///
/// # Safety
/// The CPU can read the source; `target` has room for `source.nbytes()` bytes that nobody else uses.
pub(crate) unsafe fn copy(source: &Descriptor<'_>, target: *mut u8) {
    if source.is_empty() || source.nbytes() == 0 {
        return; // Elements of 0 bits need no copying, however many there are.
    }
    let from = source.data();
    if source.is_row_major() {
        // SAFETY: the source is contiguous, so it is just `nbytes` bytes; the caller provides as many, which nobody
        // else uses.
        return unsafe { from.copy_to_nonoverlapping(target, source.nbytes()) };
    }
    let bits = source.dtype().stored_bits(source.flags().is_padded());
    if bits % 8 != 0 {
        // SAFETY: the caller's promise.
        return unsafe { copy_bits(source, target, bits as usize) };
    }
    let axes = axes(source, bits as isize / 8);
    let copy: Option<unsafe fn(&[Axis], *const u8, *mut u8)> = match bits / 8 {
        1 => Some(copy_axes::<1>),
        2 => Some(copy_axes::<2>),
        4 => Some(copy_axes::<4>),
        8 => Some(copy_axes::<8>),
        16 => Some(copy_axes::<16>),
        _ => None,
    };
    let size = bits as usize / 8;
    match copy {
        // SAFETY: the axes walk just the elements of the source, and the target from its start to its end.
        Some(copy) => unsafe { copy(&axes, from, target) },
        // SAFETY: as above.
        None => walk(&axes, from, target, &|from, to| unsafe { from.copy_to_nonoverlapping(to, size) }),
    }
}

/// The axes longer than 1, with their steps in bytes. Neighbours are merged where the outer one steps just over the
/// inner one. Elements have `size` bytes.
fn axes(source: &Descriptor<'_>, size: isize) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::with_capacity(source.ndim());
    for (length, stride) in source.shape().iter().zip(source.strides().iter()).filter(|(length, _)| **length > 1) {
        let (len, from) = (*length as usize, stride as isize * size);
        match axes.last_mut() {
            Some(outer) if Some(outer.from) == from.checked_mul(len as isize) => {
                *outer = Axis { len: outer.len * len, from, to: 0 };
            }
            _ => axes.push(Axis { len, from, to: 0 }),
        }
    }
    let mut to = size;
    for axis in axes.iter_mut().rev() {
        axis.to = to;
        to *= axis.len as isize;
    }
    axes
}

/// Calls `leaf` with the source and target of every index of `axes`, in row-major order.
pub(crate) fn walk(axes: &[Axis], from: *const u8, to: *mut u8, leaf: &impl Fn(*const u8, *mut u8)) {
    match axes.split_first() {
        None => leaf(from, to),
        Some((axis, rest)) => {
            for i in 0..axis.len as isize {
                walk(rest, from.wrapping_offset(i * axis.from), to.wrapping_offset(i * axis.to), leaf);
            }
        }
    }
}

/// # Safety
/// Every index of `axes` is an element of `SIZE` bytes, readable in the source and writable in the target.
unsafe fn copy_axes<const SIZE: usize>(axes: &[Axis], from: *const u8, to: *mut u8) {
    let Some((last, outer)) = axes.split_last() else {
        // SAFETY: no axis is longer than 1, so there is one element.
        return unsafe { from.copy_to_nonoverlapping(to, SIZE) };
    };
    if last.from == SIZE as isize {
        // SAFETY: the last axis is contiguous on both sides.
        return walk(outer, from, to, &|from, to| unsafe { from.copy_to_nonoverlapping(to, last.len * SIZE) });
    }
    // This is the axis along which the source is read in the smallest steps. With the last axis, along which the target
    // is written, it spans a plane that is copied in tiles, so that both sides use whole cache lines.
    let fastest = outer.iter().enumerate().min_by_key(|(_, axis)| axis.from.unsigned_abs());
    match fastest {
        Some((k, fast)) if fast.from.unsigned_abs() < last.from.unsigned_abs() => {
            let rest: Vec<Axis> =
                outer.iter().enumerate().filter(|(axis, _)| *axis != k).map(|(_, axis)| *axis).collect();
            // SAFETY: the caller's promise, for the plane of `fast` and `last` at every index of the rest.
            walk(&rest, from, to, &|from, to| unsafe { copy_plane::<SIZE>(fast, last, from, to) });
        }
        // SAFETY: the caller's promise, for the line of `last` at every index of the others.
        _ => walk(outer, from, to, &|from, to| unsafe { copy_line::<SIZE>(*last, from, to) }),
    }
}

/// # Safety
/// As [`copy_axes`], for the plane that `rows` and `columns` span, whose columns are contiguous in the target.
unsafe fn copy_plane<const SIZE: usize>(rows: &Axis, columns: &Axis, from: *const u8, to: *mut u8) {
    if rows.len <= FEW {
        // SAFETY: the caller's promise.
        return unsafe { copy_few::<SIZE>(rows, columns, from, to) };
    }
    let tile = tile(SIZE);
    for row in (0..rows.len).step_by(tile) {
        let rows = Axis { len: tile.min(rows.len - row), ..*rows };
        let (from, to) = (from.wrapping_offset(row as isize * rows.from), to.wrapping_offset(row as isize * rows.to));
        for column in (0..columns.len).step_by(tile) {
            let source = |c: usize| (from.wrapping_offset((column + c) as isize * columns.from), rows.from);
            let (len, to) = (tile.min(columns.len - column), to.wrapping_add(column * SIZE));
            // SAFETY: the tile is a part of the plane.
            unsafe { copy_tile::<SIZE>((rows.len, len), source, to, rows.to) };
        }
    }
}

/// With at most this many rows, such as the channels of an image, columns are too short to be copied in tiles.
const FEW: usize = 8;

/// As [`copy_plane`], for few rows: copies a part of each row in turn, short enough that its source stays in the cache
/// meanwhile.
///
/// # Safety
/// As [`copy_plane`].
#[inline(never)]
unsafe fn copy_few<const SIZE: usize>(rows: &Axis, columns: &Axis, from: *const u8, to: *mut u8) {
    let part = ((8 << 10) / columns.from.unsigned_abs().max(1)).max(64);
    for column in (0..columns.len).step_by(part) {
        let line = Axis { len: part.min(columns.len - column), ..*columns };
        let (from, to) = (from.wrapping_offset(column as isize * columns.from), to.wrapping_add(column * SIZE));
        for row in 0..rows.len as isize {
            let (from, to) = (from.wrapping_offset(row * rows.from), to.wrapping_offset(row * rows.to));
            // SAFETY: a part of a row.
            unsafe { copy_line::<SIZE>(line, from, to) };
        }
    }
}

/// The number of rows and of columns in a tile of elements of `size` bytes. A tile fills at most 16 KiB, so that it
/// stays in the first-level cache.
pub(crate) const fn tile(size: usize) -> usize {
    if size <= 4 {
        64
    } else {
        32
    }
}

/// Copies a tile of rows and columns through a buffer. Each column is read in one go, because columns that are far
/// apart push each other out of the cache. `column` says where a column begins, and its step from row to row. In the
/// target, columns are next to each other, and rows are `step` bytes apart.
///
/// # Safety
/// There are no more rows and columns than [`tile`] says, and every element is readable in the source and writable in
/// the target.
#[inline]
pub(crate) unsafe fn copy_tile<const SIZE: usize>(
    (rows, columns): (usize, usize),
    column: impl Fn(usize) -> (*const u8, isize),
    to: *mut u8,
    step: isize,
) {
    let mut buffer = [MaybeUninit::<[u8; SIZE]>::uninit(); 64 * 64];
    let tile = tile(SIZE);
    for c in 0..columns {
        let (from, step) = column(c);
        let buffer = &mut buffer[c * tile..][..rows];
        if step == SIZE as isize {
            // SAFETY: the elements of one column, next to each other.
            unsafe { from.copy_to_nonoverlapping(buffer.as_mut_ptr().cast(), rows * SIZE) };
            continue;
        }
        for (r, slot) in buffer.iter_mut().enumerate() {
            let from = from.wrapping_offset(r as isize * step).cast::<MaybeUninit<[u8; SIZE]>>();
            // SAFETY: an element of the column; a byte array needs no alignment.
            *slot = unsafe { from.read() };
        }
    }
    for r in 0..rows {
        let to = to.wrapping_offset(r as isize * step).cast::<MaybeUninit<[u8; SIZE]>>();
        let row = buffer[r..].iter().step_by(tile).take(columns);
        for (c, element) in row.enumerate() {
            // SAFETY: the place of the element in the target.
            unsafe { to.wrapping_add(c).write(*element) };
        }
    }
}

/// Copies the line of an axis whose target is contiguous. Steps of 0 and of one element backwards are constants here,
/// so that the compiler can vectorise them.
///
/// # Safety
/// As [`copy_axes`].
#[inline]
unsafe fn copy_line<const SIZE: usize>(axis: Axis, from: *const u8, to: *mut u8) {
    let backwards = -(SIZE as isize);
    match axis.from {
        // SAFETY: the caller's promise.
        0 => unsafe { repeat::<SIZE>(axis.len, from, to) },
        // SAFETY: as above.
        step if step == backwards => unsafe { step_by::<SIZE>(axis.len, backwards, from, to) },
        // SAFETY: as above.
        step => unsafe { step_by::<SIZE>(axis.len, step, from, to) },
    }
}

/// # Safety
/// `len` elements of `SIZE` bytes are readable from `from` on, `step` bytes apart, and there is room for them at `to`.
#[inline(always)]
unsafe fn step_by<const SIZE: usize>(len: usize, step: isize, from: *const u8, to: *mut u8) {
    for i in 0..len {
        let from = from.wrapping_offset(i as isize * step).cast::<[u8; SIZE]>();
        // SAFETY: an element of the source; a byte array needs no alignment.
        let element = unsafe { from.read() };
        // SAFETY: its place in the target.
        unsafe { to.wrapping_add(i * SIZE).cast::<[u8; SIZE]>().write(element) };
    }
}

/// # Safety
/// As [`step_by`], with a step of 0.
#[inline(always)]
unsafe fn repeat<const SIZE: usize>(len: usize, from: *const u8, to: *mut u8) {
    // SAFETY: the element; a byte array needs no alignment.
    let element = unsafe { from.cast::<[u8; SIZE]>().read() };
    for i in 0..len {
        // SAFETY: a place of the target.
        unsafe { to.wrapping_add(i * SIZE).cast::<[u8; SIZE]>().write(element) };
    }
}

/// Copies packed elements that do not fill bytes, bit by bit, least significant first, as DLPack packs them.
///
/// # Safety
/// As [`copy`].
unsafe fn copy_bits(source: &Descriptor<'_>, target: *mut u8, bits: usize) {
    // SAFETY: the caller provides `nbytes` bytes.
    unsafe { target.write_bytes(0, source.nbytes()) };
    for (index, offset) in Offsets::new(source).enumerate() {
        for bit in 0..bits {
            // Counted in 64 bits, because a large tensor has more bits than a `usize` of 32 bits can count.
            let (from, to) = (offset as i64 * bits as i64 + bit as i64, index as u64 * bits as u64 + bit as u64);
            // SAFETY: a bit of an element within the extent.
            let byte = unsafe { source.data().wrapping_offset(from.div_euclid(8) as isize).read() };
            let set = byte >> from.rem_euclid(8) & 1;
            let target = target.wrapping_add((to / 8) as usize);
            // SAFETY: a bit of an element of the target, initialised above.
            let byte = unsafe { target.read() };
            // SAFETY: as above.
            unsafe { target.write(byte | set << (to % 8)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, Device, Element, Flags, TensorRef};

    /// Copies planes of whole tiles and of parts of tiles, in every order of three axes, and compares with walking the
    /// elements one at a time.
    fn every_order<T: Element + PartialEq + core::fmt::Debug>(element: impl Fn(usize) -> T) {
        for [a, b, c] in [[3, 130, 70], [2, 64, 64], [1, 33, 65], [129, 2, 67], [40, 40, 3], [2, 3000, 3], [700, 9, 4]]
        {
            let base: Vec<T> = (0..2 * a * b * c).map(&element).collect();
            let (lengths, steps) =
                ([a, b, c].map(|length| length as i64), [2 * b * c, 2 * c, 2].map(|step| step as i64));
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                for step in [1, 2] {
                    let shape = order.map(|axis| lengths[axis]);
                    let strides = order.map(|axis| steps[axis] / step);
                    let (data, flags) = (base.as_ptr().cast(), Flags::READ_ONLY);
                    let tensor = Descriptor::new(data, T::DTYPE, Device::CPU, flags, &shape, Some(&strides)).unwrap();
                    // SAFETY: within the base.
                    let tensor = unsafe { TensorRef::from_descriptor(tensor) };
                    let expected: Vec<T> = tensor.elements().unwrap().collect();
                    assert_eq!(tensor.to_vec::<T>().unwrap(), expected, "{shape:?} {strides:?}");
                }
            }
        }
    }

    #[test]
    fn axes_that_step_over_one_another_are_merged() {
        let of = |shape: &[i64], strides: &[i64]| {
            let nowhere = core::ptr::NonNull::<u128>::dangling().as_ptr().cast();
            let (dtype, flags) = (DataType::INT16, Flags::READ_ONLY);
            let source = Descriptor::new(nowhere, dtype, Device::CPU, flags, shape, Some(strides)).unwrap();
            axes(&source, 2).iter().map(|axis| (axis.len, axis.from, axis.to)).collect::<Vec<_>>()
        };
        for (shape, strides, expected) in [
            (&[][..], &[][..], &[][..]),
            (&[1, 1], &[i64::MAX, 0], &[]),
            (&[5], &[3], &[(5, 6, 2)]),
            (&[4, 5], &[15, 3], &[(20, 6, 2)]),
            (&[4, 5], &[1, 4], &[(4, 2, 10), (5, 8, 2)]),
            (&[4, 1, 5], &[-10, 9, -2], &[(20, -4, 2)]),
            (&[3, 4, 5], &[1, 15, 3], &[(3, 2, 40), (20, 6, 2)]),
            (&[3, 4, 5], &[8, 2, 30], &[(12, 4, 10), (5, 60, 2)]),
            (&[2, 3, 4], &[0, 0, 1], &[(6, 0, 8), (4, 2, 2)]),
        ] {
            assert_eq!(of(shape, strides), expected, "{shape:?} {strides:?}");
        }
    }

    #[test]
    fn a_tile_fills_the_cache_as_far_as_it_may() {
        for (size, bytes) in [(1, 4 << 10), (2, 8 << 10), (4, 16 << 10), (8, 8 << 10), (16, 16 << 10)] {
            assert_eq!(tile(size) * tile(size) * size, bytes);
        }
    }

    #[test]
    fn planes_are_copied_in_tiles() {
        every_order(|n| n as u8);
        every_order(|n| n as u16);
        every_order(|n| n as f32);
        every_order(|n| n as i64);
    }
}
