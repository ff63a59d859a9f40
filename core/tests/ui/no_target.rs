//! A verb whose target type nothing names.

use dlbridge_core::{Bridge, DataType, Error, Exchange, Lend, Tensor};

fn main() -> Result<(), Error> {
    let tensor: Tensor = vec![1f32].share()?;
    tensor.lend()?;
    tensor.share()?;
    DataType::FLOAT32.exchange()?;
    Ok(())
}
