//! The conformance kit: managed tensors of every kind, well-formed and hostile, for any consumer of DLPack to face.
//!
//! These are some hundred [cases], each in both ABIs. The elements of a well-formed tensor must arrive, unless the
//! consumer [declares](Consumer::limit) that it refuses such tensors. A malformed tensor must be refused. In every
//! case, the deleter must run exactly once. Crashes, leaks and reads outside the memory are found if the trials run
//! under sanitizers.
//!
//! # An adapter of dlbridge
//! A type that has `Import` and `Export` faces the kit as an [`importer`], in one test:
//!
//! ```
//! use dlbridge_conformance::{assert_conforms, importer};
//! use dlbridge_core::Tensor; // stands for the adapter's type
//!
//! assert_conforms(importer::<Tensor, _, _>("tensor", |_case| None));
//! ```
//!
//! The core's own tensor refuses nothing. A type without booleans has a limit, which reads
//! `(case.sample().dtype == DataType::BOOL).then(|| "no booleans".into())`.
//!
//! # Any other library
//! A library implements [`Consumer`], which takes a few lines. [`Managed`] has the raw pointer, as C has it: the
//! structs in [`dlbridge_core::sys`] are those of DLPack's header, and so a pointer can be cast to a library's own
//! declaration of them. [`assert_conforms`] takes any consumer; a program that also lists the trials, filters them by
//! name and runs them side by side takes the crate `libtest-mimic`, and `harness = false` in the manifest:
//!
//! ```
//! use std::borrow::Cow;
//! use std::process::ExitCode;
//!
//! use dlbridge_conformance::{trials, Case, Consumer, Managed, Read};
//! use libtest_mimic::{Arguments, Trial};
//!
//! struct Reader;
//!
//! impl Consumer for Reader {
//!     fn name(&self) -> &str {
//!         "reader"
//!     }
//!
//!     // The library under test is `dlbridge_core` itself; yours takes the pointer in `managed`.
//!     fn consume(&self, managed: Managed) -> Result<Read, String> {
//!         // SAFETY: the kit's tensors are what they claim, as far as they are acceptable.
//!         let tensor = unsafe { managed.import() }.map_err(|error| error.to_string())?;
//!         if tensor.dtype().is_sub_byte() {
//!             return Err("parts of bytes".into());
//!         }
//!         let bytes = tensor.view().to_bytes().map_err(|error| error.to_string())?;
//!         Ok(Read { shape: tensor.shape().to_vec(), bytes, keep: Box::new(tensor) })
//!     }
//!
//!     // What the library refuses, and says so.
//!     fn limit(&self, case: &Case) -> Option<Cow<'static, str>> {
//!         case.sample().dtype.is_sub_byte().then(|| "parts of bytes".into())
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     let trials = trials(Reader).into_iter();
//!     let tests = trials.map(|trial| Trial::test(trial.to_string(), move || Ok(trial.run()?))).collect();
//!     libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
//! }
//! ```
//!
//! # What is in it
//! [`raw`] has the producers of the tensors, and [`sample`] the layouts and an independent model of the elements; both
//! serve tests of other kinds as well.

mod cases;
mod importer;
mod judge;
pub mod raw;
pub mod sample;

pub use cases::{Case, Verdict, cases};
pub use importer::importer;
pub use judge::{Consumer, Read, Trial, assert_conforms, judge, trials};
pub use raw::Managed;
