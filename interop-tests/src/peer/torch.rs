//! tch: plain tensors, and sealed ones over read-only memory.

use dlbridge::tch::tch::Tensor as TorchTensor;
use dlbridge::{Bridge, CopyPolicy, DataType, Error, ReadOnly, Reason, Route, Tensor};

use super::{Arrived, Facts, Made, Owner, Peer, Promise, arrive, base};
use crate::sample::{Op, Sample};

/// The types that libtorch and DLPack have in common. The adapter under test has a table of its own.
const DTYPES: &[DataType] = &[
    DataType::BOOL,
    DataType::INT8,
    DataType::INT16,
    DataType::INT32,
    DataType::INT64,
    DataType::UINT8,
    DataType::UINT16,
    DataType::UINT32,
    DataType::UINT64,
    DataType::FLOAT16,
    DataType::FLOAT32,
    DataType::FLOAT64,
    DataType::BFLOAT16,
    DataType::COMPLEX32,
    DataType::COMPLEX64,
    DataType::COMPLEX128,
    DataType::FLOAT8_E4M3FN,
    DataType::FLOAT8_E4M3FNUZ,
    DataType::FLOAT8_E5M2,
    DataType::FLOAT8_E5M2FNUZ,
    DataType::FLOAT8_E8M0FNU,
];

/// The sample as a tensor of libtorch, made by its own operations; `None` if it has no operation for it.
fn tensor(sample: &Sample) -> Option<TorchTensor> {
    if !DTYPES.contains(&sample.dtype) {
        return None;
    }
    let base: TorchTensor = base(sample).share().expect("a dtype of libtorch's");
    sample.layout.ops.iter().try_fold(base, |tensor, op| match *op {
        Op::Permute(axes) => {
            let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
            tensor.f_permute(axes).ok()
        }
        Op::Narrow(axis, start, length) => tensor.f_narrow(axis as i64, start as i64, length as i64).ok(),
        Op::Step(axis, step) => tensor.f_slice(axis as i64, None, None, step as i64).ok(),
        Op::Unsqueeze(axis) => tensor.f_unsqueeze(axis as i64).ok(),
        Op::Broadcast(axis, length) => {
            let mut shape = tensor.size();
            shape[axis] = length as i64;
            tensor.f_expand(shape, false).ok()
        }
        Op::Flip(..) => None,
    })
}

fn data(tensor: &TorchTensor) -> *const u8 {
    dlbridge::tch::data_ptr(tensor).expect("a dense tensor")
}

/// What an import as a plain or a sealed tensor promises, apart from the read-only flag.
fn promise(facts: &Facts) -> Promise {
    let dtype = facts.sample.dtype;
    if !DTYPES.contains(&dtype) {
        Promise::Refuse(Error::UnsupportedDType { framework: "tch", dtype })
    } else if facts.strided.is_reversed() {
        Promise::Copy(Reason::NegativeStrides)
    } else {
        Promise::Share
    }
}

pub(super) struct Plain;

impl Peer for Plain {
    fn name(&self) -> &'static str {
        "tch"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        let tensor = tensor(sample)?;
        let data = data(&tensor);
        let tensor = tensor.share().expect("the only handle to a dense tensor");
        Some(Made { tensor, data, read_only: false, owner: Owner::Torch, calls: None, keep: Box::new(()) })
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        Some(match promise(facts) {
            Promise::Share if facts.read_only => Promise::Copy(Reason::ReadOnly),
            // Whoever has the gaps is not known of memory from C.
            Promise::Share if facts.owner == Owner::Foreign && facts.strided.has_gaps() => Promise::Copy(Reason::Gaps),
            promise => promise,
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<TorchTensor>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        arrive(tensor, policy, data)
    }
}

pub(super) struct Sealed;

impl Peer for Sealed {
    fn name(&self) -> &'static str {
        "tch_read_only"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        let exported: Tensor = tensor(sample)?.share().expect("the only handle to a dense tensor");
        let keep: ReadOnly<TorchTensor> = exported.share().expect("libtorch's own memory");
        let data = data(&keep);
        let tensor = (&*keep).share().expect("sealed memory can be shared by reference");
        Some(Made { tensor, data, read_only: true, owner: Owner::Foreign, calls: None, keep: Box::new(keep) })
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        Some(promise(facts))
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<ReadOnly<TorchTensor>>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        arrive(tensor, policy, |sealed: &ReadOnly<TorchTensor>| data(sealed))
    }
}
