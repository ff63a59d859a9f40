//! A burn model fed from the columns of a memory-mapped Arrow file.
//!
//! ```text
//! cargo run -p dlbridge-pipelines --example arrow_to_burn
//! ```
//!
//! Features and targets stay in the file: burn reads them there, batch by batch, and fits a linear model with its own
//! automatic differentiation.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{FixedSizeListArray, Float32Array, PrimitiveArray, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use dlbridge::arrow::Column;
use dlbridge::burn::burn_flex::Flex;
use dlbridge::burn::burn_tensor::{Device, Tensor as Burn};
use dlbridge::{Bridge, Tensor};
use dlbridge_pipelines::ipc::IpcFile;
use dlbridge_pipelines::report::{Report, progress};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const FEATURES: i32 = 16;
const ROWS: usize = 4096;
const BATCHES: usize = 4;
const EPOCHS: usize = 30;
const RATE: f32 = 0.3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("samples.arrow");
    write_samples(&path)?;
    // SAFETY: nobody writes the temporary file.
    let file = unsafe { IpcFile::map(&path) }?;

    let mut report = Report::new(&["batch", "column", "shape", "in the file at", "burn has it at"]);
    let mut samples = Vec::new();
    for (index, batch) in file.batches().enumerate() {
        let batch = batch?;
        let features: Burn<2> = Column::of(&batch, "features")?.share()?;
        let target: Burn<1> = Column::of(&batch, "target")?.share()?;
        for (name, shape, data) in [
            ("features", format!("{:?}", features.dims()), address(&features)?),
            ("target", format!("{:?}", target.dims()), address(&target)?),
        ] {
            let offset = (data as usize).wrapping_sub(file.bytes().as_ptr() as usize);
            assert!(offset < file.bytes().len(), "burn reads the file itself");
            report.row(&[&index, &name, &shape, &offset, &format!("{data:p}")]);
        }
        samples.push((features.autodiff(), target.unsqueeze_dim::<2>(1).autodiff()));
    }
    println!("{report}");

    let mut weights = Burn::<2>::zeros([FEATURES as usize, 1], &Device::flex().autodiff()).require_grad();
    let (mut first, mut last) = (None, 0.);
    let bar = progress((EPOCHS * BATCHES) as u64, "fitting");
    for (features, target) in samples.iter().cycle().take(EPOCHS * BATCHES) {
        let error = features.clone().matmul(weights.clone()) - target.clone();
        let loss = (error.clone() * error).mean();
        let gradients = loss.backward();
        last = loss.into_scalar::<f32>();
        first.get_or_insert(last);
        let gradient = weights.grad(&gradients).ok_or("the weights have no gradient")?;
        weights = (weights.inner() - gradient * RATE).autodiff().require_grad();
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!("mean squared error: {:.4} at first, {last:.4} after {EPOCHS} epochs", first.unwrap_or_default());
    Ok(())
}

/// The address of the first element in burn's own primitive.
fn address<const D: usize>(tensor: &Burn<D>) -> Result<*const u8, Box<dyn std::error::Error>> {
    let primitive = tensor.clone().try_into_primitive::<Flex>().map_err(|error| format!("{error:?}"))?;
    let shared: Tensor = (&primitive).share()?;
    assert_eq!(
        shared.data(),
        primitive.bytes()[primitive.layout().start_offset() * primitive.dtype().size()..].as_ptr()
    );
    Ok(shared.data())
}

/// Writes features, and a target that is a linear function of them with some noise.
fn write_samples(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = StdRng::seed_from_u64(7);
    let truth: Vec<f32> = (0..FEATURES).map(|_| random.random_range(-1f32..1.)).collect();
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    let list = DataType::FixedSizeList(item.clone(), FEATURES);
    let fields = vec![Field::new("features", list, false), Field::new("target", DataType::Float32, false)];
    let schema = Arc::new(Schema::new(fields));
    let mut writer = FileWriter::try_new(File::create(path)?, &schema)?;
    for _ in 0..BATCHES {
        let values: Vec<f32> = (0..ROWS * FEATURES as usize).map(|_| random.random_range(-1f32..1.)).collect();
        let dot = |row: &[f32]| row.iter().zip(&truth).map(|(value, weight)| value * weight).sum::<f32>();
        let targets: Vec<f32> =
            values.chunks(FEATURES as usize).map(|row| dot(row) + random.random_range(-0.05f32..0.05)).collect();
        let values: PrimitiveArray<Float32Type> = values.into();
        let lists = FixedSizeListArray::try_new(item.clone(), FEATURES, Arc::new(values), None)?;
        let columns = vec![Arc::new(lists) as _, Arc::new(Float32Array::from(targets)) as _];
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
    }
    writer.finish()?;
    Ok(())
}
