//! A column: an array with what its field says of it, and how to read it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, FieldRef};
use dlbridge_core::{Error, Excerpt, Tensor};

use crate::Options;
use crate::extension::FixedShape;
use crate::source::Source;

/// An array together with its field, which carries the name and the extension type, and the [`Options`] to read it
/// with.
///
/// A column of the extension type `arrow.fixed_shape_tensor` becomes a tensor of that shape, whose strides follow the
/// permutation as the Arrow format defines it. (pyarrow 26 itself misreads permutations that are not their own
/// inverse.) `arrow.bool8` becomes booleans: all bytes are checked, and if one is neither 0 nor 1, the column is
/// copied.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) array: ArrayRef,
    pub(crate) field: FieldRef,
    pub(crate) options: Options,
}

impl Column {
    /// The column of an array and its field.
    pub fn new(array: ArrayRef, field: FieldRef) -> Self {
        Self { array, field, options: Options::default() }
    }

    /// The column `name` of a record batch.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn of(batch: &RecordBatch, name: &str) -> Result<Self, Error> {
        let Some((index, field)) = batch.schema_ref().fields().find(name) else {
            return Err(Error::UnknownName { what: "column", name: Excerpt::new(name) });
        };
        Ok(Self::new(batch.column(index).clone(), field.clone()))
    }

    /// The same column, read with these options.
    #[must_use]
    pub fn with(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The same column under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let field = Arc::new(Field::clone(&self.field).with_name(name));
        Self { field, ..self }
    }

    /// The array.
    pub fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// The field: name, type and extension type.
    pub fn field(&self) -> &FieldRef {
        &self.field
    }

    /// Which elements are valid, as booleans in the shape of the tensor: the mask to the values that
    /// [`Options::keep_nulls`] shares.
    ///
    /// `Copies: always` (the bits are unpacked).
    ///
    /// # Errors
    /// The column cannot become a tensor at all, whatever its nulls are.
    pub fn validity(&self) -> Result<Tensor, Error> {
        self.read(&self.options.keep_nulls())?.validity().map_err(|error| locate(self.field.name(), error))
    }

    /// The names of the axes behind the first, if the column is an `arrow.fixed_shape_tensor` that names them, in the
    /// order of the tensor's axes.
    ///
    /// # Errors
    /// [`Error::InvalidMetadata`].
    pub fn dim_names(&self) -> Result<Option<Vec<String>>, Error> {
        let tensor = FixedShape::of(&self.field).map_err(|error| locate(self.field.name(), error))?;
        Ok(tensor.and_then(|tensor| tensor.logical_names()))
    }

    /// The same `arrow.fixed_shape_tensor` with these names for the axes behind the first. They have to be given here
    /// because a DLPack tensor carries no names.
    ///
    /// # Errors
    /// [`Error::InvalidMetadata`] if the column is no such tensor, or has another number of axes.
    pub fn with_dim_names(self, names: &[&str]) -> Result<Self, Error> {
        let tensor =
            FixedShape::of(&self.field).and_then(|tensor| tensor.unwrap_or_default().with_logical_names(names));
        let tensor = tensor.map_err(|error| locate(self.field.name(), error))?;
        let field = tensor.mark(Field::clone(&self.field));
        Ok(Self { field: Arc::new(field), ..self })
    }

    pub(crate) fn read(&self, options: &Options) -> Result<Source<'_>, Error> {
        Source::new(&*self.array, Some(&self.field), options).map_err(|error| locate(self.field.name(), error))
    }
}

/// Says which column an error is about, if it has a name.
pub(crate) fn locate(column: &str, error: Error) -> Error {
    match column {
        "" => error,
        _ => Error::InColumn { column: Excerpt::new(column), error: Box::new(error) },
    }
}

/// A column without a name or an extension type.
impl<A: Array + 'static> From<A> for Column {
    fn from(array: A) -> Self {
        let array: ArrayRef = Arc::new(array);
        let field = Field::new("", array.data_type().clone(), true);
        Self::new(array, Arc::new(field))
    }
}
