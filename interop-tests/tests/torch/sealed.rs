//! What sealed tensors refuse: every write, and the few operations that only read, but ask for a writable pointer. Both
//! lists are exact, so that another libtorch which does otherwise is noticed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use dlbridge::{Memory, layout};
use memmap2::{Mmap, MmapMut};
use tempfile::TempDir;

use super::operations;
use super::*;
use dlbridge::tch::unsealed;

/// An operation, called by its name in the lists below.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Inputs) -> Result<Torch, tch::TchError>,
}

/// How an operation gets its inputs. Sealed ones are in pages that cannot be written: a write that libtorch does not
/// refuse ends the process.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// As libtorch's own tensors.
    Plain,
    /// Sealed is the one that is made as the n-th, counted from 0.
    Sealed(usize),
    /// All over sealed memory, by [`unsealed`].
    Unsealed,
}

/// Makes the inputs of one run of an operation.
pub(crate) struct Inputs {
    how: How,
    made: Cell<usize>,
    folder: TempDir,
}

impl Inputs {
    /// An input with the elements of this tensor.
    pub(crate) fn of(&self, plain: Torch) -> Torch {
        let index = self.made.replace(self.made.get() + 1);
        match self.how {
            How::Sealed(sealed) if sealed == index => seal(&plain).shallow_clone(),
            // SAFETY: the operations only read; if one did not, the pages would stop it.
            How::Unsealed => unsafe { unsealed(&seal(&plain)) }.expect("a dense tensor"),
            _ => plain,
        }
    }

    /// Fractions, all different, in no order.
    pub(crate) fn floats(&self, shape: &[i64]) -> Torch {
        let len: i64 = shape.iter().product();
        self.of((torch(len) * 0.37 + 0.11).frac().reshape(shape))
    }

    pub(crate) fn doubles(&self, shape: &[i64]) -> Torch {
        let len: i64 = shape.iter().product();
        self.of((torch(len) * 0.37 + 0.11).frac().reshape(shape).to_kind(Kind::Double))
    }

    pub(crate) fn complexes(&self, shape: &[i64]) -> Torch {
        let len: i64 = shape.iter().product();
        self.of(Torch::complex(&torch(len), &(torch(len) - 1.)).reshape(shape))
    }

    /// Small integers.
    pub(crate) fn integers(&self, shape: &[i64]) -> Torch {
        let len: i64 = shape.iter().product();
        self.of((torch(len).to_kind(Kind::Int64) * 3).remainder(4).reshape(shape))
    }

    pub(crate) fn longs(&self, elements: &[i64]) -> Torch {
        self.of(Torch::from_slice(elements))
    }

    pub(crate) fn booleans(&self, elements: &[bool]) -> Torch {
        self.of(Torch::from_slice(elements))
    }

    /// A symmetric, positive-definite matrix.
    pub(crate) fn definite(&self) -> Torch {
        self.of(Torch::from_slice(&[4f32, 1., 0.5, 1., 3., 0.2, 0.5, 0.2, 2.]).reshape([3, 3]))
    }

    /// The weights and the biases of a recurrent layer.
    pub(crate) fn weights(&self, inputs: i64, gates: i64, hidden: i64) -> Vec<Torch> {
        let shapes: [&[i64]; 4] = [&[gates, inputs], &[gates, hidden], &[gates], &[gates]];
        shapes.map(|shape| self.floats(shape)).into()
    }

    /// A sparse tensor of coordinates and values that are inputs.
    pub(crate) fn coo(&self) -> Result<Torch, tch::TchError> {
        let indices = self.of(Torch::from_slice(&[0i64, 1, 0, 2, 0, 1]).reshape([2, 3]));
        Torch::f_sparse_coo_tensor_indices_size(&indices, &self.floats(&[3]), [2, 3], CPU, false)
    }

