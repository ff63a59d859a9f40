//! Copies tensors of one shape side by side along a new axis, about as fast as the memory allows.

use alloc::vec::Vec;
use core::ops::Deref;

use super::relayout::{self, walk, Axis};
use crate::layout::descriptor::Descriptor;
use crate::layout::Dims;

/// How many bytes of the target are written between two visits to the same part: few enough to stay in the first-level
/// cache.
const BLOCK_BYTES: usize = 16 << 10;
/// A block of fewer rows would use only a part of each cache line that it reads.
const LEAST_ROWS: usize = 16;

/// Copies every part to its place in `target`, a row-major tensor like `like` of elements of `size` bytes.
///
/// # Safety
/// The CPU can read the parts, which have the type and shape of `like` without its axis `axis`, and are as many as that
/// axis is long; `target` has room for all of them, which nobody else uses.
pub(crate) unsafe fn copy<'a>(
    parts: &[impl Deref<Target = Descriptor<'a>>],
    axis: usize,
    like: &Descriptor<'_>,
    size: usize,
    target: *mut u8,
) {
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
    steps[axis..].rotate_left(1); // The steps of the parts' own axes come first.
    let mut parts: Vec<Part> =
        parts.iter().map(|part| Part { axes: axes(part, &steps, size), data: part.data() }).collect();
    let copy: unsafe fn(&mut [Part], usize, usize, *mut u8) = match size {
        1 => copy_parts::<1>,
        2 => copy_parts::<2>,
        4 => copy_parts::<4>,
        8 => copy_parts::<8>,
        16 => copy_parts::<16>,
        _ => copy_parts::<0>,
    };
    // SAFETY: the axes are those of the parts, and of their places in the target.
    unsafe { copy(&mut parts, step, size, target) }
}

/// Where a part begins, and the axes along which it is read and written. The first axis is that of its rows.
struct Part {
    axes: Vec<Axis>,
    data: *const u8,
}

/// Copies a block of rows of every part, then the next block, so that what the parts write next to each other is still
/// in the cache. `SIZE` is `size` as a constant for the compiler, or 0 where there is none.
///
/// # Safety
/// As [`copy`]; the parts have equally many rows, and stand `step` bytes apart in the target.
unsafe fn copy_parts<const SIZE: usize>(parts: &mut [Part], step: usize, size: usize, target: *mut u8) {
    let rows = parts[0].axes[0];
    if step == SIZE && parts.iter().all(|part| part.axes.len() == 1) {
        // Every part is a column of single elements, and the columns become rows.
        let tile = relayout::tile(SIZE);
        for start in (0..rows.len).step_by(tile) {
            let to = target.wrapping_offset(start as isize * rows.to);
            for (i, parts) in parts.chunks(tile).enumerate() {
                let column = |c: usize| {
                    let step = parts[c].axes[0].from;
                    (parts[c].data.wrapping_offset(start as isize * step), step)
                };
                let (size, to) = ((tile.min(rows.len - start), parts.len()), to.wrapping_add(i * tile * SIZE));
                // SAFETY: the caller's promise, for some rows of some parts and their places in the target.
                unsafe { relayout::copy_tile::<SIZE>(size, column, to, rows.to) };
            }
        }
        return;
    }
    let block = (BLOCK_BYTES / rows.to as usize).max(LEAST_ROWS);
    for start in (0..rows.len).step_by(block) {
        for (i, Part { axes, data }) in parts.iter_mut().enumerate() {
            axes[0].len = block.min(rows.len - start);
            let from = data.wrapping_offset(start as isize * axes[0].from);
            let to = target.wrapping_add(i * step).wrapping_offset(start as isize * axes[0].to);
            // SAFETY: the caller's promise, for some rows of the part and their places in the target.
            unsafe { copy_rows::<SIZE>(axes, size, from, to) };
        }
    }
}

