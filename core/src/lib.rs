//! The DLPack standard in safe Rust, and the traits that bridge tensor frameworks over it.
//!
//! This crate knows no framework. The adapters are crates of their own (`dlbridge-ndarray`, `dlbridge-candle`,
//! `dlbridge-tch` and others), and the crate `dlbridge` re-exports this one together with them.
//!
//! # Use it
//! [`Bridge`] has the verbs between owned tensors: `share`, `convert` and `route`. [`Lend`] and [`LendMut`] borrow a
//! tensor as a view, and [`Exchange`] translates element types and devices without a tensor. [`Tensor`] owns its
//! memory, [`TensorRef`] and [`TensorMut`] borrow it, and all of them know their [`DataType`], their [`Device`] and
//! their [`layout`].
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
//! # Write an adapter
//! An adapter is a crate that implements four traits for the types of its framework. The [`guide`] goes through them
//! one by one, with a whole adapter as an example.
//!
//! | trait | what it says |
//! |---|---|
//! | [`Export`] | how a tensor of the framework becomes a [`Tensor`]; [`Tensor::from_owner`] makes one over any memory |
//! | [`Import`] | how a [`Tensor`] becomes one of the framework, and whether that takes a copy |
//! | [`View`], [`ViewMut`] | how a tensor is borrowed as a view type of the framework |
//! | [`Interchange`] | which element types and devices the framework's own names stand for |
//!
//! [`by_dtype!`] gives generic code the Rust type that belongs to a [`DataType`] known only at run time. A [`ReadOnly`]
//! value holds read-only memory for a framework whose own type would allow writing.
//!
//! # Speak C
//! [`sys`] has the header's own names and structs. [`Tensor::from_raw`] and [`Tensor::into_raw`] exchange tensors over
//! the versioned ABI (DLPack 1.0 and later), [`Tensor::from_legacy_raw`] and [`Tensor::into_legacy_raw`] over the
//! legacy one. [`Descriptor::from_raw`] checks a struct that somebody else owns. [`Aliased`] is an owned tensor that
//! others may write at any time, as is usual for arrays in Python.
//!
//! # What it promises
//! Foreign memory enters through `unsafe` functions, [`Tensor::from_raw`] and [`Tensor::from_legacy_raw`] above all,
//! whose callers vouch for the memory and for nothing else: every number of the struct is checked. Rust values enter
//! through [`Tensor::new`], or through the adapters' [`Tensor::from_owner`]. From then on everything is safe, and a
//! deleter runs exactly once, on whatever thread drops the tensor. Nothing here panics on what a producer sends: a
//! refusal is an [`Error`], which says what was found, what was expected and what to do. `share` never copies, and
//! every function that copies says so in its documentation, after the word `Copies:`.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

// The modules, from the ground up: each uses only modules that are declared above it.

pub mod sys;

mod types;

mod error;

pub mod layout;

mod copy;

mod tensor;

#[cfg(feature = "adopting")]
pub mod adopting;

mod bridge;

pub mod guide;

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
