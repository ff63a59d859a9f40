//! How an array is read as a tensor: the walk from the array, through its lists, to the buffer with the elements.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericListArray, OffsetSizeTrait, downcast_primitive_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, Field};
use dlbridge_core::layout::{self, Dims};
use dlbridge_core::{DataType, Descriptor, Device, Error, Excerpt, Flags, Reason};

use crate::dtype::{Storage, elements, excerpt, unsupported};
use crate::extension::{self, FixedShape};
use crate::node::{Node, pad};
use crate::options::Nulls;
use crate::{NAME, Options};

const TOO_MANY: Error = Error::Overflow { quantity: "element count" };

/// An array as a tensor: the first axis is the array's own, the others are those of its lists.
pub(crate) struct Source<'a> {
    /// The innermost array, which holds the elements in the order of memory.
    pub(crate) leaf: Node<'a>,
    /// The range of entries of `leaf` that are elements of the tensor.
    pub(crate) window: Range<usize>,
    pub(crate) dtype: DataType,
    pub(crate) storage: Storage,
    /// The lengths of the tensor's axes.
    pub(crate) shape: Dims,
    /// The strides of the tensor's axes, in elements: row-major, or permuted by an extension type.
    pub(crate) strides: Dims,
    /// For each level of lists that has nulls, which entries are valid.
    pub(crate) validity: Vec<NullBuffer>,
    /// The bytes of an element that nulls are filled with.
    pub(crate) fill: Option<Vec<u8>>,
    /// Whether the leaf is a copy, because null lists were not as long as the others.
    is_padded: bool,
}

/// The state of the walk down: the array that it has reached, and the axes that it has passed.
struct Walk<'a> {
    array: Node<'a>,
    /// The type of `array`, which is a part of the given array's type.
    dtype: &'a ArrowType,
    field: Option<&'a Field>,
    window: Range<usize>,
    lengths: Dims,
    /// For each axis of the tensor, the index of its length in `lengths`.
    order: Dims,
    validity: Vec<NullBuffer>,
    is_padded: bool,
}

impl<'a> Walk<'a> {
    /// Adds an axis of `length` entries.
    fn push(&mut self, length: usize) -> Result<(), Error> {
        self.order.push(self.lengths.len() as i64);
        self.lengths.push(i64::try_from(length).map_err(|_| TOO_MANY)?);
        Ok(())
    }

