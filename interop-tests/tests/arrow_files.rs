//! Arrow IPC files in memory. pyarrow has written them (`fixtures/write.py`); they are read whole, cut off and
//! corrupted.
#![cfg(all(feature = "arrow", feature = "ndarray"))]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::writer::FileWriter;
use dlbridge::arrow::{Column, Matrix, Options, arrow_array, arrow_buffer, arrow_schema};
use dlbridge::ndarray::ndarray::{Array2, ArrayView1, ArrayView2, ArrayView4};
use dlbridge::{Bridge, Error, Lend, Tensor};
use dlbridge_pipelines::ipc::IpcFile;
use half::f16;

const FIXTURES: [&str; 5] = ["fixed_shape_tensor", "float16_lists", "sliced", "nulls", "bool8"];

fn open(name: &str) -> IpcFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name).with_extension("arrow");
    // SAFETY: nobody writes the fixtures while the tests run.
    unsafe { IpcFile::map(&path) }.unwrap()
}

/// A column of the file's only batch, and its tensor, which shares the file's memory.
fn column(file: &IpcFile, name: &str) -> (Column, Tensor) {
    let batch = file.batch(0).unwrap();
    assert_eq!(file.len(), 1);
    let column = Column::of(&batch, name).unwrap();
    let tensor: Tensor = (&column).share().unwrap();
    let offset = (tensor.data() as usize).wrapping_sub(file.bytes().as_ptr() as usize);
    assert!(offset < file.bytes().len(), "the elements are not in the file");
    assert!(tensor.flags().is_read_only());
    (column, tensor)
}

#[test]
fn tensors_of_fixed_shape() {
    let file = open("fixed_shape_tensor");
    let (column, tensor) = column(&file, "tensor");
    assert_eq!(column.dim_names().unwrap().unwrap(), ["a", "c", "b"]);
    assert_eq!(tensor.shape(), [3, 2, 3, 2]);
    assert_eq!(tensor.strides(), [12, 6, 1, 3]);
    let view: ArrayView4<'_, f32> = tensor.lend().unwrap();
    assert_eq!((view[[0, 0, 0, 1]], view[[1, 0, 2, 1]], view[[2, 1, 2, 1]]), (3., 17., 35.));
    // The tensor keeps the memory alive.
    drop((file, column));
    assert_eq!(tensor.view().get::<f32>(&[2, 1, 2, 1]), Ok(35.));
}

#[test]
fn lists_of_halves() {
    let (_, tensor) = column(&open("float16_lists"), "list");
    let view: ArrayView2<'_, f16> = tensor.lend().unwrap();
    let expected = Array2::from_shape_fn((4, 3), |(row, column)| (3 * row + column) as f32);
    assert_eq!(view.map(|half| half.to_f32()), expected);
}

#[test]
fn sliced_columns() {
    let file = open("sliced");
    let (_, tensor) = column(&file, "tensor");
    assert_eq!(tensor.shape(), [2, 2, 3, 2]);
    assert_eq!(tensor.view().get::<f32>(&[0, 0, 0, 1]), Ok(15.));
    let (_, list) = column(&file, "list");
    assert_eq!(
        list.as_slice::<f16>().unwrap().iter().map(|half| half.to_f32()).collect::<Vec<_>>(),
        [3., 4., 5., 6., 7., 8.]
    );
    assert_eq!(column(&file, "number").1.as_slice::<i64>().unwrap(), [3, 4]);
    assert_eq!(column(&file, "gap").1.as_slice::<f64>().unwrap(), [1.5, 2.5]);
}

#[test]
fn columns_with_nulls() {
    let batch = open("nulls").batch(0).unwrap();
    let whole = Column::of(&batch, "whole").unwrap();
    let Err(Error::InColumn { column, error }) = (&whole).share::<Tensor>() else { panic!("nulls are refused") };
    assert_eq!(column.as_str(), "whole");
    assert!(matches!(&*error, Error::Nulls { count: 2, found, .. } if found.as_str() == "Int32"), "{error}");
    assert_eq!(whole.with(Options::new().fill_nulls(0)).convert::<Vec<i32>>().unwrap(), [1, 0, 3, 0]);
    let real = Column::of(&batch, "real").unwrap().with(Options::new().keep_nulls());
    assert_eq!(real.validity().unwrap().as_slice::<bool>().unwrap(), [false, true, true, true]);
    let tensor: Tensor = real.share().unwrap();
    assert_eq!(tensor.as_slice::<f64>().unwrap()[1..], [0.5, 1.5, 2.5]);
}

