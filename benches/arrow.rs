//! What it costs to make tensors of Arrow columns: to map a file, against reading it, and to make columns row-major.

use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use dlbridge::arrow::Column;
use dlbridge::arrow::arrow_array::cast::AsArray;
use dlbridge::arrow::arrow_array::types::Float32Type;
use dlbridge::arrow::arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch};
use dlbridge::arrow::arrow_buffer::ScalarBuffer;
use dlbridge::arrow::arrow_schema::{DataType, Field, Schema};
use dlbridge::ndarray::ndarray::{Array2, ArrayView2};
use dlbridge::tch::tch::{self, Kind, Tensor as Torch};
use dlbridge::{Bridge, Lend, ReadOnly, Tensor};
use dlbridge_benches::{Group, Session, is_measured, run};
use dlbridge_pipelines::ipc::IpcFile;

const WIDTH: i32 = 768;
/// The number of record batches in the file, of 256 MiB in all.
const BATCHES: usize = 8;
fn batch_rows() -> usize {
    let bytes = if is_measured() { 1 << 28 } else { 1 << 20 };
    bytes / BATCHES / (4 * WIDTH as usize)
}

fn write(path: &Path) {
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::FixedSizeList(item.clone(), WIDTH), false)]));
    let mut writer = FileWriter::try_new(File::create(path).expect("a file"), &schema).expect("a schema");
    for batch in 0..BATCHES {
        let values = Float32Array::from(vec![batch as f32; batch_rows() * WIDTH as usize]);
        let lists = FixedSizeListArray::new(item.clone(), WIDTH, Arc::new(values), None);
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(lists)]).expect("one column");
        writer.write(&batch).expect("room on the disk");
    }
    writer.finish().expect("room on the disk");
}

/// Each call opens, maps and parses the file, and shares its columns as tensors.
fn mapped_file(session: &mut Session) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lists.arrow");
    write(&path);
    let columns = || {
        // SAFETY: nobody writes the temporary file.
        let file = unsafe { IpcFile::map(&path) }.expect("an IPC file");
        file.batches().map(|batch| Column::of(&batch.expect("a batch"), "x").expect("a column")).collect::<Vec<_>>()
    };
    let mut group = Group::among_themselves(session, "an IPC file of 256 MiB, FixedSizeList<f32, 768>").briefly();
    group.bench("opened, to ndarray", "dlbridge, mapped", || {
        for column in columns() {
            let tensor: Tensor = column.share().expect("numbers");
            let view: ArrayView2<'_, f32> = tensor.lend().expect("two axes");
            black_box(view[[0, 0]]);
        }
    });
    group.bench("opened, to libtorch", "dlbridge, mapped", || {
        let tensors = columns().into_iter().map(|column| column.share::<ReadOnly<Torch>>());
        tensors.collect::<Result<Vec<_>, _>>().expect("numbers")
    });
    let read = || FileReader::try_new(BufReader::new(File::open(&path).expect("a file")), None).expect("an IPC file");
    group.bench("opened, to ndarray", "FileReader, copied", || {
        let copy = |batch: RecordBatch| {
            let values = batch.column(0).as_fixed_size_list().values().as_primitive::<Float32Type>().values().to_vec();
            Array2::from_shape_vec((batch.num_rows(), WIDTH as usize), values).expect("a matrix")
        };
        read().map(|batch| copy(batch.expect("a batch"))).collect::<Vec<_>>()
    });
    group.bench("opened, to libtorch", "FileReader, copied", || {
        let copy = |batch: RecordBatch| {
            let values = batch.column(0).as_fixed_size_list().values().as_primitive::<Float32Type>().values().clone();
            Torch::from_slice(&values).reshape([batch.num_rows() as i64, WIDTH.into()])
        };
        read().map(|batch| copy(batch.expect("a batch"))).collect::<Vec<_>>()
    });
}

const COLUMNS: usize = 64;

fn batch(column: impl Fn(usize) -> ScalarBuffer<f32>) -> RecordBatch {
    let fields: Vec<Field> = (0..COLUMNS).map(|i| Field::new(i.to_string(), DataType::Float32, false)).collect();
    let columns = (0..COLUMNS).map(|i| Arc::new(Float32Array::new(column(i), None)) as ArrayRef).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("equal columns")
}

fn rows() -> usize {
    if is_measured() { 1 << 20 } else { 1 << 10 }
}

/// Columns become a row-major matrix in one pass over memory, against the other libraries on the same memory.
fn row_major(session: &mut Session) {
    let all = ScalarBuffer::from((0..rows() * COLUMNS).map(|n| n as f32).collect::<Vec<_>>());
    let one_buffer = batch(|i| all.slice(i * rows(), rows()));
    let buffers = batch(|i| all[i * rows()..(i + 1) * rows()].to_vec().into());
    let tensor: Tensor = (&one_buffer).share().expect("equally spaced");
    let array: ArrayView2<'_, f32> = tensor.lend().expect("two axes");
    let torch: ReadOnly<Torch> = (&one_buffer).share().expect("equally spaced");

    let mut group = Group::against_memcpy(session, "64 f32 columns of 1M rows made row-major").briefly();
    group.bytes(4 * all.len());
    group.bench("of one buffer", "dlbridge", || (&one_buffer).convert::<Vec<f32>>());
    group.bench("of a buffer a column", "dlbridge", || (&buffers).convert::<Vec<f32>>());
    group.bench("of one buffer", "ndarray", || array.as_standard_layout().into_owned());
    group.bench("of one buffer", "libtorch", || {
        let mut copy = Torch::empty([rows() as i64, COLUMNS as i64], (Kind::Float, tch::Device::Cpu));
        copy.copy_(&torch);
        copy
    });
}

fn main() {
    run("arrow", &[row_major, mapped_file]);
}
