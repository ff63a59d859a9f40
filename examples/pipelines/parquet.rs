//! A Parquet file as tensors, batch by batch, in bounded memory.
//!
//! ```text
//! adapters/tch/libtorch.sh cargo run -p dlbridge-pipelines --example parquet [FILE COLUMN]
//! ```
//!
//! The reader decodes each batch into vectors, and candle takes these over: after decoding, nothing is copied. Without
//! `FILE`, the example first writes a file of 64 floats a row and four plain columns.

use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, PrimitiveArray, RecordBatch};
use arrow_schema::Field;
use dlbridge::arrow::{Batches, Column, Select};
use dlbridge::candle::candle_core::{DType, Tensor as Candle};
use dlbridge::{Bridge, Tensor};
use dlbridge_pipelines::report::{Report, memory, progress};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;

const ROWS: usize = 100_000;
const BATCH: usize = 4096;
const WIDTH: i32 = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = tempfile::tempdir()?;
    let mut report = Report::new(&[
        "selection",
        "first batch",
        "decoded at",
        "candle at",
        "batches shared",
        "copied",
        "because",
        "mean",
    ]);
    match (arguments.next().map(PathBuf::from), arguments.next()) {
        (Some(path), Some(column)) => {
            let column = column.to_str().ok_or("the column's name is no UTF-8")?.to_owned();
            read(&path, Select::column(&column), &[&column], &mut report)?;
        }
        (None, None) => {
            let path = folder.path().join("features.parquet");
            write_features(&path)?;
            // A column of lists, and four plain columns side by side. The latter have to be interleaved, which is a
            // copy.
            read(&path, Select::column("features"), &["features"], &mut report)?;
            let columns = ["x", "y", "z", "t"];
            read(&path, Select::columns(columns), &columns, &mut report)?;
        }
        _ => return Err("expected FILE and COLUMN, or neither".into()),
    }
    println!("{report}");
    if let Some(peak) = memory("VmHWM") {
        println!("most memory in use: {peak} MiB");
    }
    Ok(())
}

/// Reads what is selected as candle tensors, one batch after the other.
fn read(path: &Path, select: Select, names: &[&str], report: &mut Report) -> Result<(), Box<dyn std::error::Error>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let rows = reader.metadata().file_metadata().num_rows();
    let reader = reader.with_batch_size(BATCH).build()?;

    // The address to which the reader has decoded the first column of the first batch.
    let decoded = OnceCell::new();
    let reader = reader.inspect(|batch| {
        let tensor = batch.as_ref().ok().and_then(|batch| Column::of(batch, names[0]).ok()?.share::<Tensor>().ok());
        decoded.get_or_init(|| tensor.map(|tensor| format!("{:p}", tensor.data())).unwrap_or_default());
    });

    let bar = progress(u64::try_from(rows)?, "reading");
    let mut first = None;
    let (mut shared, mut reason, mut copied, mut sum, mut count) = (0, String::new(), 0, 0., 0);
    for tensor in reader.tensors::<Candle>(select) {
        let tensor = tensor?;
        match tensor.copied {
            None => shared += 1,
            Some(why) => (copied, reason) = (copied + 1, why.to_string()),
        }
        let tensor = tensor.value;
        if first.is_none() {
            let data = (&tensor).share::<Tensor>()?.data();
            first = Some((format!("{:?}", tensor.dims()), format!("{data:p}")));
        }
        sum += tensor.to_dtype(DType::F64)?.sum_all()?.to_scalar::<f64>()?;
        count += tensor.elem_count();
        bar.inc(tensor.dim(0)? as u64);
    }
    bar.finish_and_clear();
    let (shape, data) = first.unwrap_or_default();
    let (decoded, mean) = (decoded.into_inner().unwrap_or_default(), format!("{:.4}", sum / count.max(1) as f64));
    report.row(&[&names.join(", "), &shape, &decoded, &data, &shared, &copied, &reason, &mean]);
    Ok(())
}

/// Writes features in one column of lists and in four plain columns.
fn write_features(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let item = Arc::new(Field::new_list_field(arrow_schema::DataType::Float32, false));
    let batch = |start: usize, rows: usize| -> Result<RecordBatch, arrow_schema::ArrowError> {
        let number = |n: usize| ((start + n) % 1000) as f32 / 1000.;
        let values: PrimitiveArray<Float32Type> = (0..rows * WIDTH as usize).map(number).collect::<Vec<_>>().into();
        let lists: ArrayRef = Arc::new(FixedSizeListArray::try_new(item.clone(), WIDTH, Arc::new(values), None)?);
        let plain = |factor: usize| -> ArrayRef {
            Arc::new(Float32Array::from((0..rows).map(|row| number(row * factor)).collect::<Vec<_>>()))
        };
        RecordBatch::try_from_iter([
            ("features", lists),
            ("x", plain(1)),
            ("y", plain(2)),
            ("z", plain(3)),
            ("t", plain(5)),
        ])
    };
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(ROWS / 10)).build();
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch(0, 0)?.schema(), Some(properties))?;
    let bar = progress(ROWS as u64, "writing a file");
    for start in (0..ROWS).step_by(ROWS / 20) {
        writer.write(&batch(start, ROWS / 20)?)?;
        bar.inc(ROWS as u64 / 20);
    }
    writer.close()?;
    bar.finish_and_clear();
    Ok(())
}
