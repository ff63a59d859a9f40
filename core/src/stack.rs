//! Tensors of one shape put side by side along a new axis, once, at the speed of memory.

use alloc::vec::Vec;
use core::ptr::NonNull;

use crate::layout::Dims;
use crate::relayout::{self, walk, Axis};
use crate::{Descriptor, Device, Error, Flags, Tensor, TensorRef};

/// What is written between two visits to the same part: small enough to stay in the first-level cache.
const BLOCK_BYTES: usize = 16 << 10;
/// Fewer rows than this would read cache lines only in part.
const LEAST_ROWS: usize = 16;

/// See [`Tensor::stack`].
pub(crate) fn stack(parts: &[TensorRef<'_>], axis: usize) -> Result<Tensor, Error> {
    let Some(first) = parts.first() else {
        return Err(Error::LengthMismatch { expected: 1, found: 0 });
    };
    if axis > first.ndim() {
        return Err(Error::IndexOutOfBounds { axis, index: axis, length: first.ndim() + 1 });
    }
    parts.iter().try_for_each(|part| check(part, first))?;
    let padded = first.flags().is_padded();
    let bits = first.dtype().stored_bits(padded);
    if bits % 8 != 0 {
        return Err(Error::Unsupported { framework: "Tensor::stack", what: "elements packed into parts of bytes" });
    }
    let mut shape: Dims = first.shape().iter().copied().chain([0]).collect();
    shape[axis..].rotate_right(1);
    shape[axis] = i64::try_from(parts.len()).map_err(|_| Error::Overflow { quantity: "element count" })?;
    let nowhere = NonNull::<u128>::dangling().as_ptr().cast::<u8>();
    let like = Descriptor::new(nowhere, first.dtype(), Device::CPU, first.flags(), &shape, None)?;
    let write = |target| {
        // SAFETY: the parts are checked, and `filled` gives room for all elements.
        unsafe { copy(parts, axis, &like, bits as usize / 8, target) };
        Ok(())
    };
    // SAFETY: every element of the result is an element of one part, and `copy` writes all of every part; the parts'
    // booleans are checked.
    unsafe { relayout::filled(&like, true, write) }
}

/// `part` can stand beside `first`.
fn check(part: &TensorRef<'_>, first: &TensorRef<'_>) -> Result<(), Error> {
    part.check_host()?;
    part.check_dtype(first.dtype())?;
    part.check_values()?;
    let padded = |tensor: &TensorRef<'_>| Flags::from_bits(tensor.flags().bits() & Flags::PADDED.bits());
    if part.dtype().is_sub_byte() && padded(part) != padded(first) {
        return Err(Error::Unsupported { framework: "Tensor::stack", what: "mix of packed and padded elements" });
    }
    if part.ndim() != first.ndim() {
        return Err(Error::NdimMismatch { expected: first.ndim(), found: part.ndim() });
    }
    match (0..part.ndim()).find(|axis| part.shape()[*axis] != first.shape()[*axis]) {
        Some(axis) => Err(Error::AxisMismatch { axis, expected: first.shape()[axis], found: part.shape()[axis] }),
        None => Ok(()),
    }
}

/// Copies every part to its place in `target`, a row-major tensor like `like` of elements of `size` bytes.
///
/// # Safety
/// The parts are as [`check`] wants them, and `target` has room for all of them.
unsafe fn copy(parts: &[TensorRef<'_>], axis: usize, like: &Descriptor<'_>, size: usize, target: *mut u8) {
    if like.is_empty() || size == 0 {
        return;
    }
    let mut steps: Dims = like.strides().iter().map(|stride| stride * size as i64).collect();
    let step = steps[axis] as usize;
    if axis == 0 {
        for (i, part) in parts.iter().enumerate() {
            // SAFETY: the parts are readable, and each has `step` bytes of the target to itself.
            unsafe { relayout::copy(part, target.wrapping_add(i * step)) };
        }
        return;
    }
    steps[axis..].rotate_left(1); // Those of the parts' own axes come first.
    let copy_rows: unsafe fn(&[Axis], usize, *const u8, *mut u8) = match size {
        1 => copy_rows::<1>,
        2 => copy_rows::<2>,
        4 => copy_rows::<4>,
        8 => copy_rows::<8>,
        _ => copy_rows::<0>,
    };
    let mut parts: Vec<(Vec<Axis>, *const u8)> =
        parts.iter().map(|part| (axes(part, &steps, size), part.data())).collect();
    // Block by block of rows, so that what the parts write next to each other is still in the cache.
    let rows = like.shape()[0] as usize;
    let block = (BLOCK_BYTES / steps[0] as usize).max(LEAST_ROWS);
    for start in (0..rows).step_by(block) {
        for (i, (axes, data)) in parts.iter_mut().enumerate() {
            axes[0].len = block.min(rows - start);
            let from = data.wrapping_offset(start as isize * axes[0].from);
            let to = target.wrapping_add(i * step).wrapping_offset(start as isize * axes[0].to);
            // SAFETY: some rows of the part, and their places in the target.
            unsafe { copy_rows(axes, size, from, to) };
        }
    }
}

/// The axes of `part`: the first one, and the others, merged where one steps just over the other on both sides.
fn axes(part: &TensorRef<'_>, steps: &[i64], size: usize) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::with_capacity(part.ndim());
    for ((length, stride), to) in part.shape().iter().zip(part.strides().iter()).zip(steps) {
        let axis = Axis { len: *length as usize, from: stride as isize * size as isize, to: *to as isize };
        let merges = |outer: &Axis| {
            let over = |step: isize| step.checked_mul(axis.len as isize);
            over(axis.from) == Some(outer.from) && over(axis.to) == Some(outer.to)
        };
        let is_first = axes.is_empty();
        match axes.get_mut(1..).and_then(<[_]>::last_mut) {
            _ if axis.len == 1 && !is_first => {}
            Some(outer) if merges(outer) => *outer = Axis { len: outer.len * axis.len, ..axis },
            _ => axes.push(axis),
        }
    }
    axes
}

/// `SIZE` is the size, so that the compiler knows it, or 0.
///
/// # Safety
/// Every index of `axes` is an element of `size` bytes, readable in the source and writable in the target.
unsafe fn copy_rows<const SIZE: usize>(axes: &[Axis], size: usize, from: *const u8, to: *mut u8) {
    let size = if SIZE == 0 { size } else { SIZE };
    let Some((line, outer)) = axes.split_last() else { return };
    if (line.from, line.to) == (size as isize, size as isize) {
        // SAFETY: the last axis is contiguous on both sides.
        return walk(outer, from, to, &|from, to| unsafe { from.copy_to_nonoverlapping(to, line.len * size) });
    }
    walk(outer, from, to, &|from, to| {
        for i in 0..line.len as isize {
            let (from, to) = (from.wrapping_offset(i * line.from), to.wrapping_offset(i * line.to));
            // SAFETY: an element of the source, and its place in the target.
            unsafe { from.copy_to_nonoverlapping(to, size) };
        }
    });
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use std::vec;

    use super::*;

    fn numbers(shape: &[usize], from: i32) -> Tensor {
        let len: usize = shape.iter().product();
        Tensor::new((from..from + len as i32).collect::<Vec<i32>>(), shape).unwrap()
    }

    #[test]
    fn parts_stand_side_by_side_along_any_axis() {
        let shape = [3, 2, 5];
        let (a, b) = (numbers(&shape, 0), numbers(&shape, 100));
        for axis in 0..=3 {
            let stacked = stack(&[a.view(), b.view()], axis).unwrap();
            assert!(stacked.flags().is_copied());
            for (i, part) in [&a, &b].into_iter().enumerate() {
                for index in [[0, 0, 0], [2, 1, 4], [1, 0, 3]] {
                    let mut at = index.to_vec();
                    at.insert(axis, i);
                    let found: i32 = stacked.view().get(&at).unwrap();
                    assert_eq!(found, part.view().get(&index).unwrap(), "axis {axis}, part {i}, {index:?}");
                }
            }
        }
    }

    #[test]
    fn long_strided_and_wide_parts() {
        // Rows beyond a block, a part that is strided, and one of a size that no line has.
        let rows = 3 * BLOCK_BYTES;
        let base: Vec<i16> = (0..2 * rows).map(|n| n as i16).collect();
        let (shape, strides) = ([rows as i64], [2]);
        let data = base.as_ptr().cast();
        let strided =
            Descriptor::new(data, crate::DataType::INT16, Device::CPU, Flags::READ_ONLY, &shape, Some(&strides));
        // SAFETY: every second element of the base.
        let strided = unsafe { TensorRef::from_descriptor(strided.unwrap()) };
        let plain = TensorRef::from_slice(&base[..rows], &shape).unwrap();
        let stacked = stack(&[strided, plain], 1).unwrap();
        let expected: Vec<i16> = (0..rows).flat_map(|row| [base[2 * row], base[row]]).collect();
        assert_eq!(stacked.as_slice::<i16>().unwrap(), expected);

        let wide = crate::DataType::FLOAT32.with_lanes(3);
        let memory: Vec<f32> = (0..12).map(|n| n as f32).collect();
        let shape = [2];
        let part = |at: usize| {
            let data = memory[at..].as_ptr().cast();
            let part = Descriptor::new(data, wide, Device::CPU, Flags::READ_ONLY, &shape, None).unwrap();
            // SAFETY: six floats of the memory.
            unsafe { TensorRef::from_descriptor(part) }
        };
        let stacked = stack(&[part(0), part(6)], 1).unwrap();
        let bytes = stacked.view().to_bytes().unwrap();
        let expected: Vec<u8> =
            [0., 1., 2., 6., 7., 8., 3., 4., 5., 9., 10., 11.].iter().flat_map(|n: &f32| n.to_ne_bytes()).collect();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let (a, b) = (numbers(&[2, 3], 0), numbers(&[2, 4], 0));
        assert_eq!(stack(&[], 0).unwrap_err(), Error::LengthMismatch { expected: 1, found: 0 });
        let error = stack(&[a.view(), b.view()], 1).unwrap_err();
        assert_eq!(error, Error::AxisMismatch { axis: 1, expected: 3, found: 4 });
        assert!(matches!(stack(&[a.view()], 3), Err(Error::IndexOutOfBounds { .. })));
        let flat = numbers(&[6], 0);
        assert_eq!(stack(&[a.view(), flat.view()], 0).unwrap_err(), Error::NdimMismatch { expected: 2, found: 1 });
        let floats = Tensor::new(vec![0f32; 6], &[2, 3]).unwrap();
        assert!(matches!(stack(&[a.view(), floats.view()], 0), Err(Error::DTypeMismatch { .. })));
        assert!(stack(&[numbers(&[0, 3], 0).view()], 1).unwrap().view().is_empty());
    }
}
