//! The columns of a Parquet file as one matrix of ndarray, and one of them as a candle tensor.

use std::error::Error;
use std::fs::File;
use std::sync::Arc;
use std::{env, fs, process};

use dlbridge::arrow::arrow_array::{Array, Float32Array, RecordBatch};
use dlbridge::arrow::{Batches, Matrix, Options, Select};
use dlbridge::ndarray::Array2;
use dlbridge::{Bridge, candle};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::temp_dir().join(format!("outside-{}.parquet", process::id()));
    let prices: Arc<dyn Array> = Arc::new(Float32Array::from(vec![Some(1.), None, Some(3.)]));
    let weights: Arc<dyn Array> = Arc::new(Float32Array::from(vec![10., 20., 30.]));
    let batch = RecordBatch::try_from_iter([("price", prices), ("weight", weights)])?;
    let mut writer = ArrowWriter::try_new(File::create(&path)?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;

    let fill = Options::new().fill_nulls(0.0);
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path)?)?.build()?;
    let batch = reader.next().ok_or("the file has no rows")??;
    let matrix: Array2<f32> = Matrix::new(batch).with(fill).convert()?;
    println!("{matrix}");
    assert_eq!(matrix.row(1).to_vec(), [0., 20.]);

    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path)?)?.build()?;
    for tensor in reader.tensors::<candle::Tensor>(Select::column("price").with(fill)) {
        let tensor = tensor?;
        println!("{:?}, copied: {:?}", tensor.value.dims(), tensor.copied);
        assert_eq!(tensor.value.to_vec1::<f32>()?, [1., 0., 3.]);
    }
    Ok(fs::remove_file(path)?)
}
