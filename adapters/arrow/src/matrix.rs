//! Record batches of equal columns ↔ tensors of rows and columns.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{DataType as ArrowType, Field, Schema};
use dlbridge_core::layout::{self, Dims};
use dlbridge_core::{
    DataType, Descriptor, Device, Error, Export, Flags, Import, Interchange, Reason, Route, Tensor, TensorRef,
};

use crate::column::locate;
use crate::export::{Exported, place};
use crate::extension;
use crate::import::{buffer, bytes_or_numbers, plan_run};
use crate::source::Source;
use crate::{Arrow, NAME, Options, failed};

/// A record batch of equally typed columns, to be read with [`Options`] as a tensor of shape `[rows, columns]`, or
/// `[rows, columns, …]` if the columns hold lists of one shape.
///
/// Columns that have to be decoded, or whose nulls are filled, are first copied one by one, and then put side by side.
#[derive(Clone, Debug)]
pub struct Matrix {
    batch: RecordBatch,
    options: Options,
}

impl Matrix {
    /// All columns of the batch; [`RecordBatch::project`] selects some.
    pub fn new(batch: RecordBatch) -> Self {
        Self { batch, options: Options::default() }
    }

    /// The same columns, read with these options.
    #[must_use]
    pub fn with(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The record batch.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Which elements are valid, as booleans in the shape of the tensor.
    ///
    /// `Copies: always` (the bits are unpacked).
    ///
    /// # Errors
    /// The columns cannot become a tensor at all, whatever their nulls are.
    pub fn validity(&self) -> Result<Tensor, Error> {
        let Columns { columns, .. } = Columns::new(&self.batch, &self.options.keep_nulls())?;
        let masks: Vec<Tensor> = columns.iter().map(Source::validity).collect::<Result<_, _>>()?;
        Tensor::stack(&masks.iter().map(Tensor::view).collect::<Vec<_>>(), 1)
    }
}

impl From<RecordBatch> for Matrix {
    fn from(batch: RecordBatch) -> Self {
        Self::new(batch)
    }
}

/// The columns of a record batch, which all have one type and shape.
struct Columns<'a> {
    columns: Vec<Source<'a>>,
    shape: Dims,
}

impl<'a> Columns<'a> {
    fn new(batch: &'a RecordBatch, options: &Options) -> Result<Self, Error> {
        let mut columns: Vec<Source<'a>> = Vec::with_capacity(batch.num_columns());
        for (array, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
            let column = Source::new(&**array, Some(field), options).and_then(|column| match columns.first() {
                Some(first) => {
                    column.anywhere(&column.shape)?.check_like(&first.anywhere(&first.shape)?)?;
                    Ok(column)
                }
                None => Ok(column),
            });
            columns.push(column.map_err(|error| locate(field.name(), error))?);
        }
        let Some(first) = columns.first() else {
            return Err(Error::Inexpressible { framework: NAME, what: "a record batch without columns" });
        };
        let mut shape = first.shape.clone();
        insert_axis(&mut shape, columns.len() as i64);
        // A shape that DLPack cannot describe could not be copied either.
        layout::validate(&shape, None, first.dtype, false)?;
        Ok(Self { columns, shape })
    }

    /// The address of the first element and the strides, if the columns can be shared; otherwise why they cannot.
    fn spacing(&self) -> Result<Result<(*const u8, Dims), Reason>, Error> {
        if let Some(reason) = self.columns.iter().find_map(Source::reason) {
            return Ok(Err(reason));
        }
        let first = &self.columns[0];
        let (buffer, range) = first.bytes()?;
        let data = buffer.as_ptr().wrapping_add(range.start);
        let size = first.dtype.itemsize().unwrap_or(1) as isize;
        // If there is only one column, or none has any element, no distance can be measured: assume no gaps.
        let mut step = first.window.len() as isize * size;
        for (i, column) in self.columns.iter().enumerate().skip(1).filter(|_| !range.is_empty()) {
            let (other, range) = column.bytes()?;
            let distance = (other.as_ptr() as isize).wrapping_add(range.start as isize).wrapping_sub(data as isize);
            if i == 1 {
                step = distance;
            }
            let is_spaced = Some(distance) == step.checked_mul(i as isize) && distance % size == 0;
            if !is_spaced || !is_one_allocation(buffer, other) || column.strides[..] != first.strides[..] {
                return Ok(Err(Reason::Scattered));
            }
        }
        let mut strides = first.strides.clone();
        insert_axis(&mut strides, (step / size) as i64);
        Ok(Ok((data, strides)))
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        match self.spacing()? {
            Ok((data, strides)) => {
                let (dtype, flags) = (self.columns[0].dtype, Flags::READ_ONLY);
                Descriptor::new(data, dtype, Device::CPU, flags, &self.shape, Some(&strides))
                    .map(|tensor| read(&tensor, None))
            }
            Err(reason) => self.columns[0].anywhere(&self.shape).map(|tensor| read(&tensor, Some(reason))),
        }
    }

