//! A memory-mapped Arrow IPC file as tensors of ndarray, libtorch and candle.
//!
//! ```text
//! adapters/tch/libtorch.sh cargo run -p dlbridge-pipelines --example arrow_ipc [FILE [COLUMN]]
//! ```
//!
//! The elements stay in the file: the table gives the place of every tensor as an offset into it. Without `FILE`, the
//! example writes one first, of 768 floats a row. A column that is not aligned in the file, has nulls or holds no
//! numbers is an error that says so.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::types::Float32Type;
use arrow_array::{FixedSizeListArray, PrimitiveArray, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use dlbridge::arrow::Column;
use dlbridge::candle::candle_core::Tensor as Candle;
use dlbridge::ndarray::ndarray::ArrayViewD;
use dlbridge::tch::{data_ptr, tch};
use dlbridge::{Bridge, CopyPolicy, DataType, Lend, ReadOnly, Route, Tensor};
use dlbridge_pipelines::ipc::IpcFile;
use dlbridge_pipelines::report::{Report, memory, progress};

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
    let mut tensors = Vec::with_capacity(file.len());
    for batch in file.batches() {
        tensors.push(Column::of(&batch?, &name)?.share::<ReadOnly<tch::Tensor>>()?);
    }
    let elapsed = start.elapsed();

    println!("{}: {} MiB, column {name:?}\n", path.display(), file.bytes().len() >> 20);
    println!("{} record batches mapped and shared with libtorch in {elapsed:.1?}", tensors.len());
    if let (Some(before), Some(after)) = (before, memory("RssAnon")) {
        println!("memory allocated on the way: {} MiB", after.saturating_sub(before));
    }
    println!();

    let mut report = Report::new(&["batch", "to", "dtype", "shape", "first element at", "how"]);
    for (index, torch) in tensors.iter().enumerate().take(3) {
        let column = Column::of(&file.batch(index)?, &name)?;
        let tensor: Tensor = (&column).share()?;
        let (dtype, shape) = (tensor.dtype(), format!("{:?}", tensor.shape()));
        let place = |data: *const u8| {
            let offset = (data as usize).wrapping_sub(file.bytes().as_ptr() as usize);
            if offset < file.bytes().len() { format!("file + {offset}") } else { "memory of its own".to_owned() }
        };
        let mut row = |to: &str, data, how: &Route| report.row(&[&index, &to, &dtype, &shape, &place(data), how]);
        row("libtorch", data_ptr(torch)?, &Route::Shared);
        if dtype == DataType::FLOAT32 {
            let view: ArrayViewD<'_, f32> = tensor.lend()?;
            row("ndarray view", view.as_ptr().cast(), &Route::Shared);
        }
        // candle holds memory of Rust's allocator only.
        let how = column.route::<Candle>();
        match column.convert_with::<Candle>(CopyPolicy::IfNeeded) {
            Ok(candle) => row("candle", candle.value.share::<Tensor>()?.data(), &how),
            Err(error) => row("candle", std::ptr::null(), &Route::Impossible(error)),
        }
    }
    println!("{report}");
    Ok(())
}

/// Some embeddings, as a vector database would export them.
fn write_embeddings(path: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let item = Arc::new(Field::new_list_field(arrow_schema::DataType::Float32, false));
    let list = arrow_schema::DataType::FixedSizeList(item.clone(), WIDTH);
    let schema = Arc::new(Schema::new(vec![Field::new("embedding", list, false)]));
    let mut writer = FileWriter::try_new(File::create(path)?, &schema)?;
    let bar = progress(BATCHES as u64, "writing a file");
    for batch in 0..BATCHES {
        let number = |n: usize| ((n * 31 + batch * 7) % 1000) as f32 / 1000.;
        let values: PrimitiveArray<Float32Type> = (0..ROWS * WIDTH as usize).map(number).collect::<Vec<_>>().into();
        let lists = FixedSizeListArray::try_new(item.clone(), WIDTH, Arc::new(values), None)?;
        writer.write(&RecordBatch::try_new(schema.clone(), vec![Arc::new(lists)])?)?;
        bar.inc(1);
    }
    writer.finish()?;
    bar.finish_and_clear();
    Ok(path.to_owned())
}
