//! The conformance trials for the core and for every importing framework; filter them with e.g. `-- candle/legacy`.

use std::borrow::Cow;
use std::process::ExitCode;

use dlbridge::{CopyPolicy, DataType, Device, DeviceType, Error, Route, Tensor};
use dlbridge_conformance::{Case, Consumer, Managed, Read, Verdict, trials};
use interop_tests::peer::{Facts, Owner, PEERS, Peer, Promise};
use interop_tests::raw::{Abi, Producer};
use interop_tests::sample::{LAYOUTS, Sample, Strided};
use libtest_mimic::{Failed, Trial};

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let is_target = |importer: &Importer| importer.promise(DataType::FLOAT32, &[2, 2]).is_some();
    let importers = || PEERS.iter().map(|peer| Importer(*peer)).filter(is_target);
    let elsewhere = importers().map(|importer| {
        let name = format!("{}/elsewhere", importer.name());
        Trial::test(name, move || DeviceType::ALL.iter().try_for_each(|kind| names_the_device(&importer, *kind)))
    });
    let cases = trials(Core).into_iter().chain(importers().flat_map(trials));
    let cases = cases.map(|trial| Trial::test(trial.to_string(), move || Ok(trial.run()?)));
    let trials = cases.chain(elsewhere).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Checks that memory which the CPU cannot read is refused, with an error that names the device, and by the route.
fn names_the_device(importer: &Importer, kind: DeviceType) -> Result<(), Failed> {
    let device = Device::new(kind, 120);
    if device.is_host_accessible() {
        return Ok(());
    }
    let producer = Producer::f32(&[2, 2], &[0.; 4]).device(device);
    // SAFETY: well-formed, but for the device, which nobody has.
    let tensor = unsafe { producer.import(Abi::Versioned) }?;
    let Route::Impossible(announced) = importer.0.route(&tensor) else {
        return Err(format!("{device}: the route does not refuse").into());
    };
    let refused = importer.0.import(tensor, CopyPolicy::IfNeeded).err();
    match &refused {
        Some(error) if *error != announced => Err(format!("{device}: announced {announced}, found {error}").into()),
        Some(
            Error::UnsupportedDevice { device: found, .. }
            | Error::DeviceUnavailable { device: found, .. }
            | Error::NotOnHost { device: found },
        ) if *found == device => Ok(()),
        other => Err(format!("{device}: found {other:?}").into()),
    }
}

fn import(managed: Managed) -> Result<Tensor, String> {
    // SAFETY: the kit's tensors are what they claim, as far as they are acceptable.
    unsafe { managed.import() }.map_err(|error| error.to_string())
}

fn read(tensor: Tensor) -> Result<Read, String> {
    let bytes = tensor.view().to_bytes().map_err(|error| error.to_string())?;
    Ok(Read { shape: tensor.shape().to_vec(), bytes, keep: Box::new(tensor) })
}

/// The core alone, which reads every element type and every layout.
struct Core;

impl Consumer for Core {
    fn name(&self) -> &str {
        "core"
    }

    fn consume(&self, managed: Managed) -> Result<Read, String> {
        read(import(managed)?)
    }
}

/// A framework, which must read whatever its peer in the matrix promises to share or to copy.
struct Importer(&'static dyn Peer);

impl Importer {
    /// What the peer promises for a row-major tensor from C; `None` if no Rust type stands for the element type.
    fn promise(&self, dtype: DataType, shape: &[i64]) -> Option<Promise> {
        let shape: Vec<usize> = shape.iter().map(|length| *length as usize).collect();
        let (sample, strided) = (Sample { dtype, layout: &LAYOUTS[0] }, Strided::contiguous(&shape));
        self.0.promise(&Facts { sample, strided, read_only: false, owner: Owner::Foreign })
    }
}

impl Consumer for Importer {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn consume(&self, managed: Managed) -> Result<Read, String> {
        let tensor = import(managed)?;
        if self.promise(tensor.dtype(), tensor.shape()).is_none() {
            return Err("no such type".into());
        }
        read(self.0.import(tensor, CopyPolicy::IfNeeded).map_err(|error| error.to_string())?.tensor)
    }

    fn limit(&self, case: &Case) -> Option<Cow<'static, str>> {
        let Verdict::Accept(shape, _) = case.verdict() else { return None };
        match self.promise(case.sample().dtype, shape) {
            Some(Promise::Refuse(error)) => Some(error.to_string().into()),
            Some(_) => None,
            None => Some("no such type".into()),
        }
    }
}
