//! A tensor type whose adapter is not enabled, as a target.

use dlbridge_core::Bridge;

struct TensorOfSomeFramework;

fn main() {
    let _ = vec![1f32].convert::<TensorOfSomeFramework>();
}
