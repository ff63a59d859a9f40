//! The bridge between frameworks: the traits that adapters implement, the verbs that users call, and the core's own
//! adapter.
//!
//! Every trait has a marker parameter `Via`, an empty enum of the adapter. It lets a crate that owns neither the trait
//! nor the framework's type implement the one for the other, and it is always inferred, because each type has exactly
//! one marker.

mod buffers;
mod exchange;
mod read_only;
mod route;
mod traits;
mod verbs;

pub use buffers::Core;
pub use exchange::{Exchange, Interchange};
pub use read_only::ReadOnly;
pub use route::{Converted, CopyPolicy, Route};
pub use traits::{Export, Import, View, ViewMut};
pub use verbs::{Bridge, Lend, LendMut};
