//! Arrow: arrays and lists of them, columns with extension types, and record batches.

use std::sync::Arc;

use dlbridge::arrow::Column;
use dlbridge::arrow::arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray};
use dlbridge::arrow::arrow_schema::{DataType as ArrowType, Field};
use dlbridge::{Bridge, CopyPolicy, DataType, Error, Exchange, Reason, Route, Tensor};

use super::{Arrived, Facts, Made, Owner, Peer, Promise, arrive, base};
use crate::sample::{Op, Sample, Strided};

fn shared<T>(tensor: Tensor, data: *const u8, keep: T) -> Made
where
    T: 'static,
{
    Made { tensor, data, read_only: true, owner: Owner::Foreign, calls: None, keep: Box::new(keep) }
}

/// Promises an error if Arrow lacks the type, and `otherwise` if it has the type.
fn promise(dtype: DataType, otherwise: Promise) -> Promise {
    match dtype.exchange::<ArrowType>() {
        Ok(_) => otherwise,
        Err(_) => Promise::Refuse(Error::UnsupportedDType { framework: "arrow", dtype }),
    }
}

fn contiguous(facts: &Facts) -> Promise {
    if facts.strided.is_contiguous() { Promise::Share } else { Promise::Copy(Reason::Strided) }
}

/// The address of an array's first element, by Arrow's own means and not by those under test.
fn data(array: &dyn Array) -> *const u8 {
    match array.data_type() {
        ArrowType::FixedSizeList(..) => data(array.as_fixed_size_list().values()),
        ArrowType::Boolean => array.as_boolean().values().values().as_ptr(),
        _ => array.to_data().buffers()[0].as_ptr(),
    }
}

/// `ArrayRef`: plain arrays, and lists for more axes than one.
pub(super) struct Lists;

