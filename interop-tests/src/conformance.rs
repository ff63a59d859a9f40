//! The conformance kit: managed tensors of every kind, well-formed and hostile, for any consumer of DLPack to face.
//!
//! A library implements [`Consumer`], which takes a few lines, and runs [`trials`] with `libtest_mimic`: these are all
//! [cases](Case) in both ABIs. The elements of a well-formed tensor must arrive, unless the consumer
//! [declares](Consumer::limit) that it refuses such tensors. A malformed tensor must be refused. In every case, the
//! deleter must run exactly once. Crashes, leaks and reads outside the memory are found if the trials run under
//! sanitizers.

use std::any::Any;
use std::borrow::Cow;
use std::ptr;
use std::sync::Arc;

use dlbridge::{DataType, DataTypeCode, Device, DeviceType, Flags};
use libtest_mimic::{Failed, Trial};

pub use crate::raw::Managed;

use crate::raw::{ABIS, Abi, Producer};
use crate::sample::{LAYOUTS, Sample};

/// A library that takes tensors over DLPack.
pub trait Consumer: Send + Sync {
    /// The name of the library, for the names of the trials.
    fn name(&self) -> &str;

    /// Takes ownership of the managed tensor, and reads it or refuses it, with a message.
    ///
    /// What a well-formed tensor claims is true, and nobody else uses its memory. Malformed tensors may claim anything.
    ///
    /// # Errors
    /// The tensor is refused. The consumer must release it nonetheless.
    fn consume(&self, managed: Managed) -> Result<Read, String>;

    /// If this consumer refuses a case that the standard allows, the reason: it has no such type, or no such layout. A
    /// consumer that then accepts the case fails the trial.
    fn limit(&self, case: &Case) -> Option<Cow<'static, str>>;
}

/// What a consumer has read.
pub struct Read {
    /// The lengths of the axes, in elements.
    pub shape: Vec<i64>,
    /// The elements in row-major order, without gaps.
    pub bytes: Vec<u8>,
    /// What keeps the tensor alive, for the kit to drop; `()` if the consumer has already released the tensor.
    pub keep: Box<dyn Any>,
}

/// The outcome that a case must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tensor is well-formed: these lengths and elements must arrive.
    Accept(Vec<i64>, Vec<u8>),
    /// The tensor is malformed, or in memory that a consumer on the CPU cannot read.
    Refuse,
}

/// A managed tensor to be made, and the outcome that handing it over must have.
pub struct Case {
    name: String,
    sample: Sample,
    verdict: Verdict,
    /// Whether the legacy ABI can express it.
    is_legacy: bool,
    make: Box<dyn Fn() -> Producer + Send + Sync>,
}

impl Case {
    /// A name as `"dtype/float32"` or `"strides/null"`, for the trial's name and for [`Consumer::limit`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The well-formed tensor from which the case was made.
    pub fn sample(&self) -> Sample {
        self.sample
    }

    /// The outcome that it must have.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

/// The float32 tensor of shape (2, 3, 4) from which most cases are made.
fn plain() -> Sample {
    Sample { dtype: DataType::FLOAT32, layout: &LAYOUTS[0] }
}

fn shape_of(sample: &Sample) -> Vec<i64> {
    sample.strided().shape.iter().map(|length| *length as i64).collect()
}

struct Cases(Vec<Case>);

impl Cases {
    fn push(
        &mut self,
        name: impl Into<String>,
        (sample, verdict): (Sample, Verdict),
        make: impl Fn() -> Producer + Send + Sync + 'static,
    ) -> &mut Case {
        self.0.push(Case { name: name.into(), sample, verdict, is_legacy: true, make: Box::new(make) });
        self.0.last_mut().expect("just pushed")
    }

    /// Adds a well-formed tensor whose elements are those of the sample.
    fn accept(
        &mut self,
        name: impl Into<String>,
        sample: Sample,
        change: impl Fn(Producer) -> Producer + Send + Sync + 'static,
    ) -> &mut Case {
        let verdict = Verdict::Accept(shape_of(&sample), sample.expected_bytes());
        self.push(name, (sample, verdict), move || change(producer(&sample)))
    }

    /// Adds a well-formed tensor of floats that is not one of the samples.
    fn accept_floats(
        &mut self,
        name: impl Into<String>,
        shape: &[i64],
        elements: &[f32],
        make: impl Fn() -> Producer + Send + Sync + 'static,
    ) {
        let bytes = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
        self.push(name, (plain(), Verdict::Accept(shape.to_vec(), bytes)), make);
    }

