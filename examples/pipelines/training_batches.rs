//! Shuffled mini-batches of embeddings and labels, in candle and in libtorch, from a memory-mapped file.
//!
//! ```text
//! adapters/tch/libtorch.sh cargo run -p dlbridge-pipelines --example training_batches
//! ```
//!
//! The file is mapped, and ndarray reads its columns in place. Shuffling gathers the rows of a mini-batch into a new
//! array, which is the only copy. candle takes that array over, libtorch shares candle's memory, and both train the
//! same classifier on it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{FixedSizeListArray, Int64Array, PrimitiveArray, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use dlbridge::arrow::Column;
use dlbridge::candle::candle_core::{DType, Device, Tensor as Candle, Var};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{Array1, Array2, Ix1, Ix2};
use dlbridge::tch::{data_ptr, tch};
use dlbridge::{Bridge, ReadOnly, Tensor};
use dlbridge_pipelines::ipc::IpcFile;
use dlbridge_pipelines::report::{Report, progress};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng, rngs::StdRng};

const CLASSES: i64 = 4;
const WIDTH: i32 = 64;
const ROWS: usize = 4096;
const PARTS: usize = 4;
const MINI_BATCH: usize = 128;
const EPOCHS: usize = 3;
const RATE: f64 = 0.5;

/// A part of the dataset: the columns of a record batch, which ndarray reads in the mapped file.
struct Part {
    embeddings: Owned<f32, Ix2>,
    labels: Owned<i64, Ix1>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("dataset.arrow");
    let mut random = StdRng::seed_from_u64(1);
    write_dataset(&path, &mut random)?;

    // SAFETY: nobody writes the temporary file.
    let file = unsafe { IpcFile::map(&path) }?;
    let mut parts = Vec::new();
    for batch in file.batches() {
        let batch = batch?;
        let embeddings = Column::of(&batch, "embedding")?.share()?;
        parts.push(Part { embeddings, labels: Column::of(&batch, "label")?.share()? });
    }

