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

#[path = "tensor/abi.rs"]
mod abi;
#[cfg(feature = "adopting")]
#[path = "adopting/allocator.rs"]
pub mod adopting;
#[path = "tensor/aliased.rs"]
mod aliased;
#[path = "bridge/verbs.rs"]
mod bridge;
#[path = "bridge/buffers.rs"]
mod buffers;
#[path = "layout/descriptor.rs"]
mod descriptor;
#[path = "types/device.rs"]
mod device;
#[path = "layout/dims.rs"]
mod dims;
#[path = "types/dtype.rs"]
mod dtype;
#[path = "types/element.rs"]
mod element;
#[path = "copy/elements.rs"]
mod elements;
mod error;
#[path = "bridge/exchange.rs"]
mod exchange;
#[path = "types/flags.rs"]
mod flags;
#[path = "layout/rules.rs"]
pub mod layout;
#[path = "tensor/owner.rs"]
mod owner;
#[path = "bridge/read_only.rs"]
mod read_only;
#[path = "copy/relayout.rs"]
mod relayout;
#[path = "bridge/route.rs"]
mod route;
#[path = "copy/stack.rs"]
mod stack;
pub mod sys;
#[path = "tensor/owned.rs"]
mod tensor;
#[path = "tensor/view.rs"]
mod view;

pub use aliased::Aliased;
pub use bridge::{Bridge, Export, Import, Lend, LendMut, View, ViewMut};
pub use buffers::Core;
pub use descriptor::Descriptor;
pub use device::{Device, DeviceType};
pub use dtype::{DataType, DataTypeCode};
pub use element::Element;
pub use elements::Elements;
pub use error::{Error, Excerpt};
pub use exchange::{Exchange, Interchange};
pub use flags::Flags;
pub use owner::{Buffer, Memory};
pub use read_only::ReadOnly;
pub use route::{Converted, CopyPolicy, Reason, Route};
pub use tensor::{Rejected, Tensor};
pub use view::{TensorMut, TensorRef};
