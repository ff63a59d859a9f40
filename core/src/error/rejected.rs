//! A refusal that gives back what was refused, so that nothing is lost.

use super::Error;

/// A value that came back because a conversion was refused, and why.
#[derive(Debug)]
pub struct Rejected<T> {
    /// The value, unchanged.
    pub value: T,
    /// Why it was refused.
    pub error: Error,
}

impl<T> From<Rejected<T>> for Error {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.error
    }
}
