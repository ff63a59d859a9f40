//! What owns its elements is made with `share`, not borrowed with `lend`.

use dlbridge_core::{Error, Lend, LendMut, Tensor};

fn look(tensor: &mut Tensor) -> Result<(), Error> {
    tensor.lend::<Vec<f32>>()?;
    tensor.lend_mut::<Vec<f32>>()?;
    Ok(())
}

fn main() {}
