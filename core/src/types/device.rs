//! Devices: where memory lives.
#![forbid(unsafe_code)]

use core::fmt;

use super::dtype::parse_number;
use crate::sys::{self, DLDevice};

/// The kind of device: an open integer, because producers may know kinds that we do not.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceType(pub i32);

/// A device: its kind and its index among the devices of that kind (DLPack's `DLDevice`).
///
/// Prints and parses as `"cpu"`, `"cuda:1"`; an unknown kind as `"device<kind>:<index>"`. `"cuda"` parses as
/// `"cuda:0"`.
///
/// ```
/// # use dlbridge_core::Device;
/// assert_eq!(Device::CPU.to_string(), "cpu");
/// assert_eq!("cuda:1".parse(), Ok(Device::cuda(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device {
    kind: DeviceType,
    id: i32,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $sys:ident, $text:literal, $host:literal;)*) => {
        impl DeviceType {
            $($(#[$doc])* pub const $name: Self = Self(sys::$sys);)*

            /// Every kind that DLPack names.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
        /// Kind, name, and whether the CPU can read the memory.
        const KINDS: &[(DeviceType, &str, bool)] = &[$((DeviceType::$name, $text, $host)),*];
    };
}

kinds! {
    /// Main memory.
    CPU = kDLCPU, "cpu", true;
    /// CUDA GPU.
    CUDA = kDLCUDA, "cuda", false;
    /// Host memory pinned by CUDA.
    CUDA_HOST = kDLCUDAHost, "cuda_host", true;
    /// OpenCL.
    OPENCL = kDLOpenCL, "opencl", false;
    /// Vulkan.
    VULKAN = kDLVulkan, "vulkan", false;
    /// Metal.
    METAL = kDLMetal, "metal", false;
    /// Verilog simulator.
    VPI = kDLVPI, "vpi", false;
    /// ROCm GPU.
    ROCM = kDLROCM, "rocm", false;
    /// Host memory pinned by ROCm.
    ROCM_HOST = kDLROCMHost, "rocm_host", true;
    /// Extension device.
    EXT_DEV = kDLExtDev, "ext_dev", false;
    /// CUDA managed memory: the CPU may read it once the device has finished with it.
    CUDA_MANAGED = kDLCUDAManaged, "cuda_managed", true;
    /// oneAPI.
    ONE_API = kDLOneAPI, "oneapi", false;
    /// WebGPU.
    WEB_GPU = kDLWebGPU, "webgpu", false;
    /// Hexagon DSP.
    HEXAGON = kDLHexagon, "hexagon", false;
    /// MAIA.
    MAIA = kDLMAIA, "maia", false;
    /// Trainium.
    TRN = kDLTrn, "trn", false;
    /// TPU.
    TPU = kDLTPU, "tpu", false;
    /// Host memory pinned for a TPU.
    TPU_HOST = kDLTPUHost, "tpu_host", true;
}

impl Device {
    /// Main memory.
    pub const CPU: Self = Self::new(DeviceType::CPU, 0);

    /// Device `id` of a kind. Any pair is accepted, as DLPack's integers are open.
    pub const fn new(kind: DeviceType, id: i32) -> Self {
        Self { kind, id }
    }

    /// CUDA GPU number `id`.
    pub const fn cuda(id: i32) -> Self {
        Self::new(DeviceType::CUDA, id)
    }

    /// The kind of device.
    pub const fn kind(self) -> DeviceType {
        self.kind
    }

    /// The index among the devices of that kind.
    pub const fn id(self) -> i32 {
        self.id
    }

    /// Whether the CPU can read this memory: main memory, and pinned or managed memory of GPUs.
    ///
    /// While the CPU reads managed memory, its device must not use it. A producer that hands it out promises that,
    /// because in DLPack the exchange takes care of synchronisation.
    #[cold]
    pub fn is_host_accessible(self) -> bool {
        KINDS.iter().any(|(kind, _, host)| *kind == self.kind && *host)
    }
}

impl From<DLDevice> for Device {
    fn from(raw: DLDevice) -> Self {
        Self::new(DeviceType(raw.device_type), raw.device_id)
    }
}

impl From<Device> for DLDevice {
    fn from(device: Device) -> Self {
        Self { device_type: device.kind.0, device_id: device.id }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::CPU {
            return f.write_str("cpu");
        }
        match KINDS.iter().find(|(kind, ..)| *kind == self.kind) {
            Some((_, name, _)) => write!(f, "{name}:{}", self.id),
            None => write!(f, "device{}:{}", self.kind.0, self.id),
        }
    }
}

impl Device {
    /// The device that `text` names, if there is one.
    pub(crate) fn named(text: &str) -> Option<Self> {
        let (name, id) = match text.split_once(':') {
            Some((name, id)) => (name, parse_signed(id)?),
            None => (text, 0),
        };
        let named = KINDS.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind);
        let kind = named.or_else(|| Some(DeviceType(parse_signed(name.strip_prefix("device")?)?)))?;
        Some(Self::new(kind, id))
    }
}

fn parse_signed(digits: &str) -> Option<i32> {
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    parse_number::<u32>(unsigned)?;
    digits.parse().ok().filter(|_| digits != "-0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_device_survives_its_name() {
        for kind in [-1, 0, 99, i32::MIN, i32::MAX].into_iter().chain(1..=20) {
            for id in [0, 1, 7, -1, i32::MIN, i32::MAX] {
                let device = Device::new(DeviceType(kind), id);
                assert_eq!(device.to_string().parse(), Ok(device), "{device}");
            }
        }
    }

    #[test]
    fn names_are_those_of_the_array_world() {
        assert_eq!(Device::CPU.to_string(), "cpu");
        assert_eq!("cuda".parse(), Ok(Device::cuda(0)));
        assert_eq!("cuda:1".parse(), Ok(Device::cuda(1)));
        assert_eq!(Device::new(DeviceType(99), 2).to_string(), "device99:2");
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:+1", "cuda:01", "cuda:1:2", "CPU", ":0", "cuda:-0"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }

    #[test]
    fn pinned_and_managed_memory_is_host_memory() {
        let host: alloc::vec::Vec<_> =
            DeviceType::ALL.iter().filter(|kind| Device::new(**kind, 0).is_host_accessible()).collect();
        use DeviceType as D;
        assert_eq!(host, [&D::CPU, &D::CUDA_HOST, &D::ROCM_HOST, &D::CUDA_MANAGED, &D::TPU_HOST]);
    }
}
