//! Makes vectors from tensors by adopting their memory.

use alloc::vec::Vec;
use core::mem::align_of;

use super::allocator::{adopt, check};
use crate::error::Reason;
use crate::layout::descriptor::Descriptor;
use crate::tensor::Tensor;
use crate::types::Element;

impl Descriptor<'_> {
    /// Checks that the memory can become a vector by adoption: it must be row-major elements of `T` on the host, which
    /// nobody else uses, in a block that the installed [allocator](crate::adopting) accepts.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn check_adoptable<T: Element>(&self) -> Result<(), Reason> {
        if self.check_dtype(T::DTYPE).and_then(|()| self.check_host()).is_err() {
            return Err(Reason::ForeignMemory);
        }
        check(self.data() as usize, self.nbytes(), align_of::<T>())?;
        if self.flags().is_read_only() {
            Err(Reason::ReadOnly)
        } else if !self.is_row_major() {
            Err(Reason::Strided)
        } else {
            Ok(())
        }
    }
}

impl Tensor {
    /// The elements as a vector over this very memory, if an [adopting allocator](crate::adopting) is installed.
    /// Freeing the vector drops the tensor.
    ///
    /// `Copies: never`. What is written through the vector need not reach the producer.
    ///
    /// # Errors
    /// The tensor itself, if [`Descriptor::check_adoptable`] refuses it, or if a boolean is neither 0 nor 1.
    pub fn adopt<T: Element>(mut self) -> Result<Vec<T>, Self> {
        if self.descriptor().check_adoptable::<T>().is_err() {
            return Err(self);
        }
        let len = self.descriptor().len();
        let Ok(elements) = self.view_mut().and_then(|mut view| view.as_mut_ptr::<T>()) else { return Err(self) };
        // SAFETY: the tensor is not read-only, so that by invariant *access* of `Tensor` nobody else has access to the
        // elements while it lives, and the vector keeps it. The elements are contiguous, as checked, and `as_mut_ptr`
        // has checked type, alignment and values.
        unsafe { adopt(elements, len, self) }.map_err(|rejected| rejected.value)
    }
}