    let mut candle = CandleModel::new()?;
    let mut torch = TorchModel::new();
    let mut report = Report::new(&[
        "epoch",
        "mini-batch",
        "gathered at",
        "candle at",
        "libtorch at",
        "candle loss",
        "libtorch loss",
    ]);
    let mut order: Vec<usize> = (0..ROWS * PARTS).collect();
    let bar = progress((EPOCHS * order.len() / MINI_BATCH) as u64, "training");
    for epoch in 0..EPOCHS {
        order.shuffle(&mut random);
        for (index, rows) in order.chunks(MINI_BATCH).enumerate() {
            let (inputs, labels) = gather(&parts, rows);
            let gathered = inputs.as_ptr();
            let (inputs, labels): (Candle, Candle) = (inputs.share()?, labels.share()?);
            let shared: (ReadOnly<tch::Tensor>, ReadOnly<tch::Tensor>) = ((&inputs).share()?, (&labels).share()?);
            let losses = (candle.step(&inputs, &labels)?, torch.step(&shared.0, &shared.1));
            if index == 0 {
                let here: Tensor = (&inputs).share()?;
                let losses = (format!("{:.5}", losses.0), format!("{:.5}", losses.1));
                let at = (format!("{gathered:p}"), format!("{:p}", here.data()), format!("{:p}", data_ptr(&shared.0)?));
                report.row(&[&epoch, &index, &at.0, &at.1, &at.2, &losses.0, &losses.1]);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    println!("{report}");
    let (candle, torch) = (candle.weights.as_detached_tensor().share::<Owned<f32, Ix2>>()?, torch.weights()?);
    let difference = candle.iter().zip(torch.iter()).map(|(one, other)| (one - other).abs()).fold(0., f32::max);
    println!("the weights of the two classifiers differ by at most {difference:.1e}.");
    Ok(())
}

/// The rows of a mini-batch, from whatever parts they are in.
fn gather(parts: &[Part], rows: &[usize]) -> (Array2<f32>, Array1<i64>) {
    let mut inputs = Array2::zeros((rows.len(), WIDTH as usize));
    for (row, mut target) in rows.iter().zip(inputs.rows_mut()) {
        target.assign(&parts[row / ROWS].embeddings.row(row % ROWS));
    }
    let labels = rows.iter().map(|row| parts[row / ROWS].labels[row % ROWS]).collect();
    (inputs, labels)
}

/// A linear classifier in candle.
struct CandleModel {
    weights: Var,
}

impl CandleModel {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Self { weights: Var::zeros((WIDTH as usize, CLASSES as usize), DType::F32, &Device::Cpu)? })
    }

    /// One step of gradient descent on the cross entropy, which it returns.
    fn step(&mut self, inputs: &Candle, labels: &Candle) -> Result<f32, Box<dyn std::error::Error>> {
        let scores = inputs.matmul(&self.weights)?;
        let scores = scores.broadcast_sub(&scores.max_keepdim(1)?.detach())?;
        let log_sum = scores.exp()?.sum_keepdim(1)?.log()?;
        let chosen = scores.broadcast_sub(&log_sum)?.gather(&labels.unsqueeze(1)?, 1)?;
        let loss = chosen.neg()?.mean_all()?;
        let gradients = loss.backward()?;
        let gradient = gradients.get(&self.weights).ok_or("the weights have no gradient")?;
        self.weights.set(&(self.weights.as_tensor() - (gradient * RATE)?)?)?;
        Ok(loss.to_scalar()?)
    }
}

/// The same classifier in libtorch.
struct TorchModel {
    weights: tch::Tensor,
}

impl TorchModel {
    fn new() -> Self {
        let weights = tch::Tensor::zeros([WIDTH.into(), CLASSES], (tch::Kind::Float, tch::Device::Cpu));
        Self { weights: weights.set_requires_grad(true) }
    }

    fn step(&mut self, inputs: &tch::Tensor, labels: &tch::Tensor) -> f64 {
        let loss = inputs.matmul(&self.weights).cross_entropy_for_logits(labels);
        loss.backward();
        tch::no_grad(|| self.weights -= self.weights.grad() * RATE);
        self.weights.zero_grad();
        loss.double_value(&[])
    }

    fn weights(&self) -> Result<Owned<f32, Ix2>, dlbridge::Error> {
        self.weights.detach().copy().share()
    }
}

/// Writes embeddings in four clusters, and the number of the cluster as the label of each.
fn write_dataset(path: &Path, random: &mut StdRng) -> Result<(), Box<dyn std::error::Error>> {
    let item = Arc::new(Field::new_list_field(arrow_schema::DataType::Float32, false));
    let list = arrow_schema::DataType::FixedSizeList(item.clone(), WIDTH);
    let label = Field::new("label", arrow_schema::DataType::Int64, false);
    let schema = Arc::new(Schema::new(vec![Field::new("embedding", list, false), label]));
    let mut writer = FileWriter::try_new(File::create(path)?, &schema)?;
    for _ in 0..PARTS {
        let labels: Vec<i64> = (0..ROWS).map(|_| random.random_range(0..CLASSES)).collect();
        let values = labels.iter().flat_map(|label| (0..WIDTH).map(move |axis| (*label, axis)));
        let values: Vec<f32> = values
            .map(|(label, axis)| random.random_range(-1f32..1.) + if axis as i64 % CLASSES == label { 0.2 } else { 0. })
            .collect();
        let values: PrimitiveArray<Float32Type> = values.into();
        let lists = FixedSizeListArray::try_new(item.clone(), WIDTH, Arc::new(values), None)?;
        writer
            .write(&RecordBatch::try_new(schema.clone(), vec![Arc::new(lists), Arc::new(Int64Array::from(labels))])?)?;
    }
    writer.finish()?;
    Ok(())
}
