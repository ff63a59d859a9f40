//! A memory-mapped Arrow IPC file as tensors of ndarray, libtorch and candle.
//!
//! ```text
//! adapters/tch/libtorch.sh cargo run -p dlbridge-pipelines --example arrow_ipc [FILE [COLUMN]]
//! ```
//!
//! The elements stay in the file: the table gives the position of every tensor as an offset into the file. Without
//! `FILE`, the example first writes a file of 768 floats a row. A column that is not aligned in the file, has nulls or
//! holds no numbers is an error that says so.

use std::time::Instant;

use dlbridge::arrow::Column;
use dlbridge::candle::candle_core::Tensor as Candle;
use dlbridge::ndarray::ndarray::ArrayViewD;
use dlbridge::tch::{data_ptr, tch};
use dlbridge::{Bridge, CopyPolicy, DataType, Lend, ReadOnly, Route, Tensor};
use dlbridge_pipelines::embeddings::{file_and_column, or_first};
use dlbridge_pipelines::ipc::IpcFile;
use dlbridge_pipelines::report::{Report, memory};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (path, column) = file_and_column(folder.path())?;

    let before = memory("RssAnon");
    let start = Instant::now();
    // SAFETY: nobody writes the file while this example reads it: it is either a temporary one, or whoever names it
    // sees to that.
    let file = unsafe { IpcFile::map(&path) }?;
    let name = or_first(column, &file)?;
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
        // candle can hold only memory that Rust allocated.
        let how = column.route::<Candle>();
        match column.convert_with::<Candle>(CopyPolicy::IfNeeded) {
            Ok(candle) => row("candle", candle.value.share::<Tensor>()?.data(), &how),
            Err(error) => row("candle", std::ptr::null(), &Route::Impossible(error)),
        }
    }
    println!("{report}");
    Ok(())
}
