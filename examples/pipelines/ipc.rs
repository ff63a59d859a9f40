//! Arrow IPC files in memory, mapped or not, as record batches whose columns are parts of the file.
//!
//! Nothing is copied: a column that is not aligned in the file is an error. arrow-ipc trusts the numbers in a file's
//! metadata and panics if they point outside of the file, so they are checked here first.

use std::any::Any;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use memmap2::Mmap;

const MAGIC: &[u8] = b"ARROW1";

/// A file of record batches.
pub struct IpcFile {
    bytes: Buffer,
    schema: SchemaRef,
    decoder: FileDecoder,
    blocks: Vec<Block>,
}

impl IpcFile {
    /// Maps a file into memory for reading. The system loads a page of the file when it is used.
    ///
    /// # Safety
    /// While the file, or anything that was made from it, lives, nobody writes or truncates it.
    ///
    /// # Errors
    /// Errors of the operating system, and those of [`IpcFile::new`].
    pub unsafe fn map(path: &Path) -> Result<Self, ArrowError> {
        let in_file = |error: io::Error| ArrowError::IoError(format!("{}: {error}", path.display()), error);
        let file = File::open(path).map_err(in_file)?;
        // SAFETY: the caller's promise.
        let map = unsafe { Mmap::map(&file) }.map_err(in_file)?;
        let (data, len) = (NonNull::from(&*map).cast(), map.len());
        // SAFETY: the map has `len` bytes there, which stay as they are while it lives.
        Self::new(unsafe { Buffer::from_custom_allocation(data, len, Arc::new(map)) })
    }

    /// The file in `bytes`.
    ///
    /// # Errors
    /// The bytes are no IPC file, are cut off, or contradict themselves.
    pub fn new(bytes: Buffer) -> Result<Self, ArrowError> {
        let len = bytes.len();
        if !bytes.starts_with(MAGIC) {
            return Err(corrupt("it does not begin as an Arrow IPC file does"));
        }
        let Some((_, tail)) = bytes.split_last_chunk::<10>() else {
            return Err(corrupt("it is cut off"));
        };
        let footer_len = read_footer_length(*tail)?;
        let footer = (len - tail.len()).checked_sub(footer_len).ok_or(corrupt("its footer is longer than itself"))?;
        let footer = root_as_footer(&bytes[footer..][..footer_len]).map_err(|_| corrupt("its footer is broken"))?;
        let schema = footer.schema().ok_or(corrupt("it has no schema"))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(corrupt("it was written on a machine of the other endianness"));
        }
        let schema: SchemaRef = Arc::new(guarded(|| try_fb_to_schema(schema))?);
        let mut decoder = FileDecoder::new(schema.clone(), footer.version()).with_require_alignment(true);
        for block in footer.dictionaries().into_iter().flatten() {
            let message = checked(&bytes, block)?;
            guarded(|| decoder.read_dictionary(block, &message))?;
        }
        let blocks = footer.recordBatches().into_iter().flatten().copied().collect();
        Ok(Self { bytes, schema, decoder, blocks })
    }

    /// The schema of all record batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The whole file.
    pub fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    /// The number of record batches.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// A record batch, whose columns are parts of the file.
    ///
    /// # Errors
    /// The batch does not exist, is not aligned, or contradicts itself or the schema.
    pub fn batch(&self, index: usize) -> Result<RecordBatch, ArrowError> {
        let block = self.blocks.get(index).ok_or(corrupt("it has no such record batch"))?;
        let message = checked(&self.bytes, block)?;
        guarded(|| self.decoder.read_record_batch(block, &message))?.ok_or(corrupt("a record batch is none"))
    }

    /// The record batches, one by one.
    pub fn batches(&self) -> impl ExactSizeIterator<Item = Result<RecordBatch, ArrowError>> + '_ {
        (0..self.len()).map(|index| self.batch(index))
    }
}

/// The message of a block, if the block lies within the file and its parts lie within the block.
fn checked(bytes: &Buffer, block: &Block) -> Result<Buffer, ArrowError> {
    let outside = || corrupt("a record batch lies outside of it");
    let number = |number: i64| usize::try_from(number).map_err(|_| outside());
    let (start, header) = (number(block.offset())?, number(block.metaDataLength().into())?);
    let body = number(block.bodyLength())?;
    let len = header.checked_add(body).ok_or_else(outside)?;
    if header < 8 || start.checked_add(len).is_none_or(|end| end > bytes.len()) {
        return Err(outside());
    }
    let message = bytes.slice_with_length(start, len);
    // Old files have no continuation marker in front of the length.
    let metadata = if message[..4] == [0xff; 4] { &message[8..header] } else { &message[4..header] };
    let metadata = root_as_message(metadata).map_err(|_| corrupt("the metadata of a record batch are broken"))?;
    let batch = match metadata.header_type() {
        MessageHeader::DictionaryBatch => metadata.header_as_dictionary_batch().and_then(|batch| batch.data()),
        _ => metadata.header_as_record_batch(),
    };
    let Some(batch) = batch else { return Err(corrupt("a record batch is none")) };
    for buffer in batch.buffers().into_iter().flatten() {
        let end = number(buffer.offset())?.checked_add(number(buffer.length())?);
        if end.is_none_or(|end| end > body) {
            return Err(corrupt("a column lies outside of its record batch"));
        }
    }
    for node in batch.nodes().into_iter().flatten() {
        if node.length() < 0 || !(0..=node.length()).contains(&node.null_count()) {
            return Err(corrupt("a column has an impossible length or number of nulls"));
        }
    }
    Ok(message)
}

/// Turns a panic of arrow-ipc, which these checks may not prevent in all cases, into an error.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    // Everything that `decode` borrows is only read, or is dropped after a panic.
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| Err(corrupt(reason(&*panic))))
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("arrow-ipc cannot decode it")
}

fn corrupt(what: &str) -> ArrowError {
    ArrowError::IpcError(format!("the file is corrupt: {what}"))
}
