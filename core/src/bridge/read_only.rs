//! A value that shares memory which must not be written.

use core::fmt;
use core::ops::Deref;

/// A framework's tensor over read-only memory, for frameworks whose own type would allow writing.
///
/// Reading works as usual, through [`Deref`]. Whoever makes such a value guarantees that no *safe* use of the inner
/// value writes: an adapter either relies on its framework's types or has the framework itself refuse at run time, and
/// says which.
pub struct ReadOnly<T>(T);

impl<T> ReadOnly<T> {
    /// Wraps a value that shares read-only memory.
    ///
    /// # Safety
    /// No safe operation on `&T`, and on what such operations return, writes the shared memory.
    pub unsafe fn new(value: T) -> Self {
        Self(value)
    }

    /// The plain value.
    ///
    /// # Safety
    /// The memory must not be written through the value, nor through anything made from it, while anybody shares it.
    pub unsafe fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for ReadOnly<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadOnly<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadOnly").field(&self.0).finish()
    }
}
