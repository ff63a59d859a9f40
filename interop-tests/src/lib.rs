//! What the tests share: the conformance kit's samples and raw C producers, and one [`peer::Peer`] per framework type.
//!
//! | module | holds |
//! |---|---|
//! | [`sample`] | element types, layouts as sequences of operations, and what their elements must be |
//! | [`raw`] | managed tensors as C has them, of both ABIs, hostile ones included, with a counted deleter |
//! | [`peer`] | what the matrix asks of a framework type, implemented for each |
//! | [`trial`] | tests of one source, target and sample, and of journeys over several framework types |
//! | [`publish`] | pages of the repository whose text the tests produce |
//! | [`report`] | the matrix as tables, as data and as a heat map |

pub mod peer;
pub mod publish;
pub mod report;
mod square;
pub mod trial;

pub use dlbridge_conformance::{raw, sample};
