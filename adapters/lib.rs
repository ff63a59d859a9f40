#![cfg_attr(all(feature = "arrow", feature = "burn", feature = "candle", feature = "tch", feature = "ndarray"), doc = include_str!("../README.md"))]
#![cfg_attr(
    not(all(feature = "arrow", feature = "burn", feature = "candle", feature = "tch", feature = "ndarray")),
    doc = "Zero-copy tensors between Rust's ML frameworks over DLPack: [`Bridge`] has the verbs."
)]
#![no_std]
#![forbid(unsafe_code)]

pub use dlbridge_core::*;

#[cfg(feature = "arrow")]
pub use dlbridge_arrow as arrow;
#[cfg(any(feature = "burn", feature = "burn-ndarray"))]
pub use dlbridge_burn as burn;
#[cfg(feature = "candle")]
pub use dlbridge_candle as candle;
#[cfg(feature = "ndarray")]
pub use dlbridge_ndarray as ndarray;
#[cfg(feature = "python")]
pub use dlbridge_python as python;
#[cfg(feature = "tch")]
pub use dlbridge_tch as tch;
