//! numpy's arrays, read as every extension module built with numpy reads them: by the C structs that its ABI fixes.
//! That takes a fraction of what a call of `__dlpack__` does, and knows the types of ml_dtypes, which numpy does not
//! export.
//!
//! Also here: which subclasses of numpy's array are refused, because they mean more than their elements.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::slice;

use dlbridge_core::{Aliased, DataType, DataTypeCode, Device, Flags, Memory};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::error::is_ordinary;
use crate::handle::{attached, watch_exit};
use crate::library::{imported, is_of};
use crate::types::PyTensor;

/// Subclasses whose arrays are their elements and nothing more. Those of a `memmap` are in a file; a `matrix`
/// multiplies otherwise; a `recarray` reads the fields of records as attributes, and records are no tensor.
const PLAIN: [&str; 3] = ["memmap", "matrix", "recarray"];

/// The types of ml_dtypes that DLPack has. Those below a byte take one.
const ML_DTYPES: [DataType; 19] = [
    DataType::BFLOAT16,
    DataType::FLOAT8_E3M4,
    DataType::FLOAT8_E4M3,
    DataType::FLOAT8_E4M3B11FNUZ,
    DataType::FLOAT8_E4M3FN,
    DataType::FLOAT8_E4M3FNUZ,
    DataType::FLOAT8_E5M2,
    DataType::FLOAT8_E5M2FNUZ,
    DataType::FLOAT8_E8M0FNU,
    DataType::FLOAT6_E2M3FN,
    DataType::FLOAT6_E3M2FN,
    DataType::FLOAT4_E2M1FN,
    DataType::new(DataTypeCode::COMPLEX, 32, 1),
    DataType::new(DataTypeCode::INT, 1, 1),
    DataType::new(DataTypeCode::INT, 2, 1),
    DataType::new(DataTypeCode::INT, 4, 1),
    DataType::new(DataTypeCode::UINT, 1, 1),
    DataType::new(DataTypeCode::UINT, 2, 1),
    DataType::new(DataTypeCode::UINT, 4, 1),
];

/// The ABI of numpy 2, `NPY_ABI_VERSION` in its headers. Another has another layout, and is not read.
const ABI: c_uint = 0x0200_0000;

/// Whether Python has its global lock, as the size of an object tells. Without it another thread could reshape an array
/// that is being read.
const HAS_GIL: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

/// `PyArrayObject_fields` behind its head, as far as it is read.
#[repr(C)]
struct Fields {
    data: *mut c_char,
    ndim: c_int,
    /// `ndim` lengths, and as many strides in bytes.
    lengths: *const isize,
    steps: *const isize,
    base: *mut ffi::PyObject,
    dtype: *mut ffi::PyObject,
    flags: c_int,
}

impl Fields {
    /// `NPY_ARRAY_WRITEABLE`.
    const IS_WRITABLE: c_int = 0x400;

    /// # Safety
    /// `first` is the first of as many numbers as there are axes.
    #[inline]
    unsafe fn numbers(&self, first: *const isize) -> &[isize] {
        if self.ndim == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts(first, self.ndim as usize) }
    }
}

/// `PyArray_Descr` behind its head, as far as it is read.
#[repr(C)]
struct Descr {
    /// The class of one element.
    scalar: *mut ffi::PyTypeObject,
    kind: c_char,
    letter: c_char,
    byte_order: c_char,
    former_flags: c_char,
    /// `NPY_TYPES`.
    number: c_int,
    flags: u64,
    size: isize,
}

impl Descr {
    /// `NPY_USERDEF`: from here on the types are other libraries'.
    const FIRST_OF_OTHERS: c_int = 256;

    /// The element type, if DLPack has it and the bytes are in native order. It has the size that numpy says.
    #[inline]
    fn element(&self, others: &[(Py<PyType>, DataType)]) -> Option<DataType> {
        let size = usize::try_from(self.size).ok()?;
        let native = if cfg!(target_endian = "little") { b'<' } else { b'>' };
        if size != 1 && ![b'=', b'|', native].contains(&(self.byte_order as u8)) {
            return None;
        }
        let code = match self.number {
            0 => DataTypeCode::BOOL,
            1 | 3 | 5 | 7 | 9 => DataTypeCode::INT,
            2 | 4 | 6 | 8 | 10 => DataTypeCode::UINT,
            11 | 12 | 23 => DataTypeCode::FLOAT,
            14 | 15 => DataTypeCode::COMPLEX,
            Self::FIRST_OF_OTHERS.. => {
                let (_, dtype) = others.iter().find(|(class, _)| class.as_ptr() == self.scalar.cast())?;
                return (dtype.size_of(1, true) == Some(size)).then_some(*dtype);
            }
            _ => return None,
        };
        Some(DataType::new(code, u8::try_from(8 * size).ok()?, 1))
    }
}

