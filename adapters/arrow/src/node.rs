//! An array on the way down through lists: a part of the one that was given, or one of null lists made as long as the
//! others.

use std::ops::Deref;

use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType as ArrowType;
use dlbridge_core::Error;

/// An array, borrowed if it is a part of the one that was given.
#[derive(Clone)]
pub(crate) enum Node<'a> {
    Given(&'a dyn Array),
    Padded(ArrayRef),
}

impl Node<'_> {
    /// The array of the entries of these lists.
    pub(crate) fn child(&self, values: impl for<'b> Fn(&'b dyn Array) -> &'b ArrayRef) -> Self {
        match self {
            Self::Given(array) => Self::Given(&**values(*array)),
            Self::Padded(array) => Self::Padded(values(&**array).clone()),
        }
    }
}

impl<'a> Deref for Node<'a> {
    type Target = dyn Array + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Given(array) => *array,
            Self::Padded(array) => &**array,
        }
    }
}

/// The entries of some lists, one list after another: those of a list that is to be kept, and `length` nulls for each
/// other one.
///
/// # Errors
/// [`Error::OutOfMemory`]. Arrow aborts the process if its memory does not suffice, so that it is asked for here first.
#[allow(deprecated)] // `try_extend` is not there in older arrows. No offset overflows: ranges of lists do not overlap.
pub(crate) fn pad<O: OffsetSizeTrait>(
    lists: &GenericListArray<O>,
    length: usize,
    kept: impl ExactSizeIterator<Item = Option<usize>>,
) -> Result<ArrayRef, Error> {
    let values = lists.values().to_data();
    let len = length.saturating_mul(kept.len());
    let bytes = len.saturating_mul(size_of_null(values.data_type()));
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
    let mut padded = MutableArrayData::new(vec![&values], true, len);
    for list in kept {
        match list.map(|list| lists.value_offsets()[list].as_usize()) {
            Some(start) => padded.extend(0, start, start + length),
            None => padded.extend_nulls(length),
        }
    }
    Ok(make_array(padded.freeze()))
}

/// The bytes that a null of this type takes, at most.
fn size_of_null(dtype: &ArrowType) -> usize {
    match dtype {
        ArrowType::FixedSizeList(child, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            length.saturating_mul(size_of_null(child.data_type())).saturating_add(1)
        }
        // An offset, or the key of a dictionary. The bit of validity counts as a byte.
        _ => dtype.primitive_width().unwrap_or(size_of::<i64>()) + 1,
    }
}
