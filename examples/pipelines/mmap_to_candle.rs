//! A memory-mapped Arrow file as candle tensors, without a copy: the adopting allocator at work.
//!
//! ```text
//! cargo run -p dlbridge-pipelines --example mmap_to_candle [FILE [COLUMN]]
//! ```
//!
//! candle's storage is a `Vec`. The allocator that this program installs lets a `Vec` own the pages of the file; they are
//! let go of when candle frees the last tensor. The tensors are sealed: candle reads them, and writes in place to none.
//! Without `FILE`, the example writes one first, of 768 floats a row.

use std::alloc::System;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{FixedSizeListArray, Float32Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use dlbridge::adopting::Adopting;
use dlbridge::arrow::Column;
use dlbridge::candle::candle_core::{DType, Tensor as Candle};
use dlbridge::{Bridge, Tensor};
use dlbridge_pipelines::ipc::IpcFile;
use dlbridge_pipelines::report::{Report, memory, progress};

#[global_allocator]
static ALLOCATOR: Adopting<System> = Adopting::new(System);

const BATCHES: usize = 8;
const ROWS: usize = 2_500;
const WIDTH: i32 = 768;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (given, column) = (arguments.next().map(PathBuf::from), arguments.next());
    let folder = tempfile::tempdir()?;
    let path = match given {
        Some(path) => path,
        None => write_embeddings(&folder.path().join("embeddings.arrow"))?,
    };

    let before = memory("RssAnon");
    let start = Instant::now();
    // SAFETY: nobody writes the file while this example reads it: it is either a temporary one, or whoever names it
    // sees to that.
    let file = unsafe { IpcFile::map(&path) }?;
    let name = match &column {
        Some(name) => name.to_str().ok_or("the column's name is no UTF-8")?.to_owned(),
        None => file.schema().fields().first().ok_or("the file has no columns")?.name().clone(),
    };
    let mut tensors: Vec<Candle> = Vec::with_capacity(file.len());
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

/// Some embeddings, as a vector database would export them.
fn write_embeddings(path: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    let list = DataType::FixedSizeList(item.clone(), WIDTH);
    let schema = Arc::new(Schema::new(vec![Field::new("embedding", list, false)]));
    let mut writer = FileWriter::try_new(File::create(path)?, &schema)?;
    let bar = progress(BATCHES as u64, "writing a file");
    for batch in 0..BATCHES {
        let number = |n: usize| ((n * 31 + batch * 7) % 1000) as f32 / 1000.;
        let values = Float32Array::from((0..ROWS * WIDTH as usize).map(number).collect::<Vec<_>>());
        let lists = FixedSizeListArray::try_new(item.clone(), WIDTH, Arc::new(values), None)?;
        writer.write(&RecordBatch::try_new(schema.clone(), vec![Arc::new(lists)])?)?;
        bar.inc(1);
    }
    writer.finish()?;
    bar.finish_and_clear();
    Ok(path.to_owned())
}
