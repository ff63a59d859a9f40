//! What the benches have in common: times as ratios to a reference that is measured between the samples, so that a noisy
//! machine slows both; and the record of a run, which `report` makes tables and plots of.
//!
//! | module | holds |
//! |---|---|
//! | [`session`] | one bench program: its settings, its groups, its record |
//! | [`group`] | a group of rows measured against one reference |
//! | [`time`] | the timing of a routine, and of one that uses up its input |
//! | [`allocations`] | a global allocator that counts |
//! | [`producer`] | a DLPack producer that costs nothing |
//! | [`record`] | what is written down |

pub mod allocations;
pub mod group;
pub mod producer;
pub mod record;
pub mod session;
pub mod time;

pub use group::Group;
pub use session::{Session, is_measured, run, sizes};
