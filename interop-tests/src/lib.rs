//! What the tests share: samples with a reference model, raw C producers, and one [`peer::Peer`] per framework type.
//!
//! | module | holds |
//! |---|---|
//! | [`sample`] | element types, layouts as sequences of operations, and what their elements must be |
//! | [`raw`] | producers in C's terms, of both ABIs, hostile ones included, that count their deleter's calls |
//! | [`peer`] | the view that the matrix has of a framework, and one implementation each |
//! | [`trial`] | one square of the matrix, and how it is judged |
//! | [`publish`] | pages that say what the tests have seen |
//! | [`report`] | the matrix as tables, as data and as a heat map |
//! | [`conformance`] | managed tensors, well-formed and hostile, for any consumer of DLPack to face |

pub mod conformance;
pub mod peer;
pub mod publish;
pub mod raw;
pub mod report;
pub mod sample;
mod square;
pub mod trial;
