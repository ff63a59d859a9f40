//! A memory-mapped Arrow file as candle tensors, without a copy: the adopting allocator at work.
//!
//! ```text
//! cargo run -p dlbridge-pipelines --example mmap_to_candle [FILE [COLUMN]]
//! ```
//!
//! candle's storage is a `Vec`. The allocator that this program installs lets a `Vec` own the pages of the file, which
//! are released when candle frees the last tensor. The file must not be written, so that the tensors are `ReadOnly`:
//! they go wherever candle takes a `&Tensor`. Without `FILE`, the example first writes a file of 768 floats a row.

use std::alloc::System;
use std::time::Instant;

use dlbridge::adopting::Adopting;
use dlbridge::arrow::Column;
use dlbridge::candle::candle_core::{DType, Tensor as Candle};
use dlbridge::{Bridge, ReadOnly, Tensor};
use dlbridge_pipelines::embeddings::{file_and_column, or_first};
use dlbridge_pipelines::ipc::IpcFile;
use dlbridge_pipelines::report::{Report, memory};

#[global_allocator]
static ALLOCATOR: Adopting<System> = Adopting::new(System);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (path, column) = file_and_column(folder.path())?;

    let before = memory("RssAnon");
    let start = Instant::now();
    // SAFETY: nobody writes the file while this example reads it: it is either a temporary one, or whoever names it
    // sees to that.
    let file = unsafe { IpcFile::map(&path) }?;
    let name = or_first(column, &file)?;
    let mut tensors: Vec<ReadOnly<Candle>> = Vec::with_capacity(file.len());
    for batch in file.batches() {
        tensors.push(Column::of(&batch?, &name)?.share()?); // never copies
    }
    let elapsed = start.elapsed();
    println!("{}: {} MiB, column {name:?}", path.display(), file.bytes().len() >> 20);
    println!("{} record batches mapped and adopted by candle in {elapsed:.1?}", tensors.len());
    if let (Some(before), Some(after)) = (before, memory("RssAnon")) {
        println!("memory allocated on the way: {} MiB\n", after.saturating_sub(before));
    }

    let (begin, len) = (file.bytes().as_ptr() as usize, file.bytes().len());
    drop(file); // candle keeps the mapping alive
    let mut report = Report::new(&["batch", "candle has it at", "shape", "mean, computed by candle"]);
    for (index, tensor) in tensors.iter().enumerate() {
        let data = tensor.share::<Tensor>()?.data() as usize;
        assert!((begin..begin + len).contains(&data), "candle reads the file itself");
        let mean = tensor.to_dtype(DType::F64)?.mean_all()?.to_scalar::<f64>()?;
        report.row(&[
            &index,
            &format!("file + {}", data - begin),
            &format!("{:?}", tensor.dims()),
            &format!("{mean:.4}"),
        ]);
    }
    println!("{report}");
    Ok(())
}
