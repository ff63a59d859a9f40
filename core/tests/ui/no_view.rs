//! A view type whose adapter is not enabled.

use dlbridge_core::{Lend, Tensor};

struct ViewOfSomeFramework;

fn look(tensor: &Tensor) {
    let _ = tensor.lend::<ViewOfSomeFramework>();
}

fn main() {}
