//! Walking the elements of a layout in row-major order.

use core::fmt;
use core::marker::PhantomData;

use crate::layout::descriptor::Descriptor;
use crate::layout::Dims;
use crate::types::Element;

/// Walks the offsets of a layout in row-major order, counted in elements from the first one.
pub(crate) struct Offsets<'a> {
    shape: &'a [i64],
    strides: Dims,
    pub(crate) index: Dims,
    offset: isize,
    left: usize,
}

impl<'a> Offsets<'a> {
    pub(crate) fn new(descriptor: &Descriptor<'a>) -> Self {
        Self {
            shape: descriptor.shape,
            strides: descriptor.strides().iter().collect(),
            index: Dims::zeros(descriptor.ndim()),
            offset: 0,
            left: descriptor.len(),
        }
    }
}

impl Iterator for Offsets<'_> {
    type Item = isize;

    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.offset;
        for axis in (0..self.shape.len()).rev() {
            let stride = self.strides[axis] as isize;
            if self.index[axis] + 1 < self.shape[axis] {
                self.index[axis] += 1;
                self.offset += stride;
                break;
            }
            // On an axis of length 1 the index stays 0, so that the stride, which may be any number, does not count.
            self.offset -= self.index[axis] as isize * stride;
            self.index[axis] = 0;
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The elements of a [`TensorRef`](crate::TensorRef), in row-major order.
pub struct Elements<'a, T> {
    data: *const T,
    offsets: Offsets<'a>,
    lifetime: PhantomData<&'a [T]>,
}

impl<'a, T: Element> Elements<'a, T> {
    /// # Safety
    /// `data` is the first element of `tensor`, whose elements are readable for `'a`, aligned, and valid `T`s.
    pub(crate) unsafe fn new(data: *const T, tensor: &Descriptor<'a>) -> Self {
        Self { data, offsets: Offsets::new(tensor), lifetime: PhantomData }
    }
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let offset = self.offsets.next()?;
        // SAFETY: an offset of the layout is within the extent, which fits by invariant *bounds* of `Descriptor`.
        let element = unsafe { self.data.offset(offset) };
        // SAFETY: readable, aligned and valid by the promise of `new`.
        Some(unsafe { element.read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}

impl<T> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements").field("left", &self.offsets.left).finish()
    }
}
