//! candle: every element type that it has on the CPU, in the layouts that its own operations make.

use dlbridge::candle::candle_core::{DType, Tensor as CandleTensor};
use dlbridge::{Bridge, CopyPolicy, Error, Exchange, Reason, Route, Tensor};

use super::{Arrived, Facts, Made, Owner, Peer, Promise, arrive, base};
use crate::sample::{Op, Sample};

pub(super) struct Candle;

/// The sample as a candle tensor, made by candle's own operations; `None` if candle has none for it.
fn tensor(sample: &Sample) -> Option<CandleTensor> {
    sample.dtype.exchange::<DType>().ok()?;
    let base: CandleTensor = base(sample).convert().expect("a dtype of candle's");
    sample.layout.ops.iter().try_fold(base, |tensor, op| match *op {
        Op::Permute(axes) => tensor.permute(axes).ok(),
        Op::Narrow(axis, start, length) => tensor.narrow(axis, start, length).ok(),
        Op::Unsqueeze(axis) => tensor.unsqueeze(axis).ok(),
        Op::Broadcast(axis, length) => {
            let mut shape = tensor.dims().to_vec();
            shape[axis] = length;
            tensor.broadcast_as(shape).ok()
        }
        Op::Step(..) | Op::Flip(..) => None,
    })
}

impl Peer for Candle {
    fn name(&self) -> &'static str {
        "candle"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        let keep = tensor(sample)?;
        if !(sample.strided().offset as u64 * u64::from(sample.dtype.bits_per_element())).is_multiple_of(8) {
            return None; // The first element begins within a byte.
        }
        let tensor: Tensor = (&keep).share().expect("any CPU tensor can be shared");
        let data = data(&keep);
        Some(Made { tensor, data, read_only: true, owner: Owner::Candle, calls: None, keep: Box::new(keep) })
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        let dtype = facts.sample.dtype;
        Some(match (dtype.exchange::<DType>(), facts.owner) {
            (Err(_), _) => Promise::Refuse(Error::UnsupportedDType { framework: "candle", dtype }),
            (Ok(_), Owner::Candle) => Promise::Share,
            (Ok(_), Owner::Vec) if facts.strided.is_contiguous() => Promise::Share,
            (Ok(_), _) => Promise::Copy(Reason::ForeignMemory),
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<CandleTensor>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        arrive(tensor, policy, data)
    }
}

/// The address of the first element, by candle's own means and not by those under test.
fn data(tensor: &CandleTensor) -> *const u8 {
    use dlbridge::candle::candle_core::{CpuStorage, Storage};
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { unreachable!("a CPU tensor") };
    fn at<T>(elements: &[T], offset: usize) -> *const u8 {
        elements.as_ptr().wrapping_add(offset).cast()
    }
    let offset = layout.start_offset();
    match storage {
        CpuStorage::U8(elements) | CpuStorage::F8E8M0(elements) => at(elements, offset),
        CpuStorage::U32(elements) => at(elements, offset),
        CpuStorage::I16(elements) => at(elements, offset),
        CpuStorage::I32(elements) => at(elements, offset),
        CpuStorage::I64(elements) => at(elements, offset),
        CpuStorage::BF16(elements) => at(elements, offset),
        CpuStorage::F16(elements) => at(elements, offset),
        CpuStorage::F32(elements) => at(elements, offset),
        CpuStorage::F64(elements) => at(elements, offset),
        CpuStorage::F8E4M3(elements) => at(elements, offset),
        CpuStorage::F6E2M3(bytes) | CpuStorage::F6E3M2(bytes) => at(bytes, offset * 6 / 8),
        CpuStorage::F4(bytes) => at(bytes, offset * 4 / 8),
    }
}
