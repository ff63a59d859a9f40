//! The Arrow file and the column that the command line names, or a new file of made-up embeddings.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{FixedSizeListArray, Float32Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};

use crate::ipc::IpcFile;
use crate::report::progress;

const BATCHES: usize = 8;
const ROWS: usize = 2_500;
const WIDTH: i32 = 768;

/// The arguments `[FILE [COLUMN]]` of this program. Without `FILE`, a file of embeddings is written into `folder`.
///
/// # Errors
/// The column's name is not UTF-8, or the file cannot be written.
pub fn file_and_column(folder: &Path) -> Result<(PathBuf, Option<String>), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = match arguments.next() {
        Some(path) => path.into(),
        None => write(&folder.join("embeddings.arrow"))?,
    };
    let column = arguments.next().map(|name| name.into_string().map_err(|_| "the column's name is no UTF-8"));
    Ok((path, column.transpose()?))
}

/// The given column, or the name of the file's first column.
///
/// # Errors
/// The file has no columns.
pub fn or_first(column: Option<String>, file: &IpcFile) -> Result<String, Box<dyn Error>> {
    match column {
        Some(name) => Ok(name),
        None => Ok(file.schema().fields().first().ok_or("the file has no columns")?.name().clone()),
    }
}

/// Writes some embeddings as a vector database would export them.
fn write(path: &Path) -> Result<PathBuf, Box<dyn Error>> {
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