impl Peer for Lists {
    fn name(&self) -> &'static str {
        "arrow_array"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        let is_number = sample.dtype.exchange::<ArrowType>().is_ok() && sample.dtype != DataType::BOOL;
        if !is_number || sample.layout.base.is_empty() {
            return None;
        }
        let array: ArrayRef = base(sample).convert().expect("numbers of Arrow's");
        let array = sample.layout.ops.iter().try_fold(array, |array, op| match *op {
            Op::Narrow(0, start, length) => Some(array.slice(start, length)),
            _ => None,
        })?;
        let tensor: Tensor = (&array).share().expect("numbers can be shared");
        Some(shared(tensor, data(&array), array))
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        let dtype = facts.sample.dtype;
        Some(match facts.strided.shape.len() {
            0 => Promise::Refuse(Error::NdimMismatch { expected: 2, shape: [].into() }),
            // Booleans are packed into bits.
            _ if dtype == DataType::BOOL => Promise::Copy(Reason::Encoded),
            _ => promise(dtype, contiguous(facts)),
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<ArrayRef>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        if tensor.dtype() != DataType::BOOL {
            return arrive(tensor, policy, |array: &ArrayRef| data(array));
        }
        // What was packed has to be unpacked to be read.
        let arrived = tensor.convert_with::<ArrayRef>(policy)?;
        let (data, copied) = (data(&arrived.value), arrived.copied);
        Ok(Arrived { copied, data, tensor: arrived.value.convert()? })
    }
}

/// `Column`: tensors of fixed shape, permuted or not, and booleans of one byte.
pub(super) struct Tensors;

impl Peer for Tensors {
    fn name(&self) -> &'static str {
        "arrow_column"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        sample.dtype.exchange::<ArrowType>().ok()?;
        let moves_rows = |op: &Op| !matches!(op, Op::Permute(axes) if axes[0] == 0);
        if sample.layout.base.is_empty() || sample.layout.ops.iter().any(moves_rows) {
            return None;
        }
        let column: Column = base(sample).convert().expect("a type of Arrow's");
        // The extension type's metadata permute the axes, as they would in a file.
        let column = sample.layout.ops.iter().fold(column, |column, op| {
            let Op::Permute(axes) = op else { unreachable!("filtered above") };
            let lengths = &sample.layout.base[1..];
            let permutation: Vec<usize> = axes[1..].iter().map(|axis| axis - 1).collect();
            let metadata = format!(r#"{{"shape": {lengths:?}, "permutation": {permutation:?}}}"#);
            let mut field = Field::clone(column.field());
            field.metadata_mut().insert("ARROW:extension:metadata".to_owned(), metadata);
            Column::new(column.array().clone(), Arc::new(field))
        });
        let tensor: Tensor = (&column).share().expect("bytes and numbers can be shared");
        Some(shared(tensor, data(column.array()), column))
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        let dtype = facts.sample.dtype;
        Some(promise(
            dtype,
            match facts.strided.shape.len() {
                0 => Promise::Refuse(Error::NdimMismatch { expected: 1, shape: [].into() }),
                _ if is_permuted_within_rows(&facts.strided) => Promise::Share,
                _ => Promise::Copy(Reason::Strided),
            },
        ))
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<Column>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        arrive(tensor, policy, |column: &Column| data(column.array()))
    }
}

/// Whether the layout is contiguous for some order of the axes behind the first. All orders are tried.
fn is_permuted_within_rows(strided: &Strided) -> bool {
    fn any(front: &mut Vec<usize>, rest: &[usize], holds: &dyn Fn(&[usize]) -> bool) -> bool {
        if rest.is_empty() {
            return holds(front);
        }
        (0..rest.len()).any(|chosen| {
            let mut others = rest.to_vec();
            front.push(others.remove(chosen));
            let found = any(front, &others, holds);
            front.pop();
            found
        })
    }
    let axes: Vec<usize> = (1..strided.shape.len()).filter(|axis| strided.shape[*axis] != 1).collect();
    any(&mut vec![0], &axes, &|order| {
        let shape = order.iter().map(|axis| strided.shape[*axis]).collect();
        let strides = order.iter().map(|axis| strided.strides[*axis]).collect();
        Strided { shape, strides, offset: 0 }.is_contiguous()
    })
}

/// `RecordBatch`: a column for each index of the second axis.
pub(super) struct Batches;

impl Peer for Batches {
    fn name(&self) -> &'static str {
        "arrow_batch"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        sample.dtype.exchange::<ArrowType>().ok()?;
        let [Op::Permute([1, 0])] = sample.layout.ops else { return None };
        // Each row of the base is a column, all in one buffer.
        let all: Column = base(sample).convert().expect("a type of Arrow's");
        let lists = all.array().as_fixed_size_list();
        let ArrowType::FixedSizeList(child, rows) = lists.data_type() else { unreachable!("two axes") };
        let rows = *rows as usize;
        let columns: Vec<ArrayRef> = (0..lists.len()).map(|list| lists.values().slice(list * rows, rows)).collect();
        let fields: Vec<Field> =
            (0..lists.len()).map(|list| child.as_ref().clone().with_name(list.to_string())).collect();
        let schema = Arc::new(dlbridge::arrow::arrow_schema::Schema::new(fields));
        let batch = RecordBatch::try_new(schema, columns).expect("columns of one length");
        let tensor: Tensor = (&batch).share().expect("columns of one allocation can be shared");
        Some(shared(tensor, data(batch.column(0)), batch))
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        let Strided { shape, strides, .. } = &facts.strided;
        Some(promise(
            facts.sample.dtype,
            match shape.len() {
                2 if shape.contains(&0) || shape[0] == 1 || strides[0] == 1 => Promise::Share,
                2 => Promise::Copy(Reason::Strided),
                _ => {
                    let shape = shape.iter().map(|length| *length as i64).collect();
                    Promise::Refuse(Error::NdimMismatch { expected: 2, shape })
                }
            },
        ))
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<RecordBatch>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        let arrived = tensor.convert_with::<RecordBatch>(policy)?;
        let data = if arrived.value.num_columns() > 0 { data(arrived.value.column(0)) } else { std::ptr::null() };
        // Columns with gaps between them are not known to be one allocation any more.
        Ok(Arrived { copied: arrived.copied, data, tensor: arrived.value.convert()? })
    }
}