    fn export(&self, batch: &RecordBatch) -> Result<Tensor, Error> {
        let (data, strides) = self.spacing()?.map_err(|reason| {
            let error = Error::CopyRequired { framework: NAME, reason };
            match self.columns.iter().position(|column| column.reason().is_some()) {
                Some(column) => locate(batch.schema_ref().field(column).name(), error),
                None => error,
            }
        })?;
        let first = &self.columns[0];
        layout::validate(&self.shape, Some(&strides), first.dtype, false)?;
        let owner = Exported(first.bytes()?.0.clone());
        let layout = (first.dtype, &*self.shape, &*strides);
        // SAFETY: `spacing` has found every column in the allocation that the first one's buffer keeps alive and in
        // place, in which everything from the lowest element to the highest is initialised (axioms *allocation* and
        // *bytes*). Nobody writes it meanwhile (axioms *unwritten* and *foreign*). Each column's `Source` has checked
        // its booleans.
        Ok(unsafe { place(owner, layout, Flags::READ_ONLY, |_| data.cast_mut()) })
    }

    fn copy(&self) -> Result<Tensor, Error> {
        // Columns stored in another form are decoded first. All others are read in place.
        let decoded: Vec<Option<Tensor>> = self
            .columns
            .iter()
            .map(|column| column.reason().map(|_| column.copy()).transpose())
            .collect::<Result<_, _>>()?;
        let parts: Vec<TensorRef<'_>> = self
            .columns
            .iter()
            .zip(&decoded)
            .map(|(column, decoded)| decoded.as_ref().map_or_else(|| column.view(), |tensor| Ok(tensor.view())))
            .collect::<Result<_, _>>()?;
        Tensor::stack(&parts, 1)
    }
}

/// Inserts the number that belongs to the axis of the columns, the second axis.
fn insert_axis(numbers: &mut Dims, number: i64) {
    numbers.push(number);
    numbers[1..].rotate_right(1);
}

/// Whether two buffers are parts of one allocation, so that either keeps the memory of both alive. Equal addresses and
/// sizes prove it: while both are alive, no other allocation takes the place of one, and if two owners have the same
/// foreign memory, each keeps all of it (axiom *allocation*).
fn is_one_allocation(one: &Buffer, other: &Buffer) -> bool {
    one.data_ptr() == other.data_ptr() && one.capacity() == other.capacity()
}

macro_rules! exports {
    ($($ty:ty, $this:ident => $batch:expr, $options:expr;)*) => {$(
        impl Export<Arrow> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                let $this = &self;
                Columns::new($batch, $options)?.export($batch)
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                let $this = self;
                Columns::new($batch, $options)?.copy()
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                let $this = self;
                Columns::new($batch, $options)?.describe(read)
            }
        }
    )*};
}

exports! {
    RecordBatch, this => this, &Options::default();
    &RecordBatch, this => this, &Options::default();
    Matrix, this => &this.batch, &this.options;
    &Matrix, this => &this.batch, &this.options;
}