    /// Steps from an array of lists to the array of their entries. Returns whether the array had lists.
    fn step(&mut self, options: &Options) -> Result<bool, Error> {
        let tensor = self.check_extension(options)?;
        match self.dtype {
            ArrowType::FixedSizeList(child, size) => {
                self.note_nulls(options)?;
                let size = usize::try_from(*size).map_err(|_| TOO_MANY)?;
                match tensor {
                    None => self.push(size)?,
                    Some(tensor) => {
                        let first = self.lengths.len();
                        tensor.order().iter().for_each(|axis| self.order.push((first + axis) as i64));
                        for length in tensor.shape {
                            self.lengths.push(i64::try_from(length).map_err(|_| TOO_MANY)?);
                        }
                    }
                }
                let scale = |entry: usize| entry.checked_mul(size).ok_or(TOO_MANY);
                self.window = scale(self.window.start)?..scale(self.window.end)?;
                self.array = self.array.child(|array| array.as_fixed_size_list().values());
                (self.dtype, self.field) = (child.data_type(), Some(&**child));
            }
            ArrowType::List(child) => self.enter::<i32>(child, options)?,
            ArrowType::LargeList(child) => self.enter::<i64>(child, options)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Checks the field against the array, and returns the shape that its extension type gives, if it gives one.
    fn check_extension(&self, options: &Options) -> Result<Option<FixedShape>, Error> {
        let Some(field) = self.field else { return Ok(None) };
        if !field.data_type().equals_datatype(self.array.data_type()) {
            let (expected, found) = (excerpt(field.data_type()), excerpt(self.array.data_type()));
            return Err(Error::SchemaMismatch { expected, found });
        }
        if let Some(unknown) = extension::unknown(field).filter(|_| !options.extensions_as_storage) {
            let (found, option) = (Excerpt::new(unknown), "Options::extensions_as_storage");
            return Err(Error::NeedsOption { found, option });
        }
        extension::is_bool8(field)?;
        FixedShape::of(field)
    }

    /// Steps into lists of variable length, which all must have the same length. Null ones, which are usually stored as
    /// empty lists, are made as long as the others.
    fn enter<O: OffsetSizeTrait>(&mut self, child: &'a Field, options: &Options) -> Result<(), Error> {
        if !options.lists_as_axis {
            return Err(Error::NeedsOption { found: excerpt(self.dtype), option: "Options::lists_as_axis" });
        }
        self.note_nulls(options)?;
        let lists: &GenericListArray<O> = self.array.as_list();
        let offsets = &lists.value_offsets()[self.window.start..=self.window.end];
        let lengths = || offsets.windows(2).map(|pair| pair[1].as_usize() - pair[0].as_usize());
        let first_valid = lengths().enumerate().find(|(row, _)| self.is_valid(*row));
        let expected = first_valid.map(|(_, length)| length).or_else(|| lengths().next()).unwrap_or(0);
        let mut others = lengths().enumerate().filter(|(_, length)| *length != expected).peekable();
        let is_uniform = others.peek().is_none();
        if let Some((row, found)) = others.find(|(row, _)| self.is_valid(*row)) {
            return Err(Error::Ragged { row, expected, found });
        }
        let (values, window) = if is_uniform {
            let values = self.array.child(|array| array.as_list::<O>().values());
            (values, offsets[0].as_usize()..offsets[offsets.len() - 1].as_usize())
        } else {
            elements(innermost(child.data_type()), options)?; // Only of these can Arrow make nulls without a panic.
            let kept =
                lengths().enumerate().map(|(row, length)| Some(self.window.start + row).filter(|_| length == expected));
            let values = pad(lists, expected, kept)?;
            let window = 0..values.len();
            (Node::Padded(values), window)
        };
        self.push(expected)?;
        self.is_padded |= !is_uniform;
        (self.array, self.window) = (values, window);
        (self.dtype, self.field) = (child.data_type(), Some(child));
        Ok(())
    }

    /// Whether an entry of the window is valid, and so are all lists that it is in.
    fn is_valid(&self, entry: usize) -> bool {
        // No level is empty, because only those that have nulls are remembered.
        self.validity.iter().all(|level| level.is_valid(entry / (self.window.len() / level.len())))
    }

    /// Remembers which entries of the window are null, if any are. Nulls outside of the window are ignored.
    fn note_nulls(&mut self, options: &Options) -> Result<(), Error> {
        let nulls = match self.dtype {
            ArrowType::Dictionary(..) => self.array.logical_nulls(),
            _ => self.array.nulls().cloned(),
        };
        let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return Ok(()) };
        let nulls = nulls.slice(self.window.start, self.window.len());
        match (nulls.null_count(), options.nulls) {
            (0, _) => {}
            (count, Nulls::Refuse) => {
                let (found, option) = (excerpt(self.dtype), "Options::fill_nulls or Options::keep_nulls");
                return Err(Error::Nulls { count, found, option });
            }
            _ => self.validity.push(nulls),
        }
        Ok(())
    }
}

impl<'a> Source<'a> {
    /// Walks down `array`. Its field, if there is one, may give its elements an extension type.
    pub(crate) fn new(array: &'a dyn Array, field: Option<&'a Field>, options: &Options) -> Result<Self, Error> {
        let window = 0..array.len();
        let (lengths, order, validity) = (Dims::default(), Dims::default(), Vec::new());
        let (node, dtype) = (Node::Given(array), array.data_type());
        let mut walk = Walk { array: node, dtype, field, window, lengths, order, validity, is_padded: false };
        walk.push(array.len())?;
        while walk.step(options)? {}
        let (dtype, storage) = elements(walk.dtype, options)?;
        walk.note_nulls(options)?;

        let Walk { array: leaf, field, window, lengths, order, validity, is_padded, .. } = walk;
        let mut steps = Dims::zeros(lengths.len());
        layout::fill_row_major(&lengths, &mut steps);
        let in_order = |numbers: &[i64]| -> Dims { order.iter().map(|axis| numbers[*axis as usize]).collect() };
        let (shape, strides) = (in_order(&lengths), in_order(&steps));
        let mut source = Self { leaf, window, dtype, storage, shape, strides, validity, fill: None, is_padded };
        if field.map_or(Ok(false), extension::is_bool8)? {
            source.be_bool8()?;
        }
        if let Nulls::Fill(value) = options.nulls {
            let bytes = value.to_bytes(source.dtype)?;
            source.fill = Some(bytes).filter(|_| !source.validity.is_empty());
        }
        // Checks that lengths and strides do not overflow, and that the leaf has as many entries as they need.
        let elements = layout::validate(&source.shape, Some(&source.strides), source.dtype, false)?;
        let available = source.leaf.len().saturating_sub(source.window.start);
        if source.window.len() != elements || source.window.end > source.leaf.len() {
            return Err(Error::OutOfStorage { framework: NAME, needed: elements, available });
        }
        Ok(source)
    }

