//! Tests that need a GPU. They are *ignored, with the reason*, on a machine without one.
//!
//! `DLBRIDGE_REQUIRE=cuda` turns the absence of a GPU into a failure.

use std::process::ExitCode;

use interop_tests::trial::absent;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = TRIALS.iter().map(|(name, test)| {
        Trial::ignorable_test(format!("cuda/{name}"), move || match probe() {
            Ok(()) => test().map(|()| Completion::Completed),
            Err(reason) => absent("cuda", reason),
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

type Test = fn() -> Result<(), Failed>;

#[cfg(not(feature = "tch"))]
static TRIALS: &[(&str, Test)] = &[("tch", || Ok(()))];

#[cfg(not(feature = "tch"))]
fn probe() -> Result<(), &'static str> {
    Err("built without the feature `tch`, the only framework here that uses GPUs")
}

#[cfg(feature = "tch")]
static TRIALS: &[(&str, Test)] = &[
    ("tch_round_trip", torch::round_trip),
    ("tch_read_only", torch::read_only),
    ("tch_copies_stay_on_their_device", torch::copies_stay),
    ("candle_refuses", torch::candle_refuses),
];

#[cfg(feature = "tch")]
use torch::probe;

#[cfg(feature = "tch")]
mod torch {
    use dlbridge::candle::candle_core::Tensor as Candle;
    use dlbridge::tch::{data_ptr, tch};
    use dlbridge::{Bridge, CopyPolicy, Device, Error, Flags, ReadOnly, Reason, Tensor};
    use libtest_mimic::Failed;
    use tch::{Cuda, Kind, Tensor as Torch};

    pub(crate) fn probe() -> Result<(), &'static str> {
        match Cuda::device_count() {
            0 => Err("libtorch finds no CUDA device"),
            _ => Ok(()),
        }
    }

    /// On the last device, so that a lost device index is found on a machine with several.
    fn sample() -> (Torch, Device) {
        let index = Cuda::device_count() - 1;
        let torch = Torch::arange(6, (Kind::Float, tch::Device::Cuda(index as usize))).reshape([2, 3]);
        Cuda::synchronize(index);
        (torch, Device::cuda(index as i32))
    }

    pub(crate) fn round_trip() -> Result<(), Failed> {
        let (torch, device) = sample();
        let data = data_ptr(&torch)?;
        let tensor: Tensor = torch.share()?;
        assert_eq!((tensor.device(), tensor.data(), tensor.flags()), (device, data, Flags::empty()));
        assert_eq!(tensor.as_slice::<f32>(), Err(Error::NotOnHost { device }));
        let back: Torch = tensor.share()?;
        assert_eq!(data_ptr(&back)?, data);
        assert_eq!(back.sum(Kind::Float).double_value(&[]), 15.);
        Ok(())
    }

    pub(crate) fn read_only() -> Result<(), Failed> {
        let (torch, _) = sample();
        let tensor = torch.share::<Tensor>()?.into_read_only();
        let copied = tensor.convert_with::<Torch>(CopyPolicy::IfNeeded)?;
        assert_eq!(copied.copied, Some(Reason::ReadOnly));
        assert_eq!(copied.value.sum(Kind::Float).double_value(&[]), 15.);
        let sealed: ReadOnly<Torch> = copied.value.share::<Tensor>()?.into_read_only().share()?;
        assert!(sealed.shallow_clone().f_fill_(1.).is_err());
        Ok(())
    }

    pub(crate) fn copies_stay() -> Result<(), Failed> {
        let (torch, device) = sample();
        // The source keeps the tensor, so it is copied; the copy stays on the same device.
        let copied = (&torch).convert_with::<Torch>(CopyPolicy::IfNeeded)?;
        assert_eq!(copied.copied, Some(Reason::NotUnique));
        assert_eq!(copied.value.device(), torch.device());
        assert_eq!(copied.value.sum(Kind::Float).double_value(&[]), 15.);
        assert_eq!((&torch).convert::<Vec<f32>>().err(), Some(Error::NotOnHost { device }));
        Ok(())
    }

    pub(crate) fn candle_refuses() -> Result<(), Failed> {
        let (torch, device) = sample();
        assert_eq!(torch.convert::<Candle>().err(), Some(Error::UnsupportedDevice { framework: "candle", device }));
        Ok(())
    }
}
