//! Generic code without the bounds that the verbs need.

use dlbridge_core::{Bridge, Error, Tensor};

fn from<T>(source: T) -> Result<Tensor, Error> {
    source.share()
}

fn to<U>(tensor: Tensor) -> Result<U, Error> {
    tensor.share()
}

fn main() {}
