//! A model of what must happen to a descriptor. It computes with integers that are too wide to overflow.

use dlbridge::Flags;
use dlbridge::sys::{DLPACK_MAJOR_VERSION, DLTensor};
use interop_tests::raw::{Abi, Producer};

/// Tensors with more elements than this are not read: a few bytes can be broadcast to any number of elements.
pub(crate) const MANY: i128 = 4096;

/// What must happen to a descriptor.
pub(crate) enum Model {
    /// It is refused.
    Malformed(&'static str),
    /// All of it lies within its memory: it is accepted, with these elements (if they are not too many to compare).
    Within { shape: Vec<i64>, bytes: Option<Vec<u8>> },
    /// It may be accepted or refused, but its elements must not be read.
    Elsewhere,
}

impl Model {
    pub(crate) fn of(producer: &Producer, abi: Abi, memory: usize) -> Self {
        let tensor = &producer.tensor;
        if abi == Abi::Versioned && producer.version.major != DLPACK_MAJOR_VERSION {
            return Self::Malformed("the major version is another one");
        }
        let Ok(ndim) = usize::try_from(tensor.ndim) else { return Self::Malformed("ndim is negative") };
        if tensor.shape.is_null() && ndim > 0 {
            return Self::Malformed("shape is NULL");
        }
        let shape = numbers(tensor.shape, ndim);
        if shape.iter().any(|length| *length < 0) {
            return Self::Malformed("a length is negative");
        }
        let is_empty = shape.contains(&0);
        if tensor.data.is_null() && !is_empty {
            return Self::Malformed("data is NULL");
        }
        let is_padded = abi == Abi::Versioned && Flags::from_bits(producer.flags).is_padded();
        let Some(bits) = bits(tensor, is_padded) else { return Self::Elsewhere };
        let elements = shape.iter().try_fold(1i128, |count, length| count.checked_mul(i128::from(*length)));
        let Some(elements) = elements.filter(|count| *count <= MANY) else { return Self::Elsewhere };
        if is_empty {
            // It has no elements, but its lengths and its offset may still be too large.
            let is_small = shape.iter().all(|length| *length < 1 << 7) && tensor.byte_offset < memory as u64;
            let bytes = Some(Vec::new());
            return if is_small { Self::Within { shape, bytes } } else { Self::Elsewhere };
        }
        let strides = if tensor.strides.is_null() { row_major(&shape) } else { numbers(tensor.strides, ndim) };
        let mut offsets = vec![0i128];
        for (length, stride) in shape.iter().zip(&strides) {
            let step = |at: i128| (0..i128::from(*length)).map(move |index| at + index * i128::from(*stride));
            offsets = offsets.into_iter().flat_map(step).collect();
        }
        let first = i128::from(tensor.byte_offset) * 8;
        let starts: Vec<i128> = offsets.iter().map(|offset| first + offset * bits).collect();
        if starts.iter().any(|start| *start < 0 || start + bits > memory as i128 * 8) {
            return Self::Elsewhere;
        }
        Self::Within { shape, bytes: gather(producer.memory(), &starts, bits) }
    }
}

/// The number of bits of one element in memory; `None` if the standard leaves it open for this type.
fn bits(tensor: &DLTensor, is_padded: bool) -> Option<i128> {
    // Since DLPack 1.1, a padded lane takes at least a byte.
    let lane = if is_padded { tensor.dtype.bits.max(8) } else { tensor.dtype.bits };
    Some(i128::from(lane) * i128::from(tensor.dtype.lanes)).filter(|bits| tensor.dtype.bits > 0 && *bits > 0)
}

/// Gathers the elements, without gaps.
fn gather(memory: *const u8, starts: &[i128], bits: i128) -> Option<Vec<u8>> {
    let mut bytes = vec![0u8; (starts.len() * bits as usize).div_ceil(8)];
    for (index, start) in starts.iter().enumerate() {
        for bit in 0..bits as usize {
            let (from, to) = (*start as usize + bit, index * bits as usize + bit);
            // SAFETY: the caller has found all elements within the memory.
            let byte = unsafe { memory.add(from / 8).read() };
            bytes[to / 8] |= (byte >> (from % 8) & 1) << (to % 8);
        }
    }
    Some(bytes)
}

fn row_major(shape: &[i64]) -> Vec<i64> {
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

fn numbers(first: *const i64, count: usize) -> Vec<i64> {
    // SAFETY: the producer's own numbers, which are as many as the descriptor claims.
    (0..count).map(|index| unsafe { first.add(index).read() }).collect()
}
