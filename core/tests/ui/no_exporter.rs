//! A tensor type whose adapter is not enabled, as a source.

use dlbridge_core::Bridge;

struct TensorOfSomeFramework;

fn main() {
    let _ = TensorOfSomeFramework.share::<Vec<f32>>();
}
