//! Exchange of dtypes and devices without a tensor (array-API RFC #972), from every framework to every other.
#![cfg(all(feature = "arrow", feature = "burn", feature = "candle", feature = "tch"))]

use std::fmt::Debug;

use dlbridge::arrow::arrow_schema::DataType as ArrowType;
use dlbridge::burn::burn_std::DType as BurnDType;
use dlbridge::burn::burn_tensor::Device as BurnDevice;
use dlbridge::candle::candle_core::{DType as CandleDType, Device as CandleDevice};
use dlbridge::tch::tch::{Device as TorchDevice, Kind};
use dlbridge::{DataType, Device, DeviceType, Exchange, Interchange};

/// Takes a dtype or a device of DLPack to `A`, to `B`, and back from each, and checks that it stays the same or that
/// the side that lacks it says so. Returns whether both sides have it.
fn travels<A, B, ViaA, ViaB, S>(standard: S) -> bool
where
    A: Interchange<ViaA, Standard = S>,
    B: Interchange<ViaB, Standard = S>,
    S: Copy + PartialEq + Debug,
{
    let Ok(there) = A::from_dlpack(standard) else { return false };
    assert_eq!(there.to_dlpack(), Ok(standard), "there and back");
    match there.exchange::<B>() {
        Ok(on) => {
            assert_eq!(on.to_dlpack(), Ok(standard), "on and back");
            assert!(on.exchange::<A>().is_ok_and(|back| back.to_dlpack() == Ok(standard)));
            true
        }
        Err(error) => {
            assert_eq!(B::from_dlpack(standard).err(), Some(error), "{standard:?} is refused as such");
            false
        }
    }
}

/// For every pair of types, the number of dtypes or devices that can be exchanged.
macro_rules! table {
    ($standards:expr => [$($from:ty),*] => $to:tt) => {
        [$(table!(@row $standards, $from, $to)),*]
    };
    (@row $standards:expr, $from:ty, [$($to:ty),*]) => {
        [$($standards.iter().filter(|standard| travels::<$from, $to, _, _, _>(**standard)).count()),*]
    };
}

#[test]
fn dtypes() {
    let open = table!(
        DataType::ALL => [CandleDType, Kind, BurnDType, ArrowType, DataType] => [CandleDType, Kind, BurnDType, ArrowType, DataType]
    );
    // The table is symmetric, and no framework exchanges more with another one than with itself.
    for (row, from) in open.iter().enumerate() {
        for (column, count) in from.iter().enumerate() {
            assert_eq!(*count, open[column][row]);
            assert!(*count >= 7 && *count <= open[row][row].min(open[column][column]));
        }
    }
    assert_eq!(open[4][4], DataType::ALL.len());
}

#[test]
fn devices() {
    // The CPU is number 0 by the standard.
    let gpus = DeviceType::ALL.iter().filter(|kind| **kind != DeviceType::CPU);
    let all: Vec<_> = gpus.flat_map(|kind| [0, 1, 7].map(|id| Device::new(*kind, id))).chain([Device::CPU]).collect();
    let open = table!(
        all => [CandleDevice, TorchDevice, BurnDevice, Device] => [CandleDevice, TorchDevice, BurnDevice, Device]
    );
    assert!(open.iter().flatten().all(|count| *count >= 1), "the CPU is everywhere");
    assert_eq!(open[3][3], all.len());
    assert_eq!(Device::CPU.exchange::<TorchDevice>(), Ok(TorchDevice::Cpu));
}
