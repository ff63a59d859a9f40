//! What the matrix of tests asks of a framework type: how to make a tensor of it, how to import one, and what an import
//! promises.

mod all;
#[cfg(feature = "arrow")]
mod arrow;
mod buffers;
#[cfg(feature = "burn")]
#[expect(deprecated, reason = "burn has deprecated its backend ndarray; it is still used")]
mod burn;
#[cfg(feature = "candle")]
mod candle;
mod raw;
#[cfg(feature = "ndarray")]
mod rust_ndarray;
#[cfg(feature = "tch")]
mod torch;

use std::any::Any;

use dlbridge::{Bridge, CopyPolicy, DataType, Error, Export, Import, Reason, Route, Tensor};

pub use all::PEERS;

use crate::raw::{Abi, Calls, Producer};
use crate::sample::{Sample, Strided};

/// A framework type under test.
pub trait Peer: Sync {
    /// The name of the framework type, for the names of the trials.
    fn name(&self) -> &'static str;

    /// A tensor of this type with the sample's elements and layout, exported; `None` if the framework has no such type
    /// or layout, or if this is a target only.
    fn make(&self, sample: &Sample) -> Option<Made>;

    /// What importing a tensor promises; `None` if this is a source only.
    fn promise(&self, facts: &Facts) -> Option<Promise>;

    /// What the library says that it would do.
    fn route(&self, tensor: &Tensor) -> Route;

    /// Imports the tensor, and exports the result again.
    ///
    /// # Errors
    /// Those of the import.
    fn import(&self, tensor: Tensor, policy: CopyPolicy) -> Result<Arrived, Error>;
}

/// An exported tensor of a framework.
pub struct Made {
    /// What was exported.
    pub tensor: Tensor,
    /// Where the framework says that the first element is.
    pub data: *const u8,
    /// Whether the memory must not be written.
    pub read_only: bool,
    /// What owns the memory on the Rust side.
    pub owner: Owner,
    /// The deleter's counter, where the producer has one.
    pub calls: Option<Calls>,
    /// What the framework itself keeps.
    pub keep: Box<dyn Any>,
}

/// The owner of a tensor's memory in Rust. Only a type that can hold this owner takes the memory over without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `Vec<T>`.
    Vec,
    /// `ndarray::Array`, not in standard order.
    Array,
    /// `ndarray::ArcArray` with several handles.
    ArcArray,
    /// A candle tensor.
    Candle,
    /// A libtorch tensor that was the only handle to its storage.
    Torch,
    /// A flex tensor of burn's.
    Flex,
    /// A tensor of burn's backend ndarray that borrows.
    BurnBorrowed,
    /// No owner that a Rust type could take over.
    Foreign,
}

/// What the promise of an import depends on.
#[derive(Debug)]
pub struct Facts {
    /// The element type and the layout.
    pub sample: Sample,
    /// The layout in numbers.
    pub strided: Strided,
    /// Whether the memory must not be written.
    pub read_only: bool,
    /// What owns the memory.
    pub owner: Owner,
}

/// What an import does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Shares the memory.
    Share,
    /// Copies, for this reason.
    Copy(Reason),
    /// Refuses with this error.
    Refuse(Error),
}

/// An imported tensor, exported again.
pub struct Arrived {
    /// Why it was copied, if it was.
    pub copied: Option<Reason>,
    /// Where the framework says that the first element is.
    pub data: *const u8,
    /// What the framework has now, exported again.
    pub tensor: Tensor,
}

/// Imports a tensor as a `Dst`, asks it where its elements are, and exports it again.
fn arrive<Dst, In, Out>(
    tensor: Tensor,
    policy: CopyPolicy,
    data: impl FnOnce(&Dst) -> *const u8,
) -> Result<Arrived, Error>
where
    Dst: Import<In> + Export<Out>,
{
    let arrived = tensor.convert_with::<Dst>(policy)?;
    let (data, copied) = (data(&arrived.value), arrived.copied);
    Ok(Arrived { copied, data, tensor: arrived.value.share()? })
}

/// Calls `$body` with `$T` bound to the Rust type of `$dtype`, or gives `$otherwise`.
macro_rules! by_element {
    ($dtype:expr, $T:ident => $body:expr, _ => $otherwise:expr) => {
        match $dtype {
            d if d == <bool as dlbridge::Element>::DTYPE => {
                type $T = bool;
                $body
            }
            d if d == <i8 as dlbridge::Element>::DTYPE => {
                type $T = i8;
                $body
            }
            d if d == <i16 as dlbridge::Element>::DTYPE => {
                type $T = i16;
                $body
            }
            d if d == <i32 as dlbridge::Element>::DTYPE => {
                type $T = i32;
                $body
            }
            d if d == <i64 as dlbridge::Element>::DTYPE => {
                type $T = i64;
                $body
            }
            d if d == <u8 as dlbridge::Element>::DTYPE => {
                type $T = u8;
                $body
            }
            d if d == <u16 as dlbridge::Element>::DTYPE => {
                type $T = u16;
                $body
            }
            d if d == <u32 as dlbridge::Element>::DTYPE => {
                type $T = u32;
                $body
            }
            d if d == <u64 as dlbridge::Element>::DTYPE => {
                type $T = u64;
                $body
            }
            d if d == <half::f16 as dlbridge::Element>::DTYPE => {
                type $T = half::f16;
                $body
            }
            d if d == <half::bf16 as dlbridge::Element>::DTYPE => {
                type $T = half::bf16;
                $body
            }
            d if d == <f32 as dlbridge::Element>::DTYPE => {
                type $T = f32;
                $body
            }
            d if d == <f64 as dlbridge::Element>::DTYPE => {
                type $T = f64;
                $body
            }
            d if d == <num_complex::Complex<f32> as dlbridge::Element>::DTYPE => {
                type $T = num_complex::Complex<f32>;
                $body
            }
            d if d == <num_complex::Complex<f64> as dlbridge::Element>::DTYPE => {
                type $T = num_complex::Complex<f64>;
                $body
            }
            d if d == <num_complex::Complex<half::f16> as dlbridge::Element>::DTYPE => {
                type $T = num_complex::Complex<half::f16>;
                $body
            }
            _ => $otherwise,
        }
    };
}
use by_element;

/// Whether some Rust type reads this element type.
pub fn rust_has(dtype: DataType) -> bool {
    by_element!(dtype, _T => true, _ => false)
}

/// A sample's base as a tensor that comes from C.
fn base(sample: &Sample) -> Tensor {
    let shape: Vec<i64> = sample.layout.base.iter().map(|length| *length as i64).collect();
    let producer = Producer::new(sample.dtype, &shape, &sample.base_bytes());
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    unsafe { producer.import(Abi::Versioned) }.expect("a well-formed tensor")
}

/// The elements of a sample's base. `T` must be the Rust type of the sample's dtype.
fn base_elements<T: dlbridge::Element>(sample: &Sample) -> Vec<T> {
    base(sample).to_vec().expect("a tensor of `T`")
}