/// The classes of ml_dtypes and their types; none if nobody has imported it yet. May run any Python code.
#[cold]
fn ml_dtypes(py: Python<'_>) -> &'static [(Py<PyType>, DataType)] {
    static CLASSES: PyOnceLock<Vec<(Py<PyType>, DataType)>> = PyOnceLock::new();
    let ask = || -> PyResult<Vec<_>> {
        // Waits if another thread is still importing it.
        let library = py.import(intern!(py, "ml_dtypes"))?;
        let mut classes = Vec::new();
        for dtype in ML_DTYPES {
            if let Some(class) = library.getattr_opt(&*dtype.to_string())? {
                classes.push((class.cast_into::<PyType>()?.unbind(), dtype));
            }
        }
        Ok(classes)
    };
    let known = CLASSES.get(py).or_else(|| {
        imported(intern!(py, "ml_dtypes"))?;
        CLASSES.get_or_try_init(py, ask).ok()
    });
    known.map_or(&[], Vec::as_slice)
}

/// The tensor of an array in native byte order with a dtype that DLPack has. `None` for all else, where its
/// `__dlpack__` knows what to do or what is wrong.
///
/// Errors: `BufferError` for an array of a subclass that may mean more than its elements, and that leaves `__dlpack__`
/// to numpy, which knows nothing of that.
#[inline]
pub(crate) fn take(object: &Bound<'_, PyAny>) -> PyResult<Option<PyTensor>> {
    let Some(numpy) = Numpy::get(object.py())? else { return Ok(None) };
    let is_array = numpy.array.as_ptr() == object.get_type_ptr().cast() || numpy.is_plain(object)?;
    if !is_array || !numpy.is_abi_known {
        return Ok(None);
    }
    // SAFETY: an array of an ABI that is known, with Python's global lock.
    Ok(unsafe { read(object) })
}

/// An array's fields and those of its dtype.
///
/// # Safety
/// `object` is an array, or of a subclass, of a numpy whose ABI is [`ABI`], and Python has its global lock. No Python
/// code runs while the results are used.
#[inline]
unsafe fn fields<'a>(object: &'a Bound<'_, PyAny>) -> Option<(&'a Fields, &'a Descr)> {
    let array = object.as_ptr().wrapping_add(1).cast::<Fields>();
    // SAFETY: axioms *head* and *numpy's structs*; by axiom *lock* nothing changes them meanwhile.
    let array = unsafe { array.as_ref() }?;
    let dtype = array.dtype.wrapping_add(1).cast::<Descr>();
    // SAFETY: as above; the array keeps its dtype.
    Some((array, unsafe { dtype.as_ref() }?))
}

/// # Safety
/// `object` is an array, or of a subclass, of a numpy whose ABI is [`ABI`], and Python has its global lock.
#[inline]
unsafe fn read(object: &Bound<'_, PyAny>) -> Option<PyTensor> {
    // SAFETY: the caller's promise; used at once.
    let number = unsafe { fields(object) }?.1.number;
    // Python code may run here, and may change the array: nothing of it is kept until afterwards.
    let others = if number < Descr::FIRST_OF_OTHERS { &[] } else { ml_dtypes(object.py()) };
    // SAFETY: the caller's promise; no Python code runs below.
    let (array, dtype) = unsafe { fields(object) }?;
    let dtype = dtype.element(others)?;
    // SAFETY: axiom *numpy's structs*: as many as axes.
    let lengths = unsafe { array.numbers(array.lengths) };
    // SAFETY: as above.
    let steps = unsafe { array.numbers(array.steps) };
    // A power of two: to divide by it would take as long as all else here.
    let size_log2 = dtype.size_of(1, true)?.trailing_zeros();
    let is_whole = steps.iter().all(|step| step.trailing_zeros() >= size_log2);
    if !is_whole {
        return None;
    }
    let rights = if array.flags & Fields::IS_WRITABLE == 0 { Flags::READ_ONLY } else { Flags::empty() };
    let width = if dtype.is_sub_byte() { Flags::PADDED } else { Flags::empty() };
    let memory = Memory { dtype, device: Device::CPU, flags: rights | width, is_valid: false };
    let describe = |_: &mut Array, shape: &mut [i64], strides: &mut [i64]| {
        for (to, length) in shape.iter_mut().zip(lengths) {
            *to = *length as i64;
        }
        for (to, step) in strides.iter_mut().zip(steps) {
            *to = (step >> size_log2) as i64;
        }
        array.data.cast()
    };
    let owner = Array(ManuallyDrop::new(object.clone().unbind()));
    // SAFETY: axiom *numpy's memory*: an array keeps what its lengths and strides reach; it has at most 64 axes.
    let tensor = unsafe { Aliased::from_owner(owner, memory, lengths.len(), describe) };
    Some(PyTensor { handle: tensor.ok()?.into() })
}

