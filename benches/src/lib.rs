//! What the benches have in common. Times are also given as ratios to a reference, which is measured between the
//! samples, so that other load on the machine slows both. A run leaves a record, of which `report` makes tables and
//! plots.
//!
//! | module | holds |
//! |---|---|
//! | [`session`] | one bench program: its settings, its groups, its record |
//! | [`group`] | a group of rows measured against one reference |
//! | [`time`] | the timing of routines, also of those that consume their input |
//! | [`allocations`] | a global allocator that counts |
//! | [`producer`] | a DLPack producer that costs nothing |
//! | [`record`] | the record of a run |

pub mod allocations;
pub mod group;
pub mod producer;
pub mod record;
pub mod session;
pub mod time;

pub use group::Group;
pub use session::{Session, is_measured, run, sizes};
