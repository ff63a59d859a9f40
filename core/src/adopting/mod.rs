//! The adopting allocator: a global allocator that lets a `Vec` own foreign memory.
//!
//! Frameworks that keep their elements in a `Vec`, as candle does, cannot hold foreign memory: dropping the vector
//! gives it to Rust's allocator. An application can install [`Adopting`] as its global allocator. It knows which blocks
//! are foreign, and frees these by dropping their owner instead:
//!
//! ```
//! use dlbridge_core::adopting::{self, Adopting};
//! use std::alloc::System;
//!
//! #[global_allocator]
//! static ALLOCATOR: Adopting<System> = Adopting::new(System);
//!
//! # use dlbridge_core::{Bridge, Tensor};
//! # fn main() -> Result<(), dlbridge_core::Error> {
//! assert!(adopting::is_installed());
//! let tensor = Tensor::new(vec![1f32; 1 << 16].into_boxed_slice(), &[1 << 16])?; // no vector
//! let address = tensor.data();
//! let vec: Vec<f32> = tensor.share()?; // the same memory
//! assert_eq!(vec.as_ptr().cast(), address);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing changes for applications that do not install it. Blocks below [`LEAST`] bytes are never adopted: copying
//! them is as cheap.
//!
//! # What it relies on
//! - [`adopt`] is an allocation method of this allocator, and the vector that it gives is made of memory *of this
//!   allocator*, which is what `Vec::from_raw_parts` asks for. The standard library's documentation does not foresee
//!   allocators with further methods, nor does it rule them out.
//! - The compiler may drop writes to memory that is about to be freed. **What is written through an adopted vector need
//!   not reach the producer**: adopt memory to read it, or to keep it to yourself.
//! - Every deallocation of the process passes through the allocator: for blocks below [`LEAST`] bytes it compares the
//!   size, for larger ones it also reads a counter, and while anything is adopted an entry of a table. Where more than
//!   a thousand blocks are adopted, it reads an entry of a second table, of 4 MiB, so that a million of them slow down
//!   nobody.
//! - It is the outermost allocator, or the allocators around it keep two rules:
//!   1. Whether a block is passed on to it depends on the block's size and alignment alone, and is always the same. All
//!      blocks of more than 512 MiB are treated alike.
//!   2. What is passed on to be freed is not written to: that would overwrite foreign memory.
//!
//!   Both are tried before memory is adopted, once for each size and alignment: an ordinary block like it (of 512 MiB,
//!   if it is larger) is allocated and freed, to see whether it arrives, and both its ends are as they were. Its pages
//!   in between are not touched. What would go elsewhere or be overwritten is not adopted, nor is anything while there
//!   is no memory for such a block. An allocator that decides by the address or by the thread, or that keeps some freed
//!   blocks back, breaks the first rule, and may get through. One that counts blocks counts the freeing of adopted ones
//!   as well.
//! - A child process of `fork` (without `exec`) neither adopts nor frees adopted vectors if other threads were doing so
//!   at the moment of the `fork`.
//!
//! Do not install it in a library (the choice is the application's), and do not adopt memory that somebody else writes
//! meanwhile.
//!
//! # Where the owner is dropped
//! Wherever the vector is freed: on any thread, in destructors of thread-local values, inside another deallocation. No
//! lock is held meanwhile, so that the owner's destructor may allocate, free, and drop adopted vectors itself. If it
//! panics, the process aborts. An owner whose destructor must not run at such a place, because it takes a lock that the
//! freeing thread may hold (Python's, say), is wrapped in [`Deferred`], and let go of by [`release_deferred`]. If one
//! block is adopted several times, freeing any of its vectors drops the owner that came last, so that an owner may keep
//! the memory through a vector that was adopted before it. An adopted vector that is exported and adopted again is such
//! an owner; freeing a chain of many thousands needs a deep stack.

mod allocator;
mod deferred;
mod probe;
mod registry;
mod sync;
mod tensors;

pub use allocator::{adopt, check, Adopting};
pub use deferred::{release_deferred, Deferred};
pub use probe::is_installed;
pub use registry::LEAST;
