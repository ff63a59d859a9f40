//! Fuzzing with raw descriptors of both ABIs: a well-formed tensor must arrive with the right elements in every
//! framework of the build, and a malformed one must be refused. Nothing may panic, and the deleter must run once.
//! `.ci/fuzz` runs it.
#![no_main]

mod model;

use std::ops::RangeInclusive;
use std::ptr;

use arbitrary::{Arbitrary, Unstructured};
use dlbridge::sys::{DLDataType, DLPackVersion};
use dlbridge::{CopyPolicy, DataType, Device, DeviceType, Tensor};
use interop_tests::peer::{PEERS, rust_has};
use interop_tests::raw::{ABIS, Abi, Producer};
use libfuzzer_sys::fuzz_target;

use model::Model;

/// The largest number of axes.
const AXES: usize = 4;
/// The size in bytes of the memory that every descriptor points to.
const MEMORY: usize = 1 << 10;

/// The fields of a descriptor.
#[derive(Debug)]
struct Input {
    abi: Abi,
    version: DLPackVersion,
    flags: u64,
    dtype: DLDataType,
    device: Device,
    ndim: i32,
    shape: Option<[i64; AXES]>,
    strides: Option<[i64; AXES]>,
    byte_offset: u64,
    has_data: bool,
    has_deleter: bool,
}

/// Mostly a number of the usual range, so that most inputs pass most checks, and now and then any number at all, so
/// that each check also fails.
fn number(bytes: &mut Unstructured<'_>, usual: RangeInclusive<i64>) -> arbitrary::Result<i64> {
    Ok(match bytes.int_in_range(0..=40)? {
        0 => bytes.arbitrary()?,
        1 => (1i64 << bytes.int_in_range(0..=63)?).wrapping_add(bytes.int_in_range(-1..=1)?),
        _ => bytes.int_in_range(usual)?,
    })
}

fn numbers(bytes: &mut Unstructured<'_>, usual: RangeInclusive<i64>) -> arbitrary::Result<Option<[i64; AXES]>> {
    let mut numbers = [0; AXES];
    for value in &mut numbers {
        *value = number(bytes, usual.clone())?;
    }
    Ok(bytes.ratio(9, 10)?.then_some(numbers))
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let dtype = match bytes.ratio(9, 10)? {
            true => DLDataType::from(*bytes.choose(DataType::ALL)?),
            false => DLDataType { code: bytes.arbitrary()?, bits: bytes.arbitrary()?, lanes: bytes.arbitrary()? },
        };
        let device = match bytes.ratio(9, 10)? {
            true => Device::CPU,
            false => Device::new(DeviceType(number(bytes, 0..=20)? as i32), bytes.arbitrary()?),
        };
        Ok(Self {
            abi: *bytes.choose(&ABIS)?,
            version: DLPackVersion { major: number(bytes, 1..=1)? as u32, minor: bytes.arbitrary()? },
            flags: number(bytes, 0..=7)? as u64,
            dtype,
            device,
            // It never claims more axes than the arrays of lengths and strides have, because these would be read.
            ndim: number(bytes, 0..=AXES as i64)?.clamp(i32::MIN.into(), AXES as i64) as i32,
            shape: numbers(bytes, 0..=4)?,
            strides: numbers(bytes, -3..=12)?,
            byte_offset: number(bytes, 0..=MEMORY as i64)? as u64,
            has_data: bytes.ratio(9, 10)?,
            has_deleter: bytes.arbitrary()?,
        })
    }
}

impl Input {
    fn producer(&self) -> Producer {
        // All bytes are 0 or 1, so that they are valid booleans, too.
        let memory: Vec<u8> = (0..MEMORY).map(|index| (index * index / 3 % 2) as u8).collect();
        let (shape, strides) = (self.shape.unwrap_or_default(), self.strides.unwrap_or_default());
        let producer = Producer::new(DataType::UINT8, &shape, &memory).strides(&strides);
        producer.flags(self.flags).device(self.device).with(|it| {
            let tensor = &mut it.tensor;
            (tensor.ndim, tensor.dtype, tensor.byte_offset) = (self.ndim, self.dtype, self.byte_offset);
            if self.shape.is_none() {
                tensor.shape = ptr::null_mut();
            }
            if self.strides.is_none() {
                tensor.strides = ptr::null_mut();
            }
            if !self.has_data {
                tensor.data = ptr::null_mut();
            }
            (it.version, it.has_deleter) = (self.version, self.has_deleter);
        })
    }
}

fuzz_target!(|input: Input| {
    let producer = input.producer();
    let calls = producer.calls();
    let model = Model::of(&producer, input.abi, MEMORY);
    let managed = producer.into_managed(input.abi);
    // SAFETY: the shape and strides are as many as the descriptor claims; the model says which tensors may be read.
    let outcome = unsafe { managed.import() };
    match (outcome, &model) {
        (Ok(_), Model::Malformed(why)) => panic!("accepted, although {why}"),
        (Err(error), Model::Within { .. }) => panic!("refused: {error}"),
        (Err(_), _) => (),
        // The elements are not in the memory: they must not be read, but their description can be.
        (Ok(tensor), Model::Elsewhere) => drop(format!("{tensor:?} {:?}", tensor.descriptor().extent())),
        (Ok(tensor), Model::Within { shape, bytes }) => read(tensor, shape, bytes.as_deref()),
    }
    assert_eq!(calls.count(), usize::from(input.has_deleter), "calls of the deleter");
    if !input.has_deleter {
        // SAFETY: all that was made of it has been dropped.
        unsafe { managed.free() };
    }
});

/// Checks that the elements are those of the model, read by the core and by one of the frameworks.
fn read(tensor: Tensor, shape: &[i64], bytes: Option<&[u8]>) {
    assert_eq!(tensor.shape(), shape);
    let (true, Some(bytes)) = (tensor.device().is_host_accessible(), bytes) else { return };
    assert_eq!(tensor.view().to_bytes().as_deref(), Ok(bytes));
    let target = PEERS[bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % PEERS.len()];
    let is_target = !target.name().starts_with("c_") && rust_has(tensor.dtype());
    let arrived = is_target.then(|| target.import(tensor, CopyPolicy::IfNeeded));
    if let Some(Ok(arrived)) = arrived {
        assert_eq!(arrived.tensor.view().to_bytes().as_deref(), Ok(bytes), "{}", target.name());
    }
}
