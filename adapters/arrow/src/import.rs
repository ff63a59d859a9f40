//! DLPack → Arrow: arrays and buffers.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeListArray, PrimitiveArray, downcast_primitive};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, MutableBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, Field, FieldRef};
use dlbridge_core::layout::{self, Dims};
use dlbridge_core::{DataType, Descriptor, Element, Error, Import, Interchange, Reason, Route, Tensor, TensorRef};

use crate::dtype::by_dtype;
use crate::export::Exported;
use crate::extension::{self, FixedShape};
use crate::{Arrow, Column, NAME, failed};

/// The deepest nesting of lists that an import makes: as many axes as the arrays of other libraries have at most.
const DEEPEST: usize = 64;

/// The route for elements that Arrow stores one after the other: shared if the tensor has them so (`is_run`) and
/// aligned.
pub(crate) fn plan_run(tensor: &Descriptor<'_>, is_run: bool) -> Route {
    if let Err(error) = tensor.check_host() {
        return Route::Impossible(error);
    }
    let align = tensor.dtype().itemsize().unwrap_or(1);
    match tensor.check_align(align) {
        _ if !is_run => Route::Copied(Reason::Strided),
        Ok(()) => Route::Shared,
        Err(_) => Route::Copied(Reason::Misaligned { align }),
    }
}

/// As [`plan_run`], for elements in row-major order, whose type Arrow must have.
fn plan(tensor: &Descriptor<'_>) -> Route {
    match ArrowType::from_dlpack(tensor.dtype()) {
        Ok(_) => plan_run(tensor, tensor.is_row_major()),
        Err(error) => Route::Impossible(error),
    }
}

/// The elements as a buffer, without a copy. They must lie one after the other, beginning with the tensor's first
/// element.
///
/// # Errors
/// [`Error::NotContiguous`] if they do not.
pub(crate) fn buffer(tensor: Tensor) -> Result<Buffer, Error> {
    let descriptor = tensor.descriptor();
    let (data, nbytes) = (tensor.data(), descriptor.nbytes());
    let Some(data) = NonNull::new(data.cast_mut()).filter(|_| nbytes > 0) else {
        return Ok(Buffer::default());
    };
    let is_run =
        descriptor.extent().is_some_and(|extent| extent.lowest == 0 && extent.span() == descriptor.len() as u64);
    if !is_run {
        return Err(Error::NotContiguous);
    }
    let tensor = by_dtype!(
        tensor.dtype(),
        T => match tensor.into_vec::<T>() {
            Ok(vec) => return Ok(Buffer::from_vec(vec)),
            Err(tensor) => tensor,
        },
        _ => tensor
    );
    let tensor = match tensor.downcast::<Exported>() {
        // SAFETY: the buffer has kept these bytes alive for the tensor, and does so on; nobody writes them (axioms
        // *unwritten* and *foreign*).
        Ok(Exported(buffer)) => return Ok(unsafe { part_of(buffer, data, nbytes) }),
        Err(tensor) => tensor,
    };
    Ok(match tensor.downcast::<MutableBuffer>() {
        // SAFETY: as above; the bytes stay in place (axiom *bytes*).
        Ok(buffer) => unsafe { part_of(buffer.into(), data, nbytes) },
        // SAFETY: the tensor keeps `nbytes` readable bytes at `data` alive until Arrow drops it with the last handle,
        // and nobody writes them, Arrow included (axiom *foreign*).
        Err(tensor) => unsafe { Buffer::from_custom_allocation(data, nbytes, Arc::new(tensor)) },
    })
}

/// The part of a buffer that a tensor was made from: `nbytes` bytes at `data`.
///
/// # Safety
/// The buffer keeps these bytes alive, and nobody writes them while it lives.
unsafe fn part_of(buffer: Buffer, data: NonNull<u8>, nbytes: usize) -> Buffer {
    let offset = (data.as_ptr() as usize).wrapping_sub(buffer.as_ptr() as usize);
    if offset.checked_add(nbytes).is_some_and(|end| end <= buffer.len()) {
        return buffer.slice_with_length(offset, nbytes);
    }
    // A tensor over a record batch shows more than the one column that keeps the allocation alive.
    // SAFETY: the caller's promise; Arrow drops `buffer` with the last handle, and does not write (axiom *foreign*).
    unsafe { Buffer::from_custom_allocation(data, nbytes, Arc::new(buffer)) }
}

/// A `Buffer` has no element type, so it is exchanged as bytes.
impl Import<Arrow> for Buffer {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match tensor.check_dtype(DataType::UINT8).and_then(|()| tensor.check_ndim(1)) {
            Ok(()) => plan(tensor),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        buffer(tensor)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        Self::import(tensor.to_contiguous()?)
    }
}

