//! The framework types of this build.

use super::Peer;
#[cfg(feature = "arrow")]
use super::arrow;
use super::buffers;
#[cfg(feature = "burn")]
use super::burn;
#[cfg(feature = "candle")]
use super::candle;
use super::raw;
#[cfg(feature = "ndarray")]
use super::rust_ndarray;
#[cfg(feature = "tch")]
use super::torch;
use crate::raw::Abi;

/// Every peer of this build.
pub static PEERS: &[&dyn Peer] = &[
    &raw::Raw(Abi::Versioned),
    &raw::Raw(Abi::Legacy),
    &buffers::RustVec,
    #[cfg(feature = "ndarray")]
    &rust_ndarray::Owning,
    #[cfg(feature = "ndarray")]
    &rust_ndarray::Shared,
    #[cfg(feature = "ndarray")]
    &rust_ndarray::Foreign,
    #[cfg(feature = "candle")]
    &candle::Candle,
    #[cfg(feature = "tch")]
    &torch::Plain,
    #[cfg(feature = "tch")]
    &torch::Sealed,
    #[cfg(feature = "burn")]
    &burn::Flex,
    #[cfg(feature = "burn")]
    &burn::NdArray,
    #[cfg(feature = "arrow")]
    &arrow::Lists,
    #[cfg(feature = "arrow")]
    &arrow::Tensors,
    #[cfg(feature = "arrow")]
    &arrow::Batches,
];
