//! A safetensors file, read by candle and computed with by libtorch, in the same memory.

use std::collections::HashMap;
use std::error::Error;
use std::{env, fs, process};

use dlbridge::{Bridge, ReadOnly, candle, tch};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::temp_dir().join(format!("outside-{}.safetensors", process::id()));
    let weight = candle::Tensor::arange(0f32, 6., &candle::Device::Cpu)?.reshape((2, 3))?;
    candle::safetensors::save(&HashMap::from([("weight", weight)]), &path)?;

    for (name, tensor) in candle::safetensors::load(&path, &candle::Device::Cpu)? {
        let torch: ReadOnly<tch::Tensor> = tensor.share()?;
        let sum = torch.sum(tch::Kind::Float).double_value(&[]);
        println!("{name}: {:?}, the sum is {sum}", torch.size());
        assert_eq!((torch.size(), sum), (vec![2, 3], 15.));
    }
    Ok(fs::remove_file(path)?)
}
