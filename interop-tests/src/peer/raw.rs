//! C producers of both ABIs: any type, any layout. They are sources only.

use dlbridge::{CopyPolicy, Error, Route, Tensor};

use super::{Arrived, Facts, Made, Owner, Peer, Promise};
use crate::raw::{Abi, Producer};
use crate::sample::Sample;

pub(super) struct Raw(pub(super) Abi);

impl Peer for Raw {
    fn name(&self) -> &'static str {
        match self.0 {
            Abi::Versioned => "c_versioned",
            Abi::Legacy => "c_legacy",
        }
    }

    fn make(&self, sample: &Sample) -> Option<Made> {
        let producer = Producer::of(sample)?;
        let (data, calls) = (producer.first(), Some(producer.calls()));
        // SAFETY: a well-formed producer over its own memory, which nobody else uses.
        let tensor = unsafe { producer.import(self.0) }.expect("a well-formed tensor");
        Some(Made { tensor, data, read_only: false, owner: Owner::Foreign, calls, keep: Box::new(()) })
    }

    fn promise(&self, _: &Facts) -> Option<Promise> {
        None
    }

    fn route(&self, _: &Tensor) -> Route {
        unreachable!("a source only")
    }

    fn import(&self, _: Tensor, _: CopyPolicy) -> Result<Arrived, Error> {
        unreachable!("a source only")
    }
}
