//! Tests together with Python libraries. They are *ignored, with the reason*, where these are not installed.
//!
//! `interop-tests/python/setup.sh` installs them and names the interpreter in `DLBRIDGE_PYTHON`;
//! `DLBRIDGE_REQUIRE=python` turns their absence into a failure.

use std::process::ExitCode;

use interop_tests::trial::absent;
use libtest_mimic::{Arguments, Completion, Trial};

fn main() -> ExitCode {
    let trial = Trial::ignorable_test("pyarrow/reads_what_we_write", || match pyarrow::interpreter() {
        Ok(python) => pyarrow::reads_what_we_write(&python).map(|()| Completion::Completed),
        Err(reason) => absent("python", reason),
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

#[cfg(not(all(feature = "arrow", feature = "ndarray")))]
mod pyarrow {
    use libtest_mimic::Failed;

    pub(crate) fn interpreter() -> Result<String, &'static str> {
        Err("built without the features `arrow` and `ndarray`")
    }

    pub(crate) fn reads_what_we_write(_: &str) -> Result<(), Failed> {
        Ok(())
    }
}

#[cfg(all(feature = "arrow", feature = "ndarray"))]
mod pyarrow {
    use std::fs::File;
    use std::path::Path;
    use std::process::Command;
    use std::sync::Arc;

    use dlbridge::arrow::Column;
    use dlbridge::arrow::arrow_array::{ArrayRef, RecordBatch};
    use dlbridge::arrow::arrow_schema::Schema;
    use dlbridge::ndarray::ndarray::{Array3, Array4};
    use dlbridge::{Bridge, DataType, Element};
    use libtest_mimic::Failed;
    use serde_json::Value;

    const ROWS: usize = 4;

    pub(crate) fn interpreter() -> Result<String, &'static str> {
        std::env::var("DLBRIDGE_PYTHON")
            .map_err(|_| "DLBRIDGE_PYTHON is not set; interop-tests/python/setup.sh sets it")
    }

    /// A column to be written, and what pyarrow must read from it.
    struct Written {
        column: Column,
        dtype: String,
        shape: Vec<usize>,
        elements: Vec<f64>,
    }

    impl Written {
        fn new(name: &str, column: Column, dtype: DataType, shape: &[usize], elements: Vec<f64>) -> Self {
            Self { column: column.named(name), dtype: dtype.to_string(), shape: shape.to_vec(), elements }
        }
    }

    /// Every type that Arrow has, with one axis, in lists, and with axes permuted by an extension type.
    fn columns() -> Vec<Written> {
        let mut columns = Vec::new();
        macro_rules! of {
            ($($ty:ty, $element:expr;)*) => {$({
                let dtype = <$ty as Element>::DTYPE;
                let number: fn(usize) -> ($ty, f64) = $element;
                let (elements, expected) = (0..ROWS).map(number).unzip::<_, _, Vec<_>, Vec<_>>();
                let column: Column = elements.convert().expect("a column");
                columns.push(Written::new(&format!("{dtype}"), column, dtype, &[ROWS], expected));

                let array = Array3::from_shape_fn((ROWS, 2, 3), |(i, j, k)| number(6 * i + 3 * j + k));
                let expected = array.iter().map(|(_, expected)| *expected).collect();
                let lists: ArrayRef = array.map(|(element, _)| *element).convert().expect("lists");
                columns.push(Written::new(&format!("{dtype} lists"), lists.into(), dtype, &[ROWS, 2, 3], expected));
                // Axes that lie in memory in another order become a permutation.
                let array = Array4::from_shape_fn((ROWS, 2, 3, 2), |(i, j, k, l)| number(12 * i + 6 * j + 2 * k + l));
                for order in [[0, 1, 2, 3], [0, 1, 3, 2], [0, 3, 2, 1], [0, 2, 3, 1], [0, 3, 1, 2]] {
                    let array = array.clone().permuted_axes(order);
                    let expected = array.iter().map(|(_, expected)| *expected).collect();
                    let shape = array.shape().to_vec();
                    // `mapv` keeps the order of the axes in memory.
                    let array = array.mapv(|(element, _)| element);
                    let column: Column = array.share().expect("only permuted within rows");
                    columns.push(Written::new(&format!("{dtype} tensor {order:?}"), column, dtype, &shape, expected));
                }
            })*};
        }
        of! {
            bool, |n| (n % 3 == 1, f64::from(u8::from(n % 3 == 1)));
            i8, |n| (-(n as i8), -(n as f64));
            i16, |n| (-300 * n as i16, -300. * n as f64);
            i32, |n| (-70_000 * n as i32, -70_000. * n as f64);
            i64, |n| (-(1 << 40) * n as i64, -2f64.powi(40) * n as f64);
            u8, |n| (5 * n as u8, 5. * n as f64);
            u16, |n| (900 * n as u16, 900. * n as f64);
            u32, |n| ((1 << 25) * n as u32, 2f64.powi(25) * n as f64);
            u64, |n| ((1 << 45) * n as u64, 2f64.powi(45) * n as f64);
            half::f16, |n| (half::f16::from_f32(n as f32 / 4.), n as f64 / 4.);
            f32, |n| (n as f32 / 8., n as f64 / 8.);
            f64, |n| (n as f64 / 16., n as f64 / 16.);
        }
        columns
    }

    pub(crate) fn reads_what_we_write(python: &str) -> Result<(), Failed> {
        let columns = columns();
        let fields: Vec<_> = columns.iter().map(|written| written.column.field().clone()).collect();
        let arrays = columns.iter().map(|written| written.column.array().clone()).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("written.arrow");
        let mut writer = arrow_ipc::writer::FileWriter::try_new(File::create(&file)?, &batch.schema())?;
        writer.write(&batch)?;
        writer.finish()?;

        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/read_back.py");
        let output = Command::new(python).arg(script).arg(&file).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let found: Vec<Value> =
            String::from_utf8(output.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        assert_eq!(found.len(), columns.len());
        for (found, written) in found.iter().zip(&columns) {
            let name = written.column.field().name();
            assert_eq!(found["name"], **name);
            assert_eq!(found["dtype"], *written.dtype, "{name}");
            assert_eq!(found["shape"], serde_json::json!(written.shape), "{name}");
            assert_eq!(found["elements"], serde_json::json!(written.elements), "{name}");
        }
        Ok(())
    }
}