    fn refuse(
        &mut self,
        name: impl Into<String>,
        change: impl Fn(Producer) -> Producer + Send + Sync + 'static,
    ) -> &mut Case {
        self.push(name, (plain(), Verdict::Refuse), move || change(producer(&plain())))
    }
}

fn producer(sample: &Sample) -> Producer {
    Producer::of(sample).expect("a sample that begins at a whole byte")
}

/// Every case, well-formed ones first.
pub fn cases() -> Vec<Case> {
    let mut cases = Cases(Vec::new());
    well_formed(&mut cases);
    malformed(&mut cases);
    cases.0
}

fn well_formed(cases: &mut Cases) {
    for dtype in DataType::ALL {
        cases.accept(format!("dtype/{dtype}"), Sample { dtype: *dtype, ..plain() }, |it| it);
    }
    for layout in LAYOUTS {
        cases.accept(format!("layout/{}", layout.name), Sample { layout, ..plain() }, |it| it);
    }
    // Element types that no library has. They may be read as bytes, but never as another type.
    for (name, dtype) in [("unknown_code", (200, 32, 1)), ("no_lanes", (2, 32, 0)), ("odd_width", (2, 48, 1))] {
        let dtype = DataType::new(DataTypeCode(dtype.0), dtype.1, dtype.2);
        cases.accept(format!("strange/{name}"), Sample { dtype, ..plain() }, |it| it);
    }
    let layout = |name| Sample { layout: LAYOUTS.iter().find(|it| it.name == name).expect("its name"), ..plain() };

    // In every version of DLPack 1.x, strides may be NULL for a row-major tensor (discouraged since 1.2).
    cases.accept("strides/null", plain(), |it| it.strides(&[]));
    // The stride of an axis of length 1 is never used, and neither are the strides of a tensor without elements.
    let counted: Vec<f32> = (0..24u8).map(f32::from).collect();
    for (name, strides) in [("huge", [i64::MAX, 1, i64::MIN]), ("zero", [0, 1, 0]), ("negative", [-200, 1, -1])] {
        let elements = counted.clone();
        let make = move || Producer::f32(&[1, 24, 1], &elements).strides(&strides);
        cases.accept_floats(format!("strides/{name}_on_length_one"), &[1, 24, 1], &counted, make);
    }
    for (name, strides) in [("zero", [0, 0]), ("huge", [i64::MAX, -1]), ("negative", [-3, -1])] {
        cases.accept(format!("empty/{name}_strides"), layout("empty"), move |it| it.strides(&strides));
    }
    cases.accept("empty/null_data", layout("empty"), |it| it.with(|it| it.tensor.data = ptr::null_mut()));
    cases.accept("empty/offset_behind_null", layout("empty"), |it| {
        it.with(|it| (it.tensor.data, it.tensor.byte_offset) = (ptr::null_mut(), 64))
    });
    cases.accept("scalar/with_shape", layout("scalar"), |it| {
        it.with(|it| (it.tensor.shape, it.tensor.strides) = (ptr::dangling_mut(), ptr::dangling_mut()))
    });
    cases.accept_floats("strides/overlapping", &[2, 2], &[0., 1., 1., 2.], || {
        Producer::f32(&[2, 2], &[0., 1., 2.]).strides(&[1, 1])
    });

    cases.accept_floats("offset/elements", &[2], &[2., 3.], || {
        Producer::f32(&[2], &[0., 1., 2., 3.]).with(|it| it.tensor.byte_offset = 8)
    });
    cases.accept_floats("offset/misaligned", &[2], &[2., 3.], || {
        let bytes: Vec<u8> = [0, 0].into_iter().chain([2f32, 3.].into_iter().flat_map(f32::to_ne_bytes)).collect();
        Producer::new(DataType::FLOAT32, &[2], &bytes).with(|it| it.tensor.byte_offset = 2)
    });

    cases.accept("deleter/null", plain(), |it| it.with(|it| it.has_deleter = false));
    // The CPU can read pinned and managed memory.
    for kind in DeviceType::ALL.iter().filter(|kind| Device::new(**kind, 0).is_host_accessible()) {
        let device = Device::new(*kind, 0);
        let name = device.to_string();
        cases.accept(format!("device/{}", name.replace(':', "_")), plain(), move |it| it.device(device));
    }
    for (name, minor) in [("newer_minor", 99), ("older_minor", 0)] {
        let case = cases.accept(format!("version/{name}"), plain(), move |it| it.with(|it| it.version.minor = minor));
        case.is_legacy = false;
    }
    let flags = [("read_only", Flags::READ_ONLY.bits()), ("copied", Flags::COPIED.bits()), ("unknown", 1 << 63)];
    for (name, flags) in flags {
        cases.accept(format!("flags/{name}"), plain(), move |it| it.flags(flags)).is_legacy = false;
    }
}

fn malformed(cases: &mut Cases) {
    for major in [0, 2, u32::MAX] {
        let other = move |it: Producer| {
            // With another major version, the fields behind the flags must not be read.
            it.with(|it| (it.version.major, it.tensor.shape) = (major, ptr::without_provenance_mut(8)))
        };
        cases.refuse(format!("major/{major}"), other).is_legacy = false;
    }
    cases.refuse("shape/null", |it| it.with(|it| it.tensor.shape = ptr::null_mut()));
    for ndim in [-1, i32::MIN] {
        cases.refuse(format!("ndim/{ndim}"), move |it| it.with(|it| it.tensor.ndim = ndim));
    }
    cases.refuse("ndim/huge", |it| it.with(|it| (it.tensor.ndim, it.tensor.shape) = (i32::MAX, ptr::null_mut())));
    let shapes: [(&str, [i64; 3]); 8] = [
        ("negative", [2, -1, 4]),
        ("negative_twice", [2, -3, -4]),
        ("least", [2, i64::MIN, 4]),
        ("negative_of_empty", [0, i64::MIN, 4]),
        ("product", [i64::MAX, 2, 1]),
        ("product_of_empty", [i64::MAX, 2, 0]),
        ("wrapping_product", [1 << 32, 1 << 32, 1]),
        ("bytes", [i64::MAX / 2, 1, 1]),
    ];
    for (name, shape) in shapes {
        cases.refuse(format!("shape/{name}"), move |it| it.shape(&shape).strides(&[]));
    }
    let strides: [(&str, [i64; 3]); 5] = [
        ("huge", [i64::MAX, 4, 1]),
        ("least", [i64::MIN, 4, 1]),
        ("both_ways", [i64::MAX, i64::MIN, 1]),
        ("bytes", [i64::MAX / 4, 4, 1]),
        ("sum", [i64::MAX / 8, i64::MAX / 8, i64::MAX / 8]),
    ];
    for (name, strides) in strides {
        cases.refuse(format!("strides/{name}"), move |it| it.strides(&strides));
    }
    cases.refuse("data/null", |it| it.with(|it| it.tensor.data = ptr::null_mut()));
    cases.refuse("data/null_with_offset", |it| {
        it.with(|it| (it.tensor.data, it.tensor.byte_offset) = (ptr::null_mut(), 64))
    });
    cases.refuse("offset/wraps", |it| it.with(|it| it.tensor.byte_offset = u64::MAX));
    cases.refuse("offset/wraps_to_null", |it| {
        it.with(|it| it.tensor.byte_offset = (it.tensor.data.addr() as u64).wrapping_neg())
    });
    let memory_elsewhere = DeviceType::ALL.iter().map(|kind| Device::new(*kind, 120));
    let elsewhere = memory_elsewhere.chain([Device::new(DeviceType(99), 7), Device::new(DeviceType(-1), 0)]);
    for device in elsewhere.filter(|device| !device.is_host_accessible()) {
        let name = device.to_string();
        cases.refuse(format!("elsewhere/{}", name.replace(':', "_")), move |it| it.device(device));
    }
}

/// Every case in both ABIs, as tests with names to filter by.
pub fn trials(consumer: impl Consumer + 'static) -> Vec<Trial> {
    let consumer: Arc<dyn Consumer> = Arc::new(consumer);
    let sayable = |abi| cases().into_iter().filter(move |case| case.is_legacy || abi == Abi::Versioned);
    let trial = |abi, case: Case| {
        let (name, consumer) = (format!("{}/{abi}/{}", consumer.name(), case.name), Arc::clone(&consumer));
        Trial::test(name, move || judge(&*consumer, &case, abi))
    };
    ABIS.into_iter().flat_map(|abi| sayable(abi).map(move |case| trial(abi, case))).collect()
}

/// Hands one case to a consumer, and checks the outcome.
///
/// # Errors
/// The message says what is wrong.
pub fn judge(consumer: &dyn Consumer, case: &Case, abi: Abi) -> Result<(), Failed> {
    let producer = (case.make)();
    let (calls, has_deleter) = (producer.calls(), producer.has_deleter);
    let managed = producer.into_managed(abi);
    let outcome = match (consumer.consume(managed), &case.verdict) {
        (Ok(read), Verdict::Accept(shape, bytes)) => match consumer.limit(case) {
            _ if read.shape != *shape => Err(format!("shape: found {:?}, expected {shape:?}", read.shape)),
            _ if read.bytes != *bytes => Err(format!("elements: found {:?}, expected {bytes:?}", read.bytes)),
            Some(limit) => Err(format!("accepted, although it has a limit: {limit}")),
            None if calls.count() > 1 => Err(format!("the deleter ran {} times while it was held", calls.count())),
            None => Ok(()),
        },
        (Ok(_), Verdict::Refuse) => Err("accepted, although it is malformed".into()),
        (Err(_), Verdict::Refuse) => Ok(()),
        (Err(message), Verdict::Accept(..)) => match consumer.limit(case) {
            Some(_) => Ok(()),
            None => Err(format!("refused, although it is well-formed: {message}")),
        },
    };
    if !has_deleter {
        // SAFETY: made above, without a deleter, and everything that was made of it has been dropped.
        unsafe { managed.free() };
    }
    outcome?;
    match calls.count() {
        1 => Ok(()),
        count => Err(format!("the deleter ran {count} times").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlbridge::sys::DLManagedTensorVersioned;

    /// A consumer with a fault: it changes the tensor before reading it, or what it has read.
    struct Faulty {
        before: fn(&mut DLManagedTensorVersioned),
        after: fn(Result<Read, String>) -> Result<Read, String>,
    }

    impl Consumer for Faulty {
        fn name(&self) -> &str {
            "faulty"
        }

        fn consume(&self, managed: Managed) -> Result<Read, String> {
            let Managed::Versioned(mut managed) = managed else { unreachable!("one ABI is enough") };
            // SAFETY: made by the kit, and ours.
            (self.before)(unsafe { managed.as_mut() });
            // SAFETY: as above; the faults below keep it within its memory.
            let tensor = unsafe { Managed::Versioned(managed).import() }.map_err(|error| error.to_string());
            (self.after)(tensor.and_then(|tensor| {
                let bytes = tensor.view().to_bytes().map_err(|error| error.to_string())?;
                Ok(Read { shape: tensor.shape().to_vec(), bytes, keep: Box::new(tensor) })
            }))
        }

        fn limit(&self, _: &Case) -> Option<Cow<'static, str>> {
            None
        }
    }

    /// Of the cases that match, how many a consumer with this fault fails, and how many there are.
    fn failures(faulty: Faulty, matching: fn(&Case) -> bool) -> (usize, usize) {
        let cases: Vec<Case> = cases().into_iter().filter(matching).collect();
        let failed = cases.iter().filter(|case| judge(&faulty, case, Abi::Versioned).is_err()).count();
        (failed, cases.len())
    }

    #[test]
    fn the_kit_finds_faults() {
        let (nothing, same) = (|_: &mut DLManagedTensorVersioned| (), |read| read);
        let is_well_formed = |case: &Case| matches!(case.verdict, Verdict::Accept(..));
        assert_eq!(failures(Faulty { before: nothing, after: same }, |_| true).0, 0);

        let (failed, all) = failures(Faulty { before: nothing, after: |_| Err("no".into()) }, is_well_formed);
        assert_eq!(failed, all);
        let accept = |_| Ok(Read { shape: vec![], bytes: vec![], keep: Box::new(()) });
        let (failed, all) = failures(Faulty { before: nothing, after: accept }, |case| case.verdict == Verdict::Refuse);
        assert_eq!(failed, all);

        let ignore_offset = |it: &mut DLManagedTensorVersioned| it.dl_tensor.byte_offset = 0;
        let (failed, all) =
            failures(Faulty { before: ignore_offset, after: same }, |case| case.name.starts_with("offset/"));
        assert_eq!(failed, all);
        let ignore_strides = |it: &mut DLManagedTensorVersioned| it.dl_tensor.strides = ptr::null_mut();
        let is_strided = |case: &Case| ["layout/transposed", "layout/f_order"].contains(&case.name());
        assert_eq!(failures(Faulty { before: ignore_strides, after: same }, is_strided), (2, 2));
    }
}