/// The columns are named `"0"`, `"1"`, …, and booleans become `arrow.bool8`. There can be 2²⁰ columns at most.
impl Import<Arrow> for RecordBatch {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        let [rows, _] = match check(tensor) {
            Ok(lengths) => lengths,
            Err(error) => return Route::Impossible(error),
        };
        let is_run = rows <= 1 || tensor.is_empty() || tensor.strides().iter().next() == Some(1);
        plan_run(tensor, is_run)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let (dtype, [rows, columns]) = (tensor.dtype(), check(&tensor.descriptor())?);
        batch(dtype, rows, column_buffers(tensor, rows, columns)?)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        let (dtype, [rows, columns]) = (tensor.dtype(), check(tensor)?);
        let strides = tensor.strides().to_vec();
        let (shape, strides) = ([columns as i64, rows as i64], [strides[1], strides[0]]);
        let (device, flags) = (tensor.device(), tensor.flags());
        let turned = Descriptor::new(tensor.data(), dtype, device, flags, &shape, Some(&strides))?;
        // SAFETY: the same elements in another order.
        let copy = unsafe { TensorRef::from_descriptor(turned) }.to_contiguous()?;
        // The copy has columns as its first axis and is row-major, so the elements of a column lie side by side.
        let all = buffer(copy)?;
        let len = all.len().checked_div(columns).unwrap_or(0);
        batch(dtype, rows, (0..columns).map(|column| all.slice_with_length(column * len, len)).collect())
    }
}

/// A limit on the number of columns that is beyond any real table: a column takes an allocation and a name even if it
/// has no rows.
const MOST_COLUMNS: usize = 1 << 20;

/// The numbers of rows and columns, if a record batch can hold the tensor.
fn check(tensor: &Descriptor<'_>) -> Result<[usize; 2], Error> {
    ArrowType::from_dlpack(tensor.dtype())?;
    tensor.check_host()?;
    match tensor.shape() {
        [_, columns] if *columns as usize > MOST_COLUMNS => {
            Err(Error::Unsupported { framework: NAME, what: "record batches of more than 2²⁰ columns" })
        }
        [rows, columns] => Ok([*rows as usize, *columns as usize]),
        shape => Err(Error::NdimMismatch { expected: 2, shape: shape.into() }),
    }
}

/// The columns of a tensor as buffers, without a copy. The elements of each column must lie side by side.
fn column_buffers(tensor: Tensor, rows: usize, columns: usize) -> Result<Vec<Buffer>, Error> {
    let descriptor = tensor.descriptor();
    let Some(first) = NonNull::new(tensor.data().cast_mut()).filter(|_| !descriptor.is_empty()) else {
        return Ok(vec![Buffer::default(); columns]);
    };
    let size = tensor.dtype().itemsize().unwrap_or(1);
    let len = rows * size;
    // If there is only one column, the stride between columns may be any number.
    let step = if columns == 1 { rows as i64 } else { tensor.strides().iter().nth(1).unwrap_or(0) };
    if step == rows as i64 {
        // No gaps between columns: they become parts of one buffer, so that a later export can see that they are
        // equally spaced and share them.
        let all = buffer(tensor)?;
        return Ok((0..columns).map(|column| all.slice_with_length(column * len, len)).collect());
    }
    let owner = Arc::new(tensor);
    let column = |column: usize| {
        let data = first.as_ptr().wrapping_offset(column as isize * step as isize * size as isize);
        let data = NonNull::new(data).unwrap_or(first);
        // SAFETY: one column of the tensor, `len` readable bytes that the owner keeps alive until Arrow drops it, and
        // that nobody writes, Arrow included (axiom *foreign*).
        unsafe { Buffer::from_custom_allocation(data, len, owner.clone()) }
    };
    Ok((0..columns).map(column).collect())
}

fn batch(dtype: DataType, rows: usize, columns: Vec<Buffer>) -> Result<RecordBatch, Error> {
    let columns: Vec<ArrayRef> =
        columns.into_iter().map(|column| bytes_or_numbers(dtype, column)).collect::<Result<_, _>>()?;
    let field = |(index, column): (usize, &ArrayRef)| {
        let field = Field::new(index.to_string(), column.data_type().clone(), false);
        if dtype == DataType::BOOL { extension::mark_bool8(field) } else { field }
    };
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map_err(failed)
}