    /// A sparse tensor of compressed rows that are inputs.
    pub(crate) fn csr(&self) -> Result<Torch, tch::TchError> {
        let (rows, columns) = (self.longs(&[0, 2, 3]), self.longs(&[0, 2, 1]));
        Torch::f_sparse_csr_tensor_crow_col_value_size(&rows, &columns, &self.floats(&[3]), [2, 3], CPU)
    }

    pub(crate) fn file(&self, extension: &str) -> PathBuf {
        self.folder.path().join("file").with_extension(extension)
    }
}

/// A sealed tensor over pages that cannot be written.
fn seal(plain: &Torch) -> ReadOnly<Torch> {
    let source: Tensor = plain.convert().expect("a dense tensor");
    let bytes = source.view().to_bytes().expect("in host memory");
    let mut pages = MmapMut::map_anon(bytes.len().max(1)).expect("memory");
    pages[..bytes.len()].copy_from_slice(&bytes);
    let pages = pages.make_read_only().expect("a page of its own");
    let memory = Memory { dtype: source.dtype(), device: Device::CPU, flags: Flags::READ_ONLY, is_valid: false };
    // SAFETY: the elements of a well-formed tensor, in row-major order, in memory that nobody can write.
    let tensor = unsafe {
        Tensor::from_owner(pages, memory, source.shape().len(), |pages: &mut Mmap, lengths, strides| {
            lengths.copy_from_slice(source.shape());
            layout::fill_row_major(lengths, strides);
            pages.as_ptr().cast_mut()
        })
    };
    tensor.share().expect("aligned to a page")
}

/// Runs an operation, and says how many inputs it has taken. Where tch panics instead of failing, that is a failure,
/// too.
fn run(operation: &Operation, how: How) -> (Result<Torch, String>, usize) {
    let inputs = Inputs { how, made: Cell::new(0), folder: tempfile::tempdir().expect("a folder") };
    let result = match catch_unwind(AssertUnwindSafe(|| (operation.run)(&inputs))) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => Err(panic.downcast_ref::<String>().cloned().unwrap_or_default()),
    };
    (result, inputs.made.get())
}

fn is_same(one: &Torch, other: &Torch) -> bool {
    match (one.defined(), other.defined()) {
        (true, true) => one.size() == other.size() && one.allclose(other, 1e-4, 1e-6, true),
        (one, other) => one == other,
    }
}

/// Operations that libtorch refuses if one of these inputs is sealed, although it only reads it: libtorch 2.13 on
/// x86-64.
const REFUSED_READS: &[(&str, &[usize])] = &[
    ("poisson", &[0]),
    ("binomial", &[0, 1]),
    ("standard_gamma", &[0]),
    ("standard_gamma_grad", &[0, 1]),
    ("sample_dirichlet", &[0]),
    ("dirichlet_grad", &[0, 1, 2]),
    ("aminmax of booleans", &[0]),
    ("max of booleans", &[0]),
    ("min of booleans", &[0]),
    ("channel_shuffle", &[0]),
    ("channel_shuffle of channels last", &[0]),
    ("native_channel_shuffle", &[0]),
    ("int_mm", &[0, 1]),
    ("conv2d of doubles with a kernel of 1", &[0]),
    ("conv1d of doubles with a kernel of 1", &[0]),
    ("weight_norm", &[0, 1]),
    ("gradient of weight_norm", &[0, 1]),
    ("scaled_dot_product_attention with a mask", &[3]),
    ("lstm", &[0, 1, 2, 3, 4]),
    ("lstm in training", &[0, 1, 2, 3, 4]),
    ("lstm without biases", &[0, 1, 2, 3, 4]),
    ("gradient of lstm", &[0, 1, 2, 3, 4]),
    ("sparse_coo_tensor", &[0, 1]),
    ("coalesce", &[0]),
    ("sparse mm", &[0, 1, 2]),
    ("sparse addmm", &[1, 2, 3]),
    ("sparse_mask", &[1]),
    ("sparse sum", &[0]),
    ("sparse softmax", &[0]),
    ("sparse add", &[0, 1, 2, 3]),
    ("dense and sparse add", &[1, 2]),
    ("sparse mul", &[1, 3]),
    ("sparse matmul", &[0]),
    ("csr mm", &[2, 3]),
    ("csr mv", &[2, 3]),
    ("csr addmm", &[3, 4]),
    ("csr matmul", &[2, 3]),
    ("spdiags", &[1]),
    ("to_mkldnn", &[0]),
    ("mkldnn_linear", &[0, 1, 2]),
    ("mkldnn_reorder_conv2d_weight", &[0]),
    ("make_per_channel_quantized_tensor", &[0]),
    ("make_per_tensor_quantized_tensor", &[0]),
    ("fake_quantize_per_tensor_affine", &[0]),
    ("fake_quantize_per_tensor_affine by tensors", &[0]),
    ("fake_quantize_per_channel_affine", &[0, 1, 2]),
    ("fake_quantize_learnable_per_tensor_affine", &[0]),
    ("fake_quantize_learnable_per_channel_affine", &[0, 1]),
    ("saturate_weight_to_fp16", &[0]),
    ("data_ptr", &[0]),
    ("copy_data", &[0]),
    ("copy_data_u8", &[0]),
    ("Vec::try_from", &[0]),
    ("Vec<Vec>::try_from", &[0]),
    ("write_npy", &[0]),
    ("write_npz", &[0]),
    ("write_safetensors", &[0]),
];

