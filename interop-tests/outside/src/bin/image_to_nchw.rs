//! The bytes of an image, row by row as a decoder gives them, as a batch for candle and for libtorch.

use std::error::Error;

use dlbridge::ndarray::{Array3, Axis};
use dlbridge::{Bridge, candle, tch};

fn main() -> Result<(), Box<dyn Error>> {
    let (height, width) = (2, 3);
    let pixels: Vec<u8> = (0..18).collect(); // red, green, blue, red, …
    let image = Array3::from_shape_vec((height, width, 3), pixels)?;
    let batch = image.permuted_axes([2, 0, 1]).insert_axis(Axis(0));

    let candle: candle::Tensor = batch.view().convert()?; // one copy, which puts the channels first
    let candle = (candle.to_dtype(candle::DType::F32)? / 255.)?;
    println!("candle: {:?}", candle.dims());
    assert_eq!(candle.dims(), [1, 3, height, width]);

    let torch: tch::Tensor = batch.share()?; // the decoder's own bytes, as a view with strides
    let torch = torch.to_kind(tch::Kind::Float) / 255.;
    println!("libtorch: {:?}", torch.size());
    assert_eq!(torch.double_value(&[0, 1, 1, 2]), f64::from(16f32 / 255.));
    Ok(())
}
