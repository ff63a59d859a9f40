//! Subjects that only libtorch has: handles that share a storage, sealed memory, lazy views, and scalar types without a
//! name in tch.
#![cfg(feature = "tch")]

mod handles;
mod memory;
mod operations;
mod proofs;
mod sealed;
mod types;
mod views;

use std::panic::{AssertUnwindSafe, catch_unwind};

use dlbridge::candle::candle_core::{DType, Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{Array2, Ix1, Ix2, array};
use dlbridge::tch::{data_ptr, export_shared, tch};
use dlbridge::{
    Bridge, CopyPolicy, DataType, Device, DeviceType, Element, Error, Exchange, Export, Flags, ReadOnly, Reason, Route,
    Tensor,
};
use interop_tests::raw::{Abi, Producer};
use tch::{IndexOp, Kind, Tensor as Torch};

const CPU: (Kind, tch::Device) = (Kind::Float, tch::Device::Cpu);

fn torch(len: i64) -> Torch {
    Torch::arange(len, CPU)
}

/// A well-formed tensor from C.
fn import(producer: Producer) -> Tensor {
    // SAFETY: over its own memory, which nobody else uses.
    unsafe { producer.import(Abi::Versioned) }.unwrap()
}

fn copy_required<T>(reason: Reason) -> Result<T, Error> {
    Err(Error::CopyRequired { framework: "tch", reason })
}
