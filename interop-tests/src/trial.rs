//! Tests of one square of the matrix, which is a sample, a source type and a target type, and of journeys over several
//! types.

use std::{fmt, thread};

use dlbridge::{CopyPolicy, DataType, Error, Reason, Route};
use libtest_mimic::{Completion, Failed, Trial};

use crate::peer::{Arrived, Facts, Made, PEERS, Peer, Promise};
use crate::sample::{LAYOUTS, Sample};
use crate::square::{Outcome, Square};

/// A sample on its way from one framework type to another.
#[derive(Clone, Copy)]
pub struct Cell {
    sample: Sample,
    source: &'static dyn Peer,
    target: &'static dyn Peer,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sample, source, target } = self;
        write!(f, "{}/{}/{}->{}", sample.dtype, sample.layout.name, source.name(), target.name())
    }
}

/// Every sample in every framework type that can make it, with the facts on which the promises of imports depend.
fn sources() -> impl Iterator<Item = (&'static dyn Peer, Facts)> {
    let samples = DataType::ALL.iter().flat_map(|dtype| LAYOUTS.iter().map(|layout| Sample { dtype: *dtype, layout }));
    samples.flat_map(|sample| {
        PEERS.iter().filter_map(move |source| source.make(&sample).map(|made| (*source, facts(sample, &made))))
    })
}

fn facts(sample: Sample, made: &Made) -> Facts {
    Facts { sample, strided: sample.strided(), read_only: made.read_only, owner: made.owner }
}

/// Every square whose source type can make the sample, and whose target type promises an outcome for it.
pub fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (source, facts) in sources() {
        let targets = PEERS.iter().filter(|target| target.promise(&facts).is_some());
        cells.extend(targets.map(|target| Cell { sample: facts.sample, source, target: *target }));
    }
    cells
}

macro_rules! ensure {
    ($left:expr, $right:expr, $what:literal) => {
        let (left, right) = (&$left, &$right);
        if left != right {
            return Err(format!("{}: found {left:?}, expected {right:?}", $what).into());
        }
    };
}

impl Cell {
    /// A test of the square, whose name can be used as a filter. If the test passes, it calls `passed` with the route.
    pub fn into_trial(self, passed: impl FnOnce(Self, Route) + Send + 'static) -> Trial {
        Trial::test(self.to_string(), move || {
            self.leaves_intact()?;
            self.judge(CopyPolicy::Never)?;
            self.judge(CopyPolicy::Always)?;
            passed(self, self.judge(CopyPolicy::IfNeeded)?);
            Ok(())
        })
    }

    /// What the library announces for this square.
    pub fn announced(&self) -> Route {
        self.target.route(&self.make().tensor)
    }

    /// The square with its outcome, for a report.
    pub fn square(&self, outcome: Outcome) -> Square {
        let (dtype, layout) = (self.sample.dtype.to_string(), self.sample.layout.name);
        Square { dtype, layout, source: self.source.name(), target: self.target.name(), outcome }
    }

    fn make(&self) -> Made {
        self.source.make(&self.sample).expect("made before, when the square was listed")
    }

    /// Checks that the exported tensor agrees with the framework, and that its elements agree with the model.
    fn leaves_intact(&self) -> Result<(), Failed> {
        let made = self.make();
        let strided = self.sample.strided();
        ensure!(made.tensor.dtype(), self.sample.dtype, "dtype");
        let shape: Vec<i64> = strided.shape.iter().map(|length| *length as i64).collect();
        ensure!(made.tensor.shape(), &shape[..], "shape");
        if !shape.contains(&0) {
            ensure!(made.tensor.data(), made.data, "address of the first element");
            let walked = |axis: &usize| shape[*axis] > 1;
            let strides = made.tensor.strides().to_vec();
            let found: Vec<i64> = (0..shape.len()).filter(walked).map(|axis| strides[axis]).collect();
            let expected: Vec<i64> = (0..shape.len()).filter(walked).map(|axis| strided.strides[axis]).collect();
            ensure!(found, expected, "strides of axes longer than 1");
        }
        ensure!(made.tensor.flags().is_read_only(), made.read_only, "read-only flag");
        ensure!(made.tensor.view().to_bytes().map_err(Failed::from)?, self.sample.expected_bytes(), "elements");
        Ok(())
    }

    /// Checks that the import does what the target promises, and that the library says so before the import and after
    /// it. Returns the route that it announced.
    fn judge(&self, policy: CopyPolicy) -> Result<Route, Failed> {
        let made = self.make();
        let promise = self.target.promise(&facts(self.sample, &made)).expect("listed with a promise");
        let announced = match promise.clone() {
            Promise::Share => Route::Shared,
            Promise::Copy(reason) => Route::Copied(reason),
            Promise::Refuse(error) => Route::Impossible(error),
        };
        ensure!(self.target.route(&made.tensor), announced, "route");
        let (data, calls, keep) = (made.data, made.calls, made.keep);
        let outcome = self.target.import(made.tensor, policy);
        match (promise, policy) {
            (Promise::Refuse(error), _) => {
                ensure!(outcome.err(), Some(error), "error");
            }
            (Promise::Copy(reason), CopyPolicy::Never) => {
                let Some(Error::CopyRequired { reason: found, .. }) = outcome.err() else {
                    return Err("sharing was not refused".into());
                };
                ensure!(found, reason, "reason");
            }
            (Promise::Copy(reason), CopyPolicy::IfNeeded) => self.check(outcome?, data, Some(reason))?,
            (_, CopyPolicy::Always) => self.check(outcome?, data, Some(Reason::Requested))?,
            (Promise::Share, _) => self.check(outcome?, data, None)?,
        }
        drop(keep);
        ensure!(calls.map_or(1, |calls| calls.count()), 1, "calls of the deleter");
        Ok(announced)
    }

