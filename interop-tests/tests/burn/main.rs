//! burn's tensors: what is shared, what burn copies before it writes, and what is refused.
//!
//! A letter and a number in front of a test's name stand for a reported fault, as `tests/cases/main.rs` explains.
#![cfg(all(feature = "arrow", feature = "burn", feature = "candle", feature = "ndarray"))]
#![expect(deprecated, reason = "burn has deprecated its backend ndarray; it is still used")]

mod backends;
mod exports;
mod refusals;
mod types;
mod writing;

use std::io::Write;

use burn_flex::{Flex, FlexTensor, Layout};
use burn_ndarray::{NdArray, NdArrayTensor};
use burn_std::{BoolStore, Bytes, DType, Shape, TensorData};
use burn_tensor::{Bool, Device as BurnDevice, Int, Tensor as Burn, activation};
use dlbridge::arrow::arrow_array::{FixedSizeListArray, Float32Array};
use dlbridge::burn::{burn_flex, burn_ndarray, burn_std, burn_tensor, from_host, to_host};
use dlbridge::candle::candle_core::{DType as CandleDType, Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, Axis, Ix2, array};
use dlbridge::{
    Bridge, CopyPolicy, DataType, Descriptor, Device, Element, Error, Exchange, Flags, Import, Reason, Route, Tensor,
};
use half::{bf16, f16};
use interop_tests::raw::{ABIS, Abi, Producer};

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|n| n as f32 * 0.5 - 3.).collect()
}

fn import(producer: Producer, abi: Abi) -> Tensor {
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    unsafe { producer.import(abi) }.unwrap()
}

/// The address of the first element in burn's own primitive.
fn data<const D: usize>(tensor: &Burn<D>) -> *const f32 {
    let primitive = tensor.clone().inner().try_into_primitive::<Flex>().unwrap();
    primitive.bytes().as_ptr().cast::<f32>().wrapping_add(primitive.layout().start_offset())
}

fn elements<const D: usize>(tensor: &Burn<D>) -> Vec<f32> {
    tensor.to_data().to_vec().unwrap()
}
