//! `Vec<T>`: as a source, a tensor of one axis; as a target, the elements of any tensor in row-major order.

use dlbridge::{Bridge, CopyPolicy, Error, Reason, Route, Tensor};

use super::{Arrived, Facts, Made, Owner, Peer, Promise, base_elements, by_element, rust_has};
use crate::sample::Sample;

pub(super) struct RustVec;

impl Peer for RustVec {
    fn name(&self) -> &'static str {
        "vec"
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        if !sample.layout.ops.is_empty() {
            return None;
        }
        by_element!(sample.dtype, T => {
            let elements = base_elements::<T>(sample);
            let data = elements.as_ptr().cast();
            let tensor = Tensor::new(elements, sample.layout.base).map_err(Error::from).expect("the right length");
            Some(Made { tensor, data, read_only: false, owner: Owner::Vec, calls: None, keep: Box::new(()) })
        }, _ => None)
    }

    fn promise(&self, facts: &Facts) -> Option<Promise> {
        rust_has(facts.sample.dtype).then_some(match facts.owner {
            Owner::Vec => Promise::Share,
            _ => Promise::Copy(Reason::ForeignMemory),
        })
    }

    fn route(&self, tensor: &Tensor) -> Route {
        by_element!(tensor.dtype(), T => tensor.route::<Vec<T>>(), _ => unreachable!("no promise"))
    }

    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error> {
        let shape: Vec<usize> = tensor.shape().iter().map(|length| *length as usize).collect();
        by_element!(tensor.dtype(), T => {
            let arrived = tensor.convert_with::<Vec<T>>(policy)?;
            let (data, copied) = (arrived.value.as_ptr().cast(), arrived.copied);
            let tensor = Tensor::new(arrived.value, &shape).map_err(Error::from)?;
            Ok(Arrived { copied, data, tensor })
        }, _ => unreachable!("no promise"))
    }
}
