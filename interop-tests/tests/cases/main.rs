//! Faults that users of other tensor libraries reported, as small inputs with the outcome that is right here.
//!
//! A letter and a number in front of a test's name stand for such a fault. The letter is the subject: A strides, B
//! empty and scalar tensors, C offset and alignment, D lifetime and threads, E element types, F mutability, G device
//! and version, H Arrow, I hostile producers; n and m are later ones, of all subjects. The rules of contiguity (A2 –
//! A4, A9, A10, A13) are tested in `dlbridge_core::layout`.
#![cfg(all(feature = "ndarray", feature = "candle"))]

#[cfg(feature = "arrow")]
mod columns;
mod dtypes;
mod hostile;
mod images;
mod lifetimes;
mod originals;
mod shapes;
mod strides;
mod waiting;
mod writing;

use std::ptr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use dlbridge::candle::candle_core::{DType, Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{
    ArcArray1, Array1, Array2, ArrayD, ArrayView1, ArrayView2, ArrayViewD, ArrayViewMut2, Ix1, Ix2, Ix3, array,
};
use dlbridge::{
    Bridge, CopyPolicy, DataType, DataTypeCode, Descriptor, Device, DeviceType, Error, Exchange, Flags, Lend, LendMut,
    Memory, Reason, Rejected, Route, Tensor, TensorMut, TensorRef,
};
use half::bf16;
use interop_tests::raw::{ABIS, Abi, Calls, Producer};

/// Imports a producer. Its claims must be true, or such that they are refused before they are used.
fn import(producer: Producer, abi: Abi) -> Result<Tensor, Error> {
    // SAFETY: either the producer is well-formed over its own memory, or its numbers are what the test wants refused.
    unsafe { producer.import(abi) }
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|number| number as f32).collect()
}

/// A tensor over `0.0, 1.0, …`, and its deleter's counter.
fn strided(shape: &[i64], strides: &[i64], len: usize) -> (Tensor, Calls) {
    let producer = Producer::f32(shape, &numbers(len)).strides(strides);
    let calls = producer.calls();
    (import(producer, Abi::Versioned).unwrap(), calls)
}