/// The first axis of `part`, and the others, merged where the outer one steps just over the inner one on both sides.
fn axes(part: &Descriptor<'_>, steps: &[i64], size: usize) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::with_capacity(part.ndim());
    for ((length, stride), to) in part.shape().iter().zip(part.strides().iter()).zip(steps) {
        // The stride of an axis of length 0 or 1 may be any number.
        let from = if *length > 1 { stride as isize * size as isize } else { 0 };
        let axis = Axis { len: *length as usize, from, to: *to as isize };
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
    use crate::{Device, Error, Flags, Tensor, TensorRef};

    fn numbers(shape: &[usize], from: i32) -> Tensor {
        let len: usize = shape.iter().product();
        Tensor::new((from..from + len as i32).collect::<Vec<i32>>(), shape).unwrap()
    }

    #[test]
    fn parts_stand_side_by_side_along_any_axis() {
        let shape = [3, 2, 5];
        let (a, b) = (numbers(&shape, 0), numbers(&shape, 100));
        for axis in 0..=3 {
            let stacked = Tensor::stack(&[a.view(), b.view()], axis).unwrap();
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
        // More rows than a block has, a strided part, and elements of a size for which there is no constant.
        let rows = 3 * BLOCK_BYTES;
        let base: Vec<i16> = (0..2 * rows).map(|n| n as i16).collect();
        let (shape, strides) = ([rows as i64], [2]);
        let data = base.as_ptr().cast();
        let strided =
            Descriptor::new(data, crate::DataType::INT16, Device::CPU, Flags::READ_ONLY, &shape, Some(&strides));
        // SAFETY: every second element of the base.
        let strided = unsafe { TensorRef::from_descriptor(strided.unwrap()) };
        let plain = TensorRef::from_slice(&base[..rows], &shape).unwrap();
        let stacked = Tensor::stack(&[strided, plain], 1).unwrap();
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
        let stacked = Tensor::stack(&[part(0), part(6)], 1).unwrap();
        let bytes = stacked.view().to_bytes().unwrap();
        let expected: Vec<u8> =
            [0., 1., 2., 6., 7., 8., 3., 4., 5., 9., 10., 11.].iter().flat_map(|n: &f32| n.to_ne_bytes()).collect();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn many_columns_become_rows_in_tiles() {
        fn of<T: crate::Element + core::fmt::Debug + PartialEq>(element: impl Fn(usize) -> T) {
            for (rows, columns) in [(1, 70), (64, 64), (200, 70), (33, 1), (130, 129)] {
                let base: Vec<T> = (0..2 * rows * columns).map(&element).collect();
                let shape = [rows as i64];
                // Every other column is a strided one.
                let steps = [[1], [2]];
                let part = |c: usize| {
                    let (data, strides) = (base[2 * c * rows..].as_ptr().cast(), Some(&steps[c % 2][..]));
                    let part = Descriptor::new(data, T::DTYPE, Device::CPU, Flags::READ_ONLY, &shape, strides);
                    // SAFETY: within the base.
                    unsafe { TensorRef::from_descriptor(part.unwrap()) }
                };
                let parts: Vec<TensorRef<'_>> = (0..columns).map(part).collect();
                let stacked = Tensor::stack(&parts, 1).unwrap();
                let expected: Vec<T> = (0..rows)
                    .flat_map(|r| (0..columns).map(move |c| 2 * c * rows + r * (1 + c % 2)))
                    .map(|index| base[index])
                    .collect();
                assert_eq!(stacked.as_slice::<T>().unwrap(), expected, "{rows} × {columns}");
            }
        }
        of(|n| n as u8);
        of(|n| n as i16);
        of(|n| n as f32);
        of(|n| n as f64);
    }

    #[test]
    fn axes_are_merged_if_both_sides_step_over_one_another() {
        // The lengths and strides of a part of numbers of two bytes, and its steps in the target.
        let of = |shape: &[i64], strides: &[i64], steps: &[i64]| {
            let nowhere = core::ptr::NonNull::<u128>::dangling().as_ptr().cast();
            let (dtype, flags) = (crate::DataType::INT16, Flags::READ_ONLY);
            let part = Descriptor::new(nowhere, dtype, Device::CPU, flags, shape, Some(strides)).unwrap();
            axes(&part, steps, 2).iter().map(|axis| (axis.len, axis.from, axis.to)).collect::<Vec<_>>()
        };
        for (shape, strides, steps, expected) in [
            (&[3, 4, 5][..], &[20, 5, 1][..], &[80, 20, 4][..], &[(3, 40, 80), (20, 2, 4)][..]),
            // The first axis is that of the rows, and stays.
            (&[4, 5], &[5, 1], &[20, 4], &[(4, 10, 20), (5, 2, 4)]),
            (&[1, 5], &[9, 1], &[20, 4], &[(1, 0, 20), (5, 2, 4)]),
            // Only one side steps over the inner axis.
            (&[3, 4, 5], &[20, 5, 1], &[80, 30, 4], &[(3, 40, 80), (4, 10, 30), (5, 2, 4)]),
            (&[3, 4, 5], &[20, 7, 1], &[80, 20, 4], &[(3, 40, 80), (4, 14, 20), (5, 2, 4)]),
            // An axis of length 1 neither counts nor keeps its neighbours apart.
            (&[3, 4, 1, 5], &[20, 5, i64::MAX, 1], &[80, 20, 20, 4], &[(3, 40, 80), (20, 2, 4)]),
            (&[3, 4, 1], &[20, 5, 1], &[80, 20, 20], &[(3, 40, 80), (4, 10, 20)]),
        ] {
            assert_eq!(of(shape, strides, steps), expected, "{shape:?} {strides:?} {steps:?}");
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let (a, b) = (numbers(&[2, 3], 0), numbers(&[2, 4], 0));
        assert!(matches!(Tensor::stack(&[], 0), Err(Error::Unsupported { .. })));
        // The stride of an axis of length 1 may be any number.
        let (shape, strides, base) = ([1, 4], [i64::MAX, 1], [0f32, 1., 2., 3.]);
        let (data, dtype, flags) = (base.as_ptr().cast(), crate::DataType::FLOAT32, Flags::READ_ONLY);
        let odd = Descriptor::new(data, dtype, Device::CPU, flags, &shape, Some(&strides)).unwrap();
        // SAFETY: the four elements of the base.
        let odd = unsafe { TensorRef::from_descriptor(odd) };
        assert_eq!(Tensor::stack(&[odd, odd], 1).unwrap().as_slice::<f32>().unwrap(), [base, base].concat());
        let error = Tensor::stack(&[a.view(), b.view()], 1).unwrap_err();
        assert_eq!(error, Error::AxisMismatch { axis: 1, expected: 3, found: 4 });
        assert!(matches!(Tensor::stack(&[a.view()], 3), Err(Error::IndexOutOfBounds { .. })));
        let flat = numbers(&[6], 0);
        assert_eq!(
            Tensor::stack(&[a.view(), flat.view()], 0).unwrap_err(),
            Error::NdimMismatch { expected: 2, shape: [6].into() }
        );
        let floats = Tensor::new(vec![0f32; 6], &[2, 3]).unwrap();
        assert!(matches!(Tensor::stack(&[a.view(), floats.view()], 0), Err(Error::DTypeMismatch { .. })));
        assert!(Tensor::stack(&[numbers(&[0, 3], 0).view()], 1).unwrap().view().is_empty());
    }
}
