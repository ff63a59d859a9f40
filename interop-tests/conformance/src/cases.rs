//! The cases: managed tensors of every kind, and the outcome that handing each over must have.

use std::ptr;

use dlbridge_core::{DataType, DataTypeCode, Device, DeviceType, Flags};

use crate::raw::Producer;
use crate::sample::{LAYOUTS, Sample};

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
    /// A name as `"dtype/float32"` or `"strides/null"`, for the trial's name and for
    /// [`Consumer::limit`](crate::Consumer::limit).
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

    /// Whether the legacy ABI can express it.
    pub fn is_legacy(&self) -> bool {
        self.is_legacy
    }

    /// A new producer of the tensor, with a counter of its own.
    pub fn make(&self) -> Producer {
        (self.make)()
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
