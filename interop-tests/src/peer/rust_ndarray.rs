//! ndarray: `Array` and `ArcArray` as sources and targets, `Owned` as a target.

use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{ArcArray, Array, ArrayD, Axis, IxDyn, Slice};
use dlbridge::{Bridge, CopyPolicy, Element, Error, Reason, Route, Tensor};

use super::{Arrived, Facts, Made, Owner, Peer, Promise, arrive, base_elements, by_element, rust_has};
use crate::sample::{Op, Sample};

/// The sample as an array, made by ndarray's own operations; `None` if only a view can have this layout.
fn array<T: Element>(sample: &Sample) -> Option<ArrayD<T>> {
    let base = Array::from_shape_vec(IxDyn(sample.layout.base), base_elements(sample)).expect("the right length");
    sample.layout.ops.iter().try_fold(base, |mut array, op| {
        match *op {
            Op::Permute(axes) => return Some(array.permuted_axes(axes)),
            Op::Narrow(axis, start, length) => {
                array.slice_axis_inplace(Axis(axis), Slice::from(start..start + length));
            }
            Op::Step(axis, step) => array.slice_axis_inplace(Axis(axis), Slice::new(0, None, step as isize)),
            Op::Flip(axis) => array.invert_axis(Axis(axis)),
            Op::Unsqueeze(axis) => return Some(array.insert_axis(Axis(axis))),
            Op::Broadcast(..) => return None,
        }
        Some(array)
    })
}

pub(super) struct Owning;

impl Peer for Owning {
    fn name(&self) -> &'static str {
        "array"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        by_element!(sample.dtype, T => {
            let array = array::<T>(sample)?;
            let data = array.as_ptr().cast();
            // An array in standard order is exported as its vector, unless it begins behind the vector's start.
            let (contiguous, offset) = (array.is_standard_layout(), sample.strided().offset);
            let owner = if contiguous && offset == 0 { Owner::Vec } else { Owner::Array };
            let tensor = array.share().expect("any array can be shared");
            Some(Made { tensor, data, read_only: false, owner, calls: None, keep: Box::new(()) })
        }, _ => None)
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        rust_has(facts.sample.dtype).then_some(match facts.owner {
            Owner::Vec | Owner::Array => Promise::Share,
            _ => Promise::Copy(Reason::ForeignMemory),
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        by_element!(tensor.dtype(), T => tensor.route::<ArrayD<T>>(), _ => unreachable!("no promise"))
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        by_element!(
            tensor.dtype(),
            T => arrive(tensor, policy, |array: &ArrayD<T>| array.as_ptr().cast()),
            _ => unreachable!("no promise")
        )
    }
}

pub(super) struct Shared;

impl Peer for Shared {
    fn name(&self) -> &'static str {
        "arc_array"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        by_element!(sample.dtype, T => {
            let keep = array::<T>(sample)?.into_shared();
            let data = keep.as_ptr().cast();
            let tensor = keep.clone().share().expect("any array can be shared");
            Some(Made { tensor, data, read_only: true, owner: Owner::ArcArray, calls: None, keep: Box::new(keep) })
        }, _ => None)
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        rust_has(facts.sample.dtype).then_some(match facts.owner {
            Owner::Vec | Owner::Array | Owner::ArcArray => Promise::Share,
            _ => Promise::Copy(Reason::ForeignMemory),
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        by_element!(tensor.dtype(), T => tensor.route::<ArcArray<T, IxDyn>>(), _ => unreachable!("no promise"))
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        by_element!(
            tensor.dtype(),
            T => arrive(tensor, policy, |array: &ArcArray<T, IxDyn>| array.as_ptr().cast()),
            _ => unreachable!("no promise")
        )
    }
}

/// `Owned`: any foreign memory, any layout.
pub(super) struct Foreign;

impl Peer for Foreign {
    fn name(&self) -> &'static str {
        "owned"
    }

    fn make(&self, _: &Sample) -> Option<Made> {
        None
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        rust_has(facts.sample.dtype).then_some(Promise::Share)
    }

    fn route(&self, tensor: &Tensor) -> Route {
        by_element!(tensor.dtype(), T => tensor.route::<Owned<T, IxDyn>>(), _ => unreachable!("no promise"))
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        by_element!(
            tensor.dtype(),
            T => arrive(tensor, policy, |array: &Owned<T, IxDyn>| array.as_ptr().cast()),
            _ => unreachable!("no promise")
        )
    }
}
