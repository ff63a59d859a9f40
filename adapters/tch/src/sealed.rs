//! Reading a sealed tensor where libtorch would ask for a writable address.

use dlbridge_core::Error;

use crate::shim::Dense;

/// The address of the first element, for reading only.
///
/// tch's own `data_ptr` asks libtorch for a writable address, which libtorch refuses for a sealed tensor.
///
/// # Errors
/// As for the export: the tensor has no memory that DLPack can express.
pub fn data_ptr(tensor: &tch::Tensor) -> Result<*const u8, Error> {
    // SAFETY: the closure runs no code of others.
    unsafe { Dense::read(tensor, |dense| Ok(dense.data())) }
}

/// Another tensor over the memory of a sealed one, which libtorch does not refuse to write: for operations that only
/// read, but ask for a writable pointer.
///
/// `Copies: never.`
///
/// It has the same elements, and a storage of its own, so that the sealed tensor and its views stay sealed. It is in no
/// autograd graph. dlbridge exports it as read-only, as it does the sealed one. Of a tensor that is not sealed it is
/// one more handle.
///
/// ```
/// use dlbridge_core::{Bridge, ReadOnly, Tensor};
/// use dlbridge_tch::unsealed;
///
/// let flags = Tensor::new(vec![true, false], &[2])?.into_read_only();
/// let sealed: ReadOnly<tch::Tensor> = flags.share()?;
/// assert!(sealed.f_max().is_err()); // It asks for a writable pointer to booleans.
/// assert_eq!(sealed.copy().max().int64_value(&[]), 1);
/// // SAFETY: `max` only reads.
/// let max = unsafe { unsealed(&sealed) }?.max();
/// assert_eq!(max.int64_value(&[]), 1);
/// # Ok::<(), dlbridge_core::Error>(())
/// ```
///
/// # Safety
/// Nobody writes the memory through the result, nor through what shares its storage (views, other handles): it is
/// passed only to operations that read it. [The list](crate#read-only-memory) has those that the tests have seen to
/// work on memory pages that cannot be written.
///
/// # Errors
/// As the export: what requires grad is to be detached, and the result may require grad.
pub unsafe fn unsealed(tensor: &tch::Tensor) -> Result<tch::Tensor, Error> {
    // SAFETY: the closure runs no code of others.
    unsafe { Dense::read(tensor, |dense| dense.unseal()) }
}
