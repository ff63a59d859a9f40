//! An element type whose adapter is not enabled.

use dlbridge_core::{DataType, Exchange};

struct DTypeOfSomeFramework;

fn main() {
    let _ = DataType::FLOAT32.exchange::<DTypeOfSomeFramework>();
}
