//! A lent view cannot outlive the tensor.

use dlbridge_core::{Bridge, Lend, Tensor};

fn main() {
    let elements: &[f32] = {
        let tensor: Tensor = vec![1f32].share().unwrap();
        tensor.lend().unwrap()
    };
    println!("{elements:?}");
}
