//! What the pipelines share: memory-mapped IPC files, and tables of what was shared or copied.

pub mod ipc;
pub mod report;