    /// Reads the elements as booleans of one byte, of which any that is not zero is true.
    fn be_bool8(&mut self) -> Result<(), Error> {
        let (buffer, range) = self.bytes()?;
        if buffer[range].iter().any(|byte| *byte > 1) {
            self.storage = Storage::Bytes;
        }
        self.dtype = DataType::BOOL;
        Ok(())
    }

    /// The buffer that holds the elements, and their range of bytes in it, if the leaf holds plain numbers.
    pub(crate) fn bytes(&self) -> Result<(&Buffer, Range<usize>), Error> {
        let leaf: &dyn Array = &*self.leaf;
        let buffer = downcast_primitive_array!(
            leaf => leaf.values().inner(),
            other => return Err(unsupported(other))
        );
        let size = self.dtype.itemsize().ok_or(TOO_MANY)?;
        let (start, end) = (self.window.start * size, self.window.end * size);
        if end > buffer.len() {
            let (needed, available) = (self.window.end, buffer.len() / size);
            return Err(Error::OutOfStorage { framework: NAME, needed, available });
        }
        Ok((buffer, start..end))
    }

    /// Why the elements have to be copied, if they have to.
    pub(crate) fn reason(&self) -> Option<Reason> {
        match self.storage {
            Storage::Plain => (self.is_padded || self.fill.is_some()).then_some(Reason::Nulls),
            _ => Some(Reason::Encoded),
        }
    }

    /// Calls `read` with a description of what an export would give, or of the copy if the elements cannot be shared.
    pub(crate) fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        if let Some(reason) = self.reason() {
            return self.anywhere(&self.shape).map(|tensor| read(&tensor, Some(reason)));
        }
        let (buffer, range) = self.bytes()?;
        let data = buffer.as_ptr().wrapping_add(range.start);
        let (flags, strides) = (Flags::READ_ONLY, Some(&*self.strides));
        Descriptor::new(data, self.dtype, Device::CPU, flags, &self.shape, strides).map(|tensor| read(&tensor, None))
    }

    /// A description of a row-major copy that has not been made yet: its address is not that of any memory.
    pub(crate) fn anywhere<'s>(&self, shape: &'s [i64]) -> Result<Descriptor<'s>, Error> {
        let nowhere = std::ptr::NonNull::<u128>::dangling().as_ptr().cast();
        Descriptor::new(nowhere, self.dtype, Device::CPU, Flags::COPIED, shape, None)
    }

    /// The buffer with just these elements, if they can be shared.
    pub(crate) fn plain(&self) -> Result<Buffer, Error> {
        match self.reason() {
            Some(reason) => Err(Error::CopyRequired { framework: NAME, reason }),
            None => self.bytes().map(|(buffer, range)| buffer.slice_with_length(range.start, range.len())),
        }
    }
}

/// The type of the elements of lists in lists.
fn innermost(dtype: &ArrowType) -> &ArrowType {
    match dtype {
        ArrowType::FixedSizeList(child, _) | ArrowType::List(child) | ArrowType::LargeList(child) => {
            innermost(child.data_type())
        }
        _ => dtype,
    }
}