/// An array, let go of on whatever thread.
struct Array(ManuallyDrop<Py<PyAny>>);

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: dropped here, once, or never.
        attached(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

/// What numpy says of itself, asked once.
struct Numpy {
    array: Py<PyType>,
    /// The `__dlpack__` of `array`: subclasses that have no other leave it to numpy.
    method: Py<PyAny>,
    /// The classes of [`PLAIN`].
    plain: Vec<Py<PyAny>>,
    /// Whether arrays are laid out as [`Fields`] and [`Descr`] say, and may be read.
    is_abi_known: bool,
}

impl Numpy {
    /// `None` if nobody has imported numpy yet.
    #[inline]
    fn get(py: Python<'_>) -> PyResult<Option<&'static Self>> {
        static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();
        match NUMPY.get(py) {
            None => Ok(Self::ask(py)?.map(|numpy| NUMPY.get_or_init(py, || numpy))),
            numpy => Ok(numpy),
        }
    }

    #[cold]
    fn ask(py: Python<'_>) -> PyResult<Option<Self>> {
        let Some(numpy) = imported(intern!(py, "numpy")) else { return Ok(None) };
        // Half of it may be missing, while it is being imported; and another module may have that name.
        let Some(array) = numpy.getattr_opt(intern!(py, "ndarray"))? else { return Ok(None) };
        let Some(method) = array.getattr_opt(intern!(py, "__dlpack__"))? else { return Ok(None) };
        let Ok(array) = array.cast_into::<PyType>() else { return Ok(None) };
        let mut plain = Vec::new();
        for name in PLAIN {
            let Some(class) = numpy.getattr_opt(name)? else { return Ok(None) };
            plain.push(class.unbind());
        }
        watch_exit(py)?;
        let is_abi_known = HAS_GIL
            && match is_abi_known(&array) {
                Err(error) if !is_ordinary(py, &error) => return Err(error),
                found => found.unwrap_or(false),
            };
        Ok(Some(Self { array: array.unbind(), method: method.unbind(), plain, is_abi_known }))
    }

    /// Whether an object, of another class than `array`, is an array and only its elements. An error if it is an array
    /// and may be more.
    #[inline]
    fn is_plain(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        if is_of(object, &self.array) { self.is_plain_subclass(object) } else { Ok(false) }
    }

    #[cold]
    fn is_plain_subclass(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, class) = (object.py(), object.get_type());
        if !class.getattr(intern!(py, "__dlpack__"))?.is(&self.method) {
            return Ok(false);
        }
        if self.plain.iter().any(|plain| plain.is(&class)) {
            return Ok(true);
        }
        let filled = if object.hasattr(intern!(py, "filled"))? { "x.filled(value), or " } else { "" };
        Err(PyBufferError::new_err(format!(
            "{} may mean more than its elements, and leaves __dlpack__ to numpy, which would drop that: \
             pass {filled}numpy.asarray(x) for the elements alone",
            class.fully_qualified_name()?
        )))
    }
}

/// Whether numpy has the ABI whose structs are read here, and `array` is its class of arrays.
fn is_abi_known(array: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = array.py();
    let api = py.import("numpy._core._multiarray_umath")?.getattr("_ARRAY_API")?;
    // SAFETY: any object may be asked; the capsule has no name.
    let table = unsafe { ffi::PyCapsule_GetPointer(api.as_ptr(), ptr::null()) }.cast::<*mut c_void>();
    if table.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: axiom *numpy's table*; `PyArray_Type` is its third entry.
    let array_type = unsafe { table.wrapping_add(2).read() };
    // Also false for numpy's other tables, whose capsules have no name, either.
    if array_type != array.as_ptr().cast() {
        return Ok(false);
    }
    // SAFETY: axiom *numpy's table*; it begins with `PyArray_GetNDArrayCVersion`.
    let version = unsafe { table.cast::<unsafe extern "C" fn() -> c_uint>().read() };
    // SAFETY: axiom *numpy's table*; the function takes nothing.
    Ok(unsafe { version() } == ABI)
}
