//! Element types that tensors do not have.

use dlbridge_core::{Bridge, Error, Tensor};

fn main() -> Result<(), Error> {
    let _: Tensor = vec![1usize].share()?;
    let tensor = Tensor::new(vec![[1f32, 2., 3.]], &[1, 3])?;
    tensor.as_slice::<[f32; 3]>()?;
    Ok(())
}
