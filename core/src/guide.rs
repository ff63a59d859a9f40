//! How to write an adapter: the traits one by one, and a whole adapter as a program.
//!
//! The [program](#the-whole-adapter) at the end adapts a framework that is made up for this guide. Its tensor is called
//! `Grid`: it has an enum of element types, strides that are 0 or more, and clones that share memory, which can be
//! written while there is one handle only. Each section below says what the adapter does for one trait, and why. The
//! names of functions in it are those of the program.
//!
//! An adapter is a crate that depends on the framework and on `dlbridge-core`, with a marker in `lib.rs`, the element
//! types in `dtype.rs`, [`Export`] in `export.rs`, and [`Import`] and [`View`] in `import.rs`.
//!
//! # The marker
//! The traits have a parameter, `Via`, because Rust lets a crate implement another crate's trait for another crate's
//! type only if something in the impl is its own. The marker is that: an empty enum of the adapter, `Grids` here. Each
//! type has the impls of one adapter, so that the compiler infers the marker, and users of the verbs never write it.
//!
//! A generic function of your own has to name it, as a parameter that its callers leave to be inferred: see `total`. A
//! function that converts has one for each side:
//!
//! ```
//! use dlbridge_core::{Bridge, Error, Export, Import, Tensor};
//!
//! fn both<S, D, Out, In>(left: S, right: S) -> Result<[D; 2], Error>
//! where
//!     S: Export<Out>,
//!     D: Import<In>,
//! {
//!     Ok([left.convert()?, right.convert()?])
//! }
//!
//! let [left, right] = both::<_, Tensor, _, _>(vec![1u8], vec![2u8])?;
//! assert_eq!((left.as_slice::<u8>()?, right.as_slice::<u8>()?), (&[1][..], &[2][..]));
//! # Ok::<(), Error>(())
//! ```
//!
//! If a type had two markers, nothing could be inferred: do not implement a trait for a type that another adapter has
//! already.
//!
//! # Element types and devices
//! [`Interchange`] translates the framework's own names, in both directions. It is lossless or an error: a framework
//! without booleans does not read them as bytes. What DLPack lacks is [`Error::Inexpressible`], and what the framework
//! lacks is [`Error::UnsupportedDType`] or [`Error::UnsupportedDevice`]. A framework with devices implements it for its
//! device type, too, with [`Device`] as the standard's side.
//!
//! Frameworks tell element types apart at run time, and Rust at compile time. [`by_dtype!`](crate::by_dtype) leads from
//! one to the other: it evaluates an expression with a name bound to the Rust type. Give it the list of the types that
//! the framework has, in one place (`by_cell!`), so that no two functions can disagree.
//!
//! # Out: `Export`
//! - [`Export::describe`] tells what an export would give, and neither exports nor copies: routes are made of it. The
//!   address, type, lengths and strides go into [`Descriptor::new`], which checks every number. If an export would have
//!   to copy, it also passes the [`Reason`] (a view that borrows: [`Reason::Borrowed`]).
//! - [`Export::export`] hands over the tensor, and never copies. [`Tensor::from_owner`] moves a value that keeps the
//!   memory into the tensor, which drops it at the end, on whatever thread: it is `Send`. Take the framework's own
//!   tensor for it, in a private wrapper (`Exported`), with locks or other guards beside it.
//! - [`Export::export_copy`] makes a row-major copy. [`TensorRef::to_contiguous`] copies what a description describes.
//!
//! **May it be written?** A tensor without [`Flags::READ_ONLY`] belongs to its holder alone: nobody else reads or
//! writes its elements. Ask the framework whether this is the only handle, and pass `READ_ONLY` if it is not. Where the
//! other handles could still *write*, the tensor cannot be shared at all: refuse with [`Reason::NotUnique`], or hold a
//! lock in the owner.
//!
//! **Whose are the gaps?** The elements of a strided tensor have memory between them. [`Tensor::from_owner`] promises
//! of it only that it can be read and that nobody writes it. [`Tensor::from_sole_owner`] promises that the owner has it
//! to itself, too, which is so if this is the only handle to the whole allocation, and not if it is one part of it (see
//! `EverySecond`). Only then does a framework take it, for writing, whose tensors can reach into gaps. If the elements
//! fill their extent, it makes no difference.
//!
//! **Describe it alike.** [`Descriptor::owned_by`] says in a description what [`Tensor::from_owner`] would say in the
//! tensor, and [`Descriptor::solely_owned_by`] what [`Tensor::from_sole_owner`] would: the type of the owner. A plan
//! recognises it by [`Descriptor::is_owned_by`]. Where only the export can know for certain (a count of handles),
//! describe what is likely; [`Bridge::convert`] decides by the exported tensor.
//!
//! # In: `Import`
//! - [`Import::plan`] looks at a description and answers with a [`Route`]: shared, copied and why, or impossible and
//!   why. It checks, in this order, what no copy can mend (the device with [`Descriptor::check_host`], the type),
//!   whether the memory is the framework's own, and what stands in the way of sharing: alignment
//!   ([`Descriptor::check_align`]), strides, rights.
//! - [`Import::import`] begins with that plan, [`Route::require_shared`], and then shares. If [`Tensor::downcast`]
//!   gives the owner back, it is the framework's own value, and nothing is left of the detour. Otherwise the tensor
//!   itself is what keeps the memory: move it to where the framework keeps such things, and let nobody reach it. A
//!   framework that can hold memory of its own allocator only answers [`Reason::ForeignMemory`], and takes vectors with
//!   [`Tensor::into_vec`].
//! - [`Import::import_copy`] copies once: [`TensorRef::to_vec`], [`TensorRef::copy_to_uninit`], or a faster way of the
//!   framework's own.
//!
//! A plan cannot see elements. Bytes from elsewhere need not be booleans: if the framework has booleans of Rust's kind,
//! call [`TensorRef::as_ptr`] with `bool` before it gets them, which checks them unless their owner is known
//! ([`Memory::is_valid`]).
//!
//! **Who may write?** If safe code can write through the framework's type, the type takes only tensors without
//! `READ_ONLY`, and answers [`Reason::ReadOnly`] to others. If it can also reach what lies between the elements (by
//! other strides, or as a slice), it takes only tensors that have their extent to themselves,
//! [`Descriptor::owns_extent`], and answers [`Reason::Gaps`] to others.
//!
//! Implement `Import` for [`ReadOnly`] of the type as well. It takes memory of any kind, and whoever makes one
//! guarantees that no safe use of it writes: clones of the inner value included. Here, the framework itself refuses at
//! run time, because the grid is frozen. A framework whose type cannot write through safe code needs no `ReadOnly`.
//!
//! # Borrowed: `View`
//! [`View`] makes the framework's view of a [`TensorRef`], for [`Lend::lend`]. [`TensorRef::as_ptr`] checks all that
//! reading needs. What remains is what the view type cannot express: another rank, negative strides. [`ViewMut`] is the
//! same for writing, of a [`TensorMut`], which has been checked to be writable and not to overlap.
//!
//! # Errors
//! | what is wrong | error |
//! |---|---|
//! | only a copy would do, and it would | [`Error::CopyRequired`], from [`Route::require_shared`] |
//! | the element type, for a type that knows it at run time, or at compile time | [`Error::UnsupportedDType`], [`Error::DTypeMismatch`] |
//! | the device | [`Error::UnsupportedDevice`], [`Error::DeviceUnavailable`], [`Error::NotOnHost`] |
//! | the number of axes | [`Error::NdimMismatch`] |
//! | anything else that the framework lacks | [`Error::Unsupported`] |
//! | a tensor of the framework that DLPack lacks (sparse, quantized) | [`Error::Inexpressible`] |
//! | a tensor that takes part in automatic differentiation | [`Error::RequiresGrad`] |
//! | a layout that reaches past its storage | [`Error::OutOfStorage`] |
//! | the framework fails by itself | [`Error::Framework`], with its words |
//!
//! Nothing panics on what others send, and nothing is reinterpreted. Each error says what was found, and has a test.
//!
//! # Test it
//! The crate `dlbridge-conformance` has some hundred tensors in both ABIs, well-formed and hostile. Any type with
//! `Import` and `Export` faces them in one test. The second argument names what the type refuses, on its own account:
//!
//! ```ignore
//! assert_conforms(importer::<Grid, _, _>("grid", |case| {
//!     let held = [DataType::UINT8, DataType::INT64, DataType::FLOAT32];
//!     (!held.contains(&case.sample().dtype)).then(|| "no such kind".into())
//! }));
//! ```
//!
//! Run it under AddressSanitizer or Miri, too. Then test what the kit cannot know: that addresses are the same where
//! the route says shared, that nothing writes through `ReadOnly`, and that each axiom about the framework on which a
//! `// SAFETY:` proof rests still holds in its current version.
//!
//! # The whole adapter
//! This is `examples/grid.rs` of this crate.
//!
//! ```
#![doc = include_str!("../examples/grid.rs")]
//! ```

#[cfg(doc)]
use crate::bridge::{Bridge, Export, Import, Interchange, Lend, ReadOnly, Route, View, ViewMut};
#[cfg(doc)]
use crate::error::{Error, Reason};
#[cfg(doc)]
use crate::layout::descriptor::Descriptor;
#[cfg(doc)]
use crate::tensor::{Memory, Tensor, TensorMut, TensorRef};
#[cfg(doc)]
use crate::types::{Device, Flags};
