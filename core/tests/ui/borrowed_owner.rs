//! A tensor owns its memory: what borrows from the stack cannot be exported.

use dlbridge_core::Tensor;

fn main() {
    let tensor = {
        let elements = [1f32, 2.0];
        Tensor::new(&elements[..], &[2])
    };
    println!("{tensor:?}");
}
