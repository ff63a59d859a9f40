//! burn: the primitives of its backends flex and ndarray.

use dlbridge::burn::burn_flex::{FlexTensor, Layout, ops};
use dlbridge::burn::burn_ndarray::NdArrayTensor;
use dlbridge::burn::burn_std::{DType, Shape, Slice};
use dlbridge::{Bridge, CopyPolicy, DataType, Error, Exchange, Reason, Route, Tensor};

use super::{Arrived, Facts, Made, Owner, Peer, Promise, arrive, base};
use crate::sample::{Op, Sample};

/// The sample as a flex tensor, made by burn's own operations.
fn flex(sample: &Sample) -> Option<FlexTensor> {
    sample.dtype.exchange::<DType>().ok()?;
    let base: FlexTensor = base(sample).convert().expect("a type of burn's");
    Some(sample.layout.ops.iter().fold(base, |tensor, op| {
        let (mut lengths, layout) = (tensor.layout().shape().to_vec(), tensor.layout().clone());
        match *op {
            Op::Permute(axes) => tensor.permute(axes),
            Op::Narrow(axis, start, length) => tensor.narrow(axis, start, length),
            Op::Flip(axis) => ops::flip::flip(tensor, &[axis]),
            Op::Step(axis, step) => {
                let mut slices = vec![Slice::full(); lengths.len()];
                slices[axis] = Slice::with_step(0, None, step as isize);
                ops::slice::slice(tensor, &slices)
            }
            Op::Broadcast(axis, length) => {
                lengths[axis] = length;
                ops::expand::expand(tensor, Shape::from(lengths))
            }
            // burn's reshape may copy, so the tensor is given a new layout instead.
            Op::Unsqueeze(axis) => {
                let mut strides = layout.strides().to_vec();
                lengths.insert(axis, 1);
                strides.insert(axis, 1);
                tensor.with_layout(Layout::new(Shape::from(lengths), strides, layout.start_offset()))
            }
        }
    }))
}

/// The address of a flex tensor's first element.
fn flex_data(tensor: &FlexTensor) -> *const u8 {
    tensor.bytes().as_ptr().wrapping_add(tensor.layout().start_offset() * tensor.dtype().size())
}

pub(super) struct Flex;

impl Peer for Flex {
    fn name(&self) -> &'static str {
        "burn_flex"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        let keep = flex(sample)?;
        let tensor: Tensor = (&keep).share().expect("any flex tensor can be shared");
        let data = flex_data(&keep);
        Some(Made { tensor, data, read_only: true, owner: Owner::Flex, calls: None, keep: Box::new(keep) })
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        let dtype = facts.sample.dtype;
        Some(match dtype.exchange::<DType>() {
            Ok(_) => Promise::Share,
            Err(_) => Promise::Refuse(Error::UnsupportedDType { framework: "burn", dtype }),
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<FlexTensor>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        arrive(tensor, policy, flex_data)
    }
}

pub(super) struct NdArray;

/// The address of the first element of a tensor on burn's backend ndarray.
fn ndarray_data(tensor: &NdArrayTensor) -> *const u8 {
    macro_rules! data {
        ($($variant:ident)*) => {
            match tensor {
                $(NdArrayTensor::$variant(storage) => storage.view().as_ptr().cast(),)*
            }
        };
    }
    data!(F64 F32 I64 I32 I16 I8 U64 U32 U16 U8 Bool)
}

impl Peer for NdArray {
    fn name(&self) -> &'static str {
        "burn_ndarray"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        let has_halves = matches!(sample.dtype, DataType::FLOAT16 | DataType::BFLOAT16);
        if sample.dtype.exchange::<DType>().is_err() || has_halves || !sample.layout.ops.is_empty() {
            return None;
        }
        let keep: NdArrayTensor = base(sample).convert().expect("a type of the backend");
        let tensor: Tensor = (&keep).share().expect("any tensor can be shared");
        // burn borrows nothing if there are no elements.
        let owner = if keep.is_borrowed() { Owner::BurnBorrowed } else { Owner::ArcArray };
        let data = ndarray_data(&keep);
        Some(Made { tensor, data, read_only: true, owner, calls: None, keep: Box::new(keep) })
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        let dtype = facts.sample.dtype;
        let framework = "burn's backend ndarray";
        Some(match dtype.exchange::<DType>() {
            Err(_) => Promise::Refuse(Error::UnsupportedDType { framework: "burn", dtype }),
            Ok(DType::F16 | DType::BF16) => Promise::Refuse(Error::UnsupportedDType { framework, dtype }),
            Ok(_) if facts.strided.is_contiguous() => Promise::Share,
            Ok(_) => Promise::Copy(Reason::Strided),
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        tensor.route::<NdArrayTensor>()
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        arrive(tensor, policy, ndarray_data)
    }
}