/// Takes a tensor of any rank, as its elements in row-major order.
impl<T: ArrowNativeType + Element> Import<Arrow> for ScalarBuffer<T> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match tensor.check_dtype(T::DTYPE) {
            Ok(()) => plan(tensor),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        Ok(buffer(tensor)?.into())
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        Self::import(tensor.to_contiguous()?)
    }
}

impl<T: ArrowPrimitiveType> Import<Arrow> for PrimitiveArray<T> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        let check = T::DATA_TYPE.to_dlpack().and_then(|dtype| tensor.check_dtype(dtype));
        match check.and_then(|()| tensor.check_ndim(1)) {
            Ok(()) => plan(tensor),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        Ok(Self::new(buffer(tensor)?.into(), None))
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        Self::import(tensor.to_contiguous()?)
    }
}

/// Always a copy, because Arrow packs booleans into bits.
impl Import<Arrow> for BooleanArray {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        let check = tensor.check_dtype(DataType::BOOL).and_then(|()| tensor.check_ndim(1));
        match check.and_then(|()| tensor.check_host()) {
            Ok(()) => Route::Copied(Reason::Encoded),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        Err(Error::CopyRequired { framework: NAME, reason: Reason::Encoded })
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        tensor.check_ndim(1)?;
        Ok(Self::new(pack(tensor)?, None))
    }
}

/// Makes nested lists, one level for each axis behind the first.
impl Import<Arrow> for FixedSizeListArray {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match check_lists(tensor) {
            Ok(()) if tensor.dtype() == DataType::BOOL => match tensor.check_host() {
                Ok(()) => Route::Copied(Reason::Encoded),
                Err(error) => Route::Impossible(error),
            },
            Ok(()) => plan(tensor),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let (dtype, shape) = (tensor.dtype(), Dims::from_iter(tensor.shape().iter().copied()));
        nest(primitive(dtype, buffer(tensor)?)?, &shape)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        check_lists(tensor)?;
        if tensor.dtype() == DataType::BOOL {
            return nest(Arc::new(BooleanArray::new(pack(tensor)?, None)), tensor.shape());
        }
        Self::import(tensor.to_contiguous()?)
    }
}

/// Makes the type of array that fits the tensor's element type and rank.
impl Import<Arrow> for ArrayRef {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match (tensor.ndim(), tensor.dtype()) {
            (1, DataType::BOOL) => BooleanArray::plan(tensor),
            (1, _) => plan(tensor),
            _ => FixedSizeListArray::plan(tensor),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        match tensor.descriptor().ndim() {
            1 => primitive(tensor.dtype(), buffer(tensor)?),
            _ => Ok(Arc::new(FixedSizeListArray::import(tensor)?)),
        }
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        match (tensor.ndim(), tensor.dtype()) {
            (1, DataType::BOOL) => Ok(Arc::new(BooleanArray::import_copy(tensor)?)),
            (1, _) => Self::import(tensor.to_contiguous()?),
            _ => Ok(Arc::new(FixedSizeListArray::import_copy(tensor)?)),
        }
    }
}

/// A tensor of one axis becomes a plain array, and one of more axes an `arrow.fixed_shape_tensor`, with a permutation
/// if its axes lie in memory in another order. Booleans become `arrow.bool8`. The column's name is empty; see
/// [`Column::named`].
impl Import<Arrow> for Column {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match ArrowType::from_dlpack(tensor.dtype()).and_then(|_| check_rows(tensor)) {
            Ok(()) => plan_run(tensor, order(tensor).is_some()),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let descriptor = tensor.descriptor();
        let (dtype, rows) = (tensor.dtype(), descriptor.shape()[0] as usize);
        let order = order(&descriptor).unwrap_or_default();
        let axes: Vec<usize> = descriptor.shape()[1..].iter().map(|length| *length as usize).collect();
        let is_list = descriptor.ndim() > 1;
        let values = bytes_or_numbers(dtype, buffer(tensor)?)?;
        let field =
            Field::new(if is_list { Field::LIST_FIELD_DEFAULT_NAME } else { "" }, values.data_type().clone(), true);
        let field = if dtype == DataType::BOOL { extension::mark_bool8(field) } else { field };
        if !is_list {
            return Ok(Self::new(values, Arc::new(field)));
        }
        let size = list_size(axes.iter().product())?;
        let lists = list(Arc::new(field), size, values, rows)?;
        // `order` maps an axis in memory to the tensor's axis; the permutation of the format maps the other way.
        let mut permutation = vec![0; order.len()];
        order.iter().enumerate().for_each(|(in_memory, axis)| permutation[*axis] = in_memory);
        let shape = FixedShape {
            shape: order.iter().map(|axis| axes[*axis]).collect(),
            permutation: Some(permutation).filter(|axes| !axes.is_sorted()),
            dim_names: None,
        };
        let field = shape.mark(Field::new("", lists.data_type().clone(), true));
        Ok(Self::new(Arc::new(lists), Arc::new(field)))
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        check_rows(tensor)?;
        Self::import(tensor.to_contiguous()?)
    }
}