/// Whether an operation is refused by oneDNN, which libtorch uses on some processors only.
fn depends_on_processor(name: &str) -> bool {
    ["int_mm", "lstm", "mkldnn"].iter().any(|part| name.contains(part))
}

#[test]
fn the_list_of_refused_reads_is_exact() {
    let (mut refused, mut faults) = (BTreeMap::new(), Vec::new());
    for operation in operations::reads() {
        let name = operation.name;
        let (plain, inputs) = run(operation, How::Plain);
        let Ok(expected) = plain.map_err(|error| faults.push(format!("{name} does not run at all: {error}"))) else {
            continue;
        };
        let mut indices = Vec::new();
        for index in 0..inputs {
            match run(operation, How::Sealed(index)).0 {
                Ok(result) if is_same(&result, &expected) => {}
                Ok(_) => faults.push(format!("{name} gives something else if input {index} is sealed")),
                Err(_) => indices.push(index),
            }
        }
        if indices.is_empty() {
            continue;
        }
        refused.insert(name, indices);
        match run(operation, How::Unsealed).0 {
            Ok(result) if is_same(&result, &expected) => {}
            Ok(_) => faults.push(format!("{name} gives something else if unsealed")),
            Err(error) => faults.push(format!("{name} is refused even if unsealed: {error}")),
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    // `.ci/oldest-tch` sets this; older ones refuse more.
    if std::env::var("TORCH_VERSION").is_ok_and(|version| !version.starts_with("2.13")) {
        return;
    }
    for (name, indices) in REFUSED_READS {
        match refused.remove(name) {
            Some(found) => assert_eq!(found, *indices, "{name}"),
            None => assert!(depends_on_processor(name), "{name} is listed, but not refused"),
        }
    }
    assert!(refused.is_empty(), "not listed, but refused: {refused:?}");
}

#[test]
fn no_operation_writes_sealed_memory() {
    let mut faults = Vec::new();
    for operation in operations::writes() {
        let name = operation.name;
        if let Err(error) = run(operation, How::Plain).0 {
            faults.push(format!("{name} does not run at all: {error}"));
        }
        if run(operation, How::Sealed(0)).0.is_ok() {
            faults.push(format!("{name} is not refused, although it has written nothing"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn unsealed_is_the_same_memory_and_goes_out_read_only() {
    let producer = Producer::f32(&[4, 3], &[0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.]);
    let calls = producer.calls();
    let sealed: ReadOnly<Torch> = import(producer).into_read_only().share().unwrap();
    let view = sealed.narrow(0, 1, 2).tr();
    // SAFETY: nobody writes through it.
    let plain = unsafe { unsealed(&view) }.unwrap();
    assert_eq!((plain.size(), plain.stride()), (vec![3, 2], vec![1, 3]));
    assert_eq!(plain.data_ptr().cast_const().cast(), data_ptr(&view).unwrap());
    assert_eq!(Vec::<Vec<f32>>::try_from(&plain).unwrap(), [[3., 6.], [4., 7.], [5., 8.]]);
    assert!(sealed.f_copy_data(&mut [0f32; 12], 12).is_err());
    assert!(view.shallow_clone().f_zero_().is_err());

    drop((sealed, view));
    assert_eq!(calls.count(), 0);
    assert_eq!(plain.route::<Tensor>(), Route::Shared);
    let export: Tensor = plain.share().unwrap();
    assert!(export.flags().is_read_only());
    assert_eq!(export.to_vec::<f32>().unwrap(), [3., 6., 4., 7., 5., 8.]);
    drop(export);
    assert_eq!(calls.count(), 1);
}

#[test]
fn unsealed_may_grow_without_the_memory_that_it_shared() {
    let producer = Producer::f32(&[4], &[7.; 4]);
    let calls = producer.calls();
    let sealed: ReadOnly<Torch> = import(producer).into_read_only().share().unwrap();
    // SAFETY: it is written only when it has moved to memory of its own.
    let mut plain = unsafe { unsealed(&sealed) }.unwrap();
    let _ = plain.resize_([1000]).zero_();
    assert_eq!(sealed.convert::<Vec<f32>>().unwrap(), [7.; 4]);
    assert_eq!(calls.count(), 1);
}

#[test]
fn unsealed_keeps_what_a_tensor_is() {
    let complex = seal(&Torch::complex(&torch(2), &torch(2)));
    // SAFETY: nobody writes through it.
    let lazy = unsafe { unsealed(&complex.conj()) }.unwrap();
    // SAFETY: nobody writes through it.
    let negative = unsafe { unsealed(&complex.conj().imag()) }.unwrap();
    assert!(lazy.is_conj() && negative.is_neg());
    assert_eq!(negative.convert::<Vec<f32>>().unwrap(), [0., -1.]);
    let empty = seal(&Torch::zeros([0, 3], CPU));
    // SAFETY: there is nothing to write.
    assert_eq!(unsafe { unsealed(&empty) }.unwrap().size(), [0, 3]);
    let leaf = seal(&torch(3)).set_requires_grad(true);
    // SAFETY: nobody writes through it.
    assert_eq!(unsafe { unsealed(&leaf) }.err(), Some(Error::RequiresGrad { framework: "tch" }));
    // SAFETY: nobody writes through it.
    let leaf = unsafe { unsealed(&leaf.detach()) }.unwrap().set_requires_grad(true);
    (&leaf * &leaf).sum(Kind::Float).backward();
    assert_eq!(Vec::<f32>::try_from(&leaf.grad()).unwrap(), [0., 2., 4.]);
    // Of a plain tensor, it is one more handle.
    let plain = torch(3);
    // SAFETY: the memory is not read-only.
    let mut handle = unsafe { unsealed(&plain) }.unwrap();
    let _ = handle.fill_(9.);
    assert_eq!(plain.convert::<Vec<f32>>().unwrap(), [9.; 3]);
}

#[test]
fn a_refusal_with_a_number_among_the_arguments_is_a_panic_of_tchs() {
    let sealed = seal(&torch(3));
    assert!(sealed.shallow_clone().f_zero_().is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| sealed.shallow_clone().f_fill_(0.))).is_err());
    // Nothing is left of it.
    assert_eq!(sealed.double_value(&[2]), 2.);
}
