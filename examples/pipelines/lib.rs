//! What the pipelines share: memory-mapped IPC files, one to try them on, and tables of what was shared or copied.

pub mod embeddings;
pub mod ipc;
pub mod report;