    fn check(&self, arrived: Arrived, source: *const u8, copied: Option<Reason>) -> Result<(), Failed> {
        let shape: Vec<i64> = self.sample.strided().shape.iter().map(|length| *length as i64).collect();
        ensure!(arrived.copied, copied, "copy");
        ensure!(arrived.tensor.shape(), &shape[..], "shape");
        ensure!(arrived.tensor.view().to_bytes().map_err(Failed::from)?, self.sample.expected_bytes(), "elements");
        if !shape.contains(&0) {
            ensure!(arrived.data == source, copied.is_none(), "same memory");
        }
        Ok(())
    }
}

/// A sample on its way through three framework types and back to the first, A → B → C → A. It enters C on another
/// thread. If A is a raw producer, which cannot import, the way is A → B → C → B.
#[derive(Clone, Copy)]
pub struct Journey {
    sample: Sample,
    source: &'static dyn Peer,
    stops: [&'static dyn Peer; 3],
}

impl fmt::Display for Journey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sample, source, stops } = self;
        write!(f, "{}/{}/{}", sample.dtype, sample.layout.name, source.name())?;
        stops.iter().try_for_each(|stop| write!(f, "->{}", stop.name()))
    }
}

/// Every journey through three different framework types of which none refuses the sample. From a raw producer, there
/// is one journey for each B, with only one C.
pub fn journeys() -> Vec<Journey> {
    let mut journeys = Vec::new();
    for (source, facts) in sources() {
        let sample = facts.sample;
        let accepts = |peer: &&'static dyn Peer| !matches!(peer.promise(&facts), None | Some(Promise::Refuse(_)));
        let is_source = |peer: &&'static dyn Peer| peer.name() == source.name();
        let (home, others): (Vec<_>, Vec<_>) = PEERS.iter().copied().filter(accepts).partition(is_source);
        for (index, first) in others.iter().copied().enumerate() {
            // Every other type as C, beginning with the one after `first`.
            let mut seconds = (1..others.len()).map(|steps| others[(index + steps) % others.len()]);
            match home.first().copied() {
                Some(home) => journeys.extend(seconds.map(|it| Journey { sample, source, stops: [first, it, home] })),
                None => journeys.extend(seconds.next().map(|it| Journey { sample, source, stops: [first, it, first] })),
            }
        }
    }
    journeys
}

impl Journey {
    /// A test of the journey, whose name can be used as a filter.
    pub fn into_trial(self) -> Trial {
        Trial::test(self.to_string(), move || {
            self.travel(true)?;
            self.travel(false)
        })
    }

    /// Checks that every stop does what its route announces, and that the elements arrive. The handle that the source
    /// framework itself keeps is dropped first or last, as `keep_goes_first` says.
    fn travel(&self, keep_goes_first: bool) -> Result<(), Failed> {
        let Made { tensor, data: source, calls, keep, .. } = self.source.make(&self.sample).expect("made before");
        let (keep, shape) = ((!keep_goes_first).then_some(keep), tensor.shape().to_vec());
        let (mut tensor, mut address) = (tensor, source.addr());
        for (index, stop) in self.stops.into_iter().enumerate() {
            let announced = stop.route(&tensor);
            let import = move || {
                let Arrived { copied, data, tensor } = stop.import(tensor, CopyPolicy::IfNeeded)?;
                Ok::<_, Error>((copied, data.addr(), tensor))
            };
            let (copied, data, arrived) = match index {
                1 => thread::spawn(import).join().expect("no panic on the way")?,
                _ => import()?,
            };
            ensure!(announced, copied.map_or(Route::Shared, Route::Copied), "route");
            ensure!(arrived.dtype(), self.sample.dtype, "dtype");
            ensure!(arrived.shape(), &shape[..], "shape");
            if !shape.contains(&0) {
                ensure!(data == address, copied.is_none(), "same memory");
            }
            // The next address is that of the export: Arrow packs booleans, and exports them unpacked, at another
            // address.
            (address, tensor) = (arrived.data().addr(), arrived);
        }
        ensure!(tensor.view().to_bytes().map_err(Failed::from)?, self.sample.expected_bytes(), "elements");
        drop(keep);
        drop(tensor);
        ensure!(calls.map_or(1, |calls| calls.count()), 1, "calls of the deleter");
        Ok(())
    }
}

/// The outcome of a trial that needs a `device` (or something else, as `"python"`) that is not there: the trial is
/// ignored, with the reason, or fails if the environment variable `DLBRIDGE_REQUIRE` names the device.
///
/// # Errors
/// The device is required.
pub fn absent(device: &str, reason: &str) -> Result<Completion, Failed> {
    let required = std::env::var("DLBRIDGE_REQUIRE").unwrap_or_default();
    if required.split(',').any(|name| name == device) {
        return Err(format!("DLBRIDGE_REQUIRE={required}, but {reason}").into());
    }
    Ok(Completion::ignored_with(reason))
}