/// The axes behind the first, in the order in which they lie in memory. `None` if no order of them is without gaps.
fn order(tensor: &Descriptor<'_>) -> Option<Vec<usize>> {
    let (shape, strides) = (tensor.shape(), tensor.strides().to_vec());
    let mut order: Vec<usize> = (1..shape.len()).collect();
    if tensor.is_row_major() {
        order.iter_mut().for_each(|axis| *axis -= 1);
        return Some(order);
    }
    // Axes of length 1 fit in at any position.
    order.sort_by_key(|axis| std::cmp::Reverse(if shape[*axis] == 1 { 0 } else { strides[*axis] }));
    let permuted = |numbers: &[i64]| -> Vec<i64> {
        std::iter::once(numbers[0]).chain(order.iter().map(|axis| numbers[*axis])).collect()
    };
    let is_dense = layout::is_row_major(&permuted(shape), Some(&permuted(&strides)));
    is_dense.then(|| order.iter().map(|axis| axis - 1).collect())
}

/// Checks that there is a first axis, that of the rows, and that one row is no longer than a list of Arrow can be.
fn check_rows(tensor: &Descriptor<'_>) -> Result<(), Error> {
    let Some((_, axes)) = tensor.shape().split_first() else {
        return Err(Error::NdimMismatch { expected: 1, shape: [].into() });
    };
    list_size(axes.iter().map(|length| *length as usize).product()).map(|_| ())
}

/// Checks that the tensor can become nested lists: it has two axes or more, no axis is longer than a list of Arrow can
/// be, and the lists are not nested so deep that walking them would need too much stack.
fn check_lists(tensor: &Descriptor<'_>) -> Result<(), Error> {
    let found = tensor.ndim();
    if found < 2 {
        return Err(Error::NdimMismatch { expected: 2, shape: tensor.shape().into() });
    }
    if found > DEEPEST {
        return Err(Error::Unsupported { framework: NAME, what: "lists nested more than 64 deep" });
    }
    tensor.shape()[1..].iter().try_for_each(|length| list_size(*length as usize).map(|_| ()))
}

fn list_size(length: usize) -> Result<i32, Error> {
    i32::try_from(length).map_err(|_| Error::Unsupported { framework: NAME, what: "lists of 2³¹ elements or more" })
}

/// An array of plain numbers.
pub(crate) fn primitive(dtype: DataType, buffer: Buffer) -> Result<ArrayRef, Error> {
    macro_rules! array {
        ($Numbers:ty) => {
            Ok(Arc::new(PrimitiveArray::<$Numbers>::new(buffer.into(), None)))
        };
    }
    downcast_primitive!(
        ArrowType::from_dlpack(dtype)? => (array),
        _ => Err(Error::UnsupportedDType { framework: NAME, dtype })
    )
}

/// An array of plain numbers, or of the bytes of booleans.
pub(crate) fn bytes_or_numbers(dtype: DataType, buffer: Buffer) -> Result<ArrayRef, Error> {
    primitive(if dtype == DataType::BOOL { DataType::INT8 } else { dtype }, buffer)
}

/// `values` in nested lists, one level for each axis behind the first.
fn nest(values: ArrayRef, shape: &[i64]) -> Result<FixedSizeListArray, Error> {
    let (mut values, mut lists) = (values, None);
    for axis in (1..shape.len()).rev() {
        let len = shape[..axis].iter().product::<i64>() as usize;
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let level = list(field, list_size(shape[axis] as usize)?, values, len)?;
        values = Arc::new(level.clone());
        lists = Some(level);
    }
    lists.ok_or_else(|| Error::NdimMismatch { expected: 2, shape: shape.into() })
}

fn list(field: FieldRef, size: i32, values: ArrayRef, len: usize) -> Result<FixedSizeListArray, Error> {
    FixedSizeListArray::try_new_with_length(field, size, values, None, len).map_err(failed)
}

/// Booleans as bits, in row-major order.
fn pack(tensor: &TensorRef<'_>) -> Result<BooleanBuffer, Error> {
    let elements = tensor.elements::<bool>()?;
    let (len, bytes) = (tensor.len(), tensor.len().div_ceil(8));
    let mut bits: Vec<u8> = Vec::new();
    bits.try_reserve_exact(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
    bits.resize(bytes, 0);
    elements.enumerate().for_each(|(index, element)| bits[index / 8] |= u8::from(element) << (index % 8));
    Ok(BooleanBuffer::new(Buffer::from_vec(bits), 0, len))
}
