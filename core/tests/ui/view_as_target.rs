//! A view is borrowed with `lend`, not made with `share`.

use dlbridge_core::{Bridge, Error};

fn main() -> Result<(), Error> {
    vec![1f32].share::<&[f32]>()?;
    Ok(())
}
