//! The DLPack standard in safe Rust, and the traits that bridge tensor frameworks over it.
//!
//! | module | holds |
//! |---|---|
//! | [`sys`] | the C header: names, structs, constants |
//! | [`DataType`], [`Device`], [`Flags`] | its integers as open Rust types that print and parse |
//! | [`layout`] | the arithmetic of shapes and strides |
//! | [`Descriptor`], [`TensorRef`], [`TensorMut`] | borrowed tensors: checked once, then free to use |
//! | [`Tensor`] | the owned tensor, both ABIs in and out |
//! | [`Aliased`] | the owned tensor that others may write at any time, as in Python |
//! | [`Export`], [`Import`], [`View`] | what an adapter implements |
//! | [`Bridge`], [`Lend`], [`Exchange`] | what users call |
//!
//! No framework is known here; the adapters are crates of their own (`dlbridge-ndarray`, `dlbridge-candle`,
//! `dlbridge-tch`), and `dlbridge` re-exports them.
//!
//! ```
//! use dlbridge_core::{Bridge, Lend, Tensor};
//!
//! let mut tensor = Tensor::new(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
//! tensor.as_mut_slice::<f32>()?[0] = 7.0;
//! assert_eq!(tensor.view().get::<f32>(&[1, 2])?, 6.0);
//! let elements: &[f32] = tensor.lend()?;
//! assert_eq!(elements[0], 7.0);
//! let vec: Vec<f32> = tensor.share()?; // the vector that it was made from
//! # assert_eq!(vec.len(), 6);
//! # Ok::<(), dlbridge_core::Error>(())
//! ```
//!
//! # Soundness
//! Foreign memory enters through `unsafe` functions, [`Tensor::from_raw`] and [`Tensor::from_legacy_raw`] above all, whose
//! callers vouch for the memory and for nothing else: every number of the struct is checked. Rust values enter through
//! [`Tensor::new`], or through the adapters' [`Tensor::from_owner`]. From then on all is safe, and a deleter runs exactly
//! once, on whatever thread drops the tensor.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

// The rooms, from the ground up: each uses those above it here, and none below.

pub mod sys;

mod types;

mod error;

pub mod layout;

mod copy;

mod tensor;

#[cfg(feature = "adopting")]
pub mod adopting;

mod bridge;

pub use bridge::{
    Bridge, Converted, CopyPolicy, Core, Exchange, Export, Import, Interchange, Lend, LendMut, ReadOnly, Route, View,
    ViewMut,
};
pub use copy::Elements;
pub use error::{Error, Excerpt, Reason, Rejected};
pub use layout::descriptor::Descriptor;
pub use tensor::{Aliased, Buffer, Memory, Tensor, TensorMut, TensorRef};
#[doc(hidden)]
pub use types::element_types as __types;
pub use types::{DataType, DataTypeCode, Device, DeviceType, Element, Flags};