#[test]
fn booleans_of_one_byte() {
    let (_, tensor) = column(&open("bool8"), "truth");
    let view: ArrayView1<'_, bool> = tensor.lend().unwrap();
    assert_eq!(view.to_vec(), [false, true, true, false, true]);
}

/// A file of two batches, each of a list and two numbers.
fn written() -> Vec<u8> {
    let batch = |from: i64| {
        let values = Float32Array::from((0..12).map(|n| n as f32).collect::<Vec<_>>());
        let item = Arc::new(arrow_schema::Field::new_list_field(arrow_schema::DataType::Float32, true));
        let lists: ArrayRef = Arc::new(FixedSizeListArray::try_new(item, 3, Arc::new(values), None).unwrap());
        let number = |step: i64| Arc::new(Int64Array::from_iter_values((0..4).map(|n| from + n * step))) as ArrayRef;
        RecordBatch::try_from_iter([("list", lists), ("a", number(1)), ("b", number(2))]).unwrap()
    };
    let mut writer = FileWriter::try_new(Vec::new(), &batch(0).schema()).unwrap();
    writer.write(&batch(0)).unwrap();
    writer.write(&batch(100)).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn columns_of_a_file_are_equally_spaced() {
    let file = IpcFile::new(Buffer::from_vec(written())).unwrap();
    assert_eq!(file.len(), 2);
    for (index, batch) in file.batches().enumerate() {
        let numbers = Matrix::new(batch.unwrap().project(&[1, 2]).unwrap());
        let tensor: Tensor = numbers.share().unwrap();
        assert_eq!(
            tensor.to_vec::<i64>().unwrap()[..4],
            [100 * index as i64, 100 * index as i64, 100 * index as i64 + 1, 100 * index as i64 + 2]
        );
    }
    assert!(file.batch(2).is_err());
}

#[test]
fn a_misaligned_file_is_an_error_and_no_silent_copy() {
    let bytes = written();
    let mut shifted = vec![0; bytes.len() + 1];
    shifted[1..].copy_from_slice(&bytes);
    let file = IpcFile::new(Buffer::from_vec(shifted).slice(1)).unwrap();
    let error = file.batch(0).unwrap_err();
    assert!(error.to_string().contains("align"), "{error}");
}

/// Reads every column of every batch in every way, and returns the number of tensors.
fn read_all(bytes: Vec<u8>) -> usize {
    let Ok(file) = IpcFile::new(Buffer::from_vec(bytes)) else { return 0 };
    let choices = Options::new().lists_as_axis().temporal_as_integers().decimals_as_floats();
    let mut tensors = 0;
    for batch in file.batches().flatten() {
        for choices in [choices.keep_nulls(), choices.fill_nulls(0)] {
            let columns = batch.schema_ref().fields().iter().map(|field| Column::of(&batch, field.name()));
            let read = columns.map(|column| column?.with(choices).convert::<Tensor>()?.view().to_bytes());
            tensors += read.filter(Result::is_ok).count();
            tensors += usize::from(Matrix::new(batch.clone()).with(choices).convert::<Tensor>().is_ok());
        }
    }
    tensors
}

#[test]
fn no_file_is_corrupt_enough_to_panic() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let files: Vec<Vec<u8>> = FIXTURES.iter().map(|name| open(name).bytes().to_vec()).chain([written()]).collect();
    std::panic::set_hook(Box::new(|panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        eprintln!("{panic}");
    }));
    for file in files {
        let whole = read_all(file.clone());
        assert!(whole > 0);
        for len in 0..file.len() {
            assert_eq!(read_all(file[..len].to_vec()), 0, "cut off at {len}");
        }
        for at in 0..file.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[at] ^= change;
                read_all(changed);
            }
            // Numbers of four and eight bytes: negative, huge, and just too large.
            if at % 4 != 0 {
                continue;
            }
            for number in [-1, i64::MAX, i64::MIN, 1 << 40, file.len() as i64, i64::from(i32::MAX)] {
                for size in [4, 8] {
                    let mut changed = file.clone();
                    let end = (at + size).min(file.len());
                    changed[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
                    read_all(changed);
                }
            }
        }
    }
    drop(std::panic::take_hook());
    eprintln!("{} panics of arrow-ipc were turned into errors", PANICS.load(Ordering::SeqCst));
}
