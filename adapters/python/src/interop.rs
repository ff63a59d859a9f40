//! What the array libraries call their element types and devices, where their names are not DLPack's.

use dlbridge_core::{DataType, DataTypeCode, Device, DeviceType};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::library::imported;
use crate::number::Number;
use crate::types::{PyDType, PyDevice, PyTensor};

/// How often an object is asked for the dtype or the device of its dtype or device: arrays have those of their library,
/// which may wrap another's.
pub(crate) const DEEPEST: u8 = 3;

/// Names that differ from DLPack's: torch's packed pairs, and pyarrow's floats.
const ALIASES: [(&str, &str, DataType); 4] = [
    ("torch", "float4_e2m1fn_x2", DataType::FLOAT4_E2M1FN.with_lanes(2)),
    ("pyarrow", "halffloat", DataType::FLOAT16),
    ("pyarrow", "float", DataType::FLOAT32),
    ("pyarrow", "double", DataType::FLOAT64),
];

/// What a library calls the dtype `object`, if that is one; `Some("")` for one that cannot be exchanged.
pub(crate) fn dtype_name(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    if let Ok(kind) = object.cast::<PyType>() {
        // A scalar type: `numpy.float32`, `ml_dtypes.bfloat16`.
        let Some(numpy) = imported(intern!(py, "numpy")) else { return Ok(None) };
        if !kind.is_subclass(&numpy.getattr("generic")?)? {
            return Ok(None);
        }
        return dtype_name(&numpy.call_method1("dtype", (kind,))?);
    }
    let kind = object.get_type();
    let library = root(&kind.module()?)?;
    let class = kind.qualname()?.to_string();
    if library == "pyarrow" && class.ends_with("Type") {
        // Arrow's own booleans are bits.
        let name = match object.str()?.to_string().as_str() {
            "bool" => String::new(),
            "extension<arrow.bool8>" => "bool".to_owned(),
            name => name.to_owned(),
        };
        return Ok(Some(format!("pyarrow.{name}")));
    }
    if !class.to_lowercase().contains("dtype") {
        return Ok(None);
    }
    if let Some(is_native) = object.getattr_opt("isnative")? {
        // numpy's: extended floats are no IEEE ones, and a name says nothing of the order of bytes.
        let name = object.getattr("name")?.extract::<String>()?;
        let is_extended = matches!(name.as_str(), "float96" | "float128" | "complex192" | "complex256");
        let is_plain = is_native.is_truthy()? && !is_extended;
        return Ok(Some(if is_plain { name } else { String::new() }));
    }
    let name = object.str()?.to_string();
    Ok(Some(format!("{library}.{}", name.rsplit('.').next().unwrap_or_default())))
}

/// What the arrays of a library call their dtype.
pub(crate) fn dtype_attribute(array: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(if root(&array.get_type().module()?)? == "pyarrow" { "type" } else { "dtype" })
}

/// The element type of a name that [`dtype_name`] gave.
pub(crate) fn parse_dtype(name: &str) -> Option<DataType> {
    let (library, name) = name.split_once('.').unwrap_or(("", name));
    let alias = ALIASES.iter().find(|(of, alias, _)| *of == library && *alias == name).map(|(.., dtype)| *dtype);
    alias.or_else(|| name.parse().ok())
}

/// A library's own dtype.
pub(crate) fn dtype_to<'py>(dtype: &Bound<'py, PyDType>, library: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = dtype.py();
    let PyDType(standard) = *dtype.get();
    let (module, root) = library_of(library)?;
    let name = ALIASES.iter().find(|(of, _, dtype)| *of == root && *dtype == standard);
    let name = name.map_or_else(|| standard.to_string(), |(_, alias, _)| (*alias).to_owned());
    let lacks = || PyTypeError::new_err(format!("{root} has no dtype {standard}"));
    match root.as_str() {
        "dlbridge" => Ok(dtype.clone().into_any()),
        "tvm_ffi" => {
            let triple = (standard.code().0, standard.bits(), standard.lanes());
            module.getattr("dtype")?.call_method1("from_dlpack_data_type", (triple,)).map_err(|_| lacks())
        }
        "pyarrow" => {
            let maker = match name.as_str() {
                "bool" => "bool8",
                "halffloat" => "float16",
                "float" => "float32",
                "double" => "float64",
                name if matches!(standard.code(), DataTypeCode::INT | DataTypeCode::UINT) => name,
                _ => return Err(lacks()),
            };
            module.getattr(maker).map_err(|_| lacks())?.call0()
        }
        "numpy" | "ml_dtypes" => numpy_dtype(py, standard)?.ok_or_else(lacks),
        "jax" => {
            py.import("jax.numpy")?.getattr(&*name).map_err(|_| lacks())?;
            numpy_dtype(py, standard)?.ok_or_else(lacks)
        }
        _ => {
            let found = module.getattr_opt(&*name)?.ok_or_else(lacks)?;
            // `float4_e2m1fn` may also be a function or a module of an unknown library.
            if matches!(dtype_name(&found)?.as_deref().map(parse_dtype), Some(Some(found)) if found == standard) {
                Ok(found)
            } else {
                Err(lacks())
            }
        }
    }
}

/// numpy's dtype, of ml_dtypes where numpy itself has none.
fn numpy_dtype(py: Python<'_>, dtype: DataType) -> PyResult<Option<Bound<'_, PyAny>>> {
    let numpy = py.import("numpy")?;
    let name = dtype.to_string();
    let is_native = match dtype.code() {
        DataTypeCode::INT | DataTypeCode::UINT => matches!(dtype.bits(), 8 | 16 | 32 | 64),
        DataTypeCode::FLOAT => matches!(dtype.bits(), 16 | 32 | 64),
        DataTypeCode::COMPLEX => matches!(dtype.bits(), 64 | 128),
        code => code == DataTypeCode::BOOL && dtype.bits() == 8,
    };
    if dtype.lanes() != 1 {
        return Ok(None);
    }
    if is_native {
        return numpy.call_method1("dtype", (name,)).map(Some);
    }
    let Ok(extras) = py.import("ml_dtypes") else { return Ok(None) };
    match extras.getattr_opt(&*name)? {
        Some(scalar) if scalar.is_instance_of::<PyType>() => numpy.call_method1("dtype", (scalar,)).map(Some),
        _ => Ok(None),
    }
}

/// The memory of a tensor as a numpy array.
pub(crate) fn numpy<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
    let py = tensor.py();
    let numpy = py.import("numpy")?;
    let dtype = tensor.get().descriptor().dtype();
    let lacks = || PyBufferError::new_err(format!("numpy has no dtype {dtype}, nor has ml_dtypes"));
    let own = numpy_dtype(py, dtype)?.ok_or_else(lacks)?;
    if own.getattr("isbuiltin")?.extract::<i32>()? == 1 {
        return numpy.call_method1("from_dlpack", (tensor,));
    }
    // numpy's importer knows its own types only: the bytes go through as integers, and get their type back there.
    let bytes = match dtype.size_of(1, tensor.get().descriptor().flags().is_padded()) {
        Some(1) if !dtype.is_sub_byte() || tensor.get().descriptor().flags().is_padded() => DataType::UINT8,
        Some(2) => DataType::UINT16,
        Some(4) => DataType::UINT32,
        _ => return Err(PyBufferError::new_err(format!("numpy has no packed elements of {dtype}"))),
    };
    let bytes = Bound::new(py, PyTensor { handle: tensor.get().handle.retyped(bytes) })?;
    numpy.call_method1("from_dlpack", (bytes,))?.call_method1("view", (own,))
}

/// Kinds of devices by the names of torch, jax and tvm-ffi, where they are not DLPack's.
const KINDS: [(&str, DeviceType); 5] = [
    ("mps", DeviceType::METAL),
    ("xpu", DeviceType::ONE_API),
    ("gpu", DeviceType::CUDA),
    ("maia", DeviceType::MAIA),
    ("ext_dev", DeviceType::EXT_DEV),
];

/// A device of torch, jax, tvm-ffi or array-api-strict.
pub(crate) fn device(object: &Bound<'_, PyAny>) -> PyResult<Option<Device>> {
    let kind = object.get_type();
    let (library, class) = (root(&kind.module()?)?, kind.qualname()?.to_string());
    if !class.to_lowercase().ends_with("device") {
        return Ok(None);
    }
    if library == "array_api_strict" {
        // All of its devices are main memory.
        return Ok(Some(Device::CPU));
    }
    if let Some(kind) = object.getattr_opt("dlpack_device_type")? {
        let kind = if kind.is_callable() { kind.call0()? } else { kind };
        let (Number(kind), Number(id)) = (kind.extract()?, object.getattr("index")?.extract()?);
        return Ok(Some(Device::new(DeviceType(kind), id)));
    }
    // torch: `type` and `index`; jax: `platform` and `id`.
    let (name, id) = match object.getattr_opt("platform")? {
        Some(name) => (name, object.getattr("id")?),
        None => (object.getattr("type")?, object.getattr("index")?),
    };
    let (name, id) = (name.extract::<String>()?, id.extract::<Option<Number<i32>>>()?.map_or(0, |Number(id)| id));
    let known = KINDS.iter().find(|(alias, _)| *alias == name).map(|(_, kind)| Device::new(*kind, id));
    let found = known.or_else(|| name.parse().ok().map(|device: Device| Device::new(device.kind(), id)));
    // Both call AMD's devices by NVIDIA's names.
    let is_rocm = found.is_some_and(|device| device.kind() == DeviceType::CUDA) && is_rocm(object, &library)?;
    Ok(if is_rocm { Some(Device::new(DeviceType::ROCM, id)) } else { found })
}

fn is_rocm(device: &Bound<'_, PyAny>, library: &str) -> PyResult<bool> {
    if library == "torch" {
        return Ok(!device.py().import("torch")?.getattr("version")?.getattr("hip")?.is_none());
    }
    let Some(client) = device.getattr_opt("client")? else { return Ok(false) };
    Ok(client.getattr("platform_version")?.str()?.to_string().contains("rocm"))
}

/// A library's own device, which reads back as the same one: torch, for one, has an index of eight bits.
pub(crate) fn device_to<'py>(
    device: &Bound<'py, PyDevice>,
    library: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let PyDevice(standard) = *device.get();
    let (module, root) = library_of(library)?;
    let lacks = || PyTypeError::new_err(format!("{root} has no device {standard}"));
    let made = match (root.as_str(), standard.kind()) {
        ("dlbridge", _) => return Ok(device.clone().into_any()),
        ("numpy", _) if standard == Device::CPU => return Ok(PyString::new(device.py(), "cpu").into_any()),
        ("torch", DeviceType::CPU) => module.call_method1("device", ("cpu",)),
        ("torch", kind) => {
            let alias = KINDS.iter().find(|(_, of)| *of == kind).map(|(alias, _)| *alias);
            let name = match kind {
                DeviceType::CUDA | DeviceType::ROCM => "cuda",
                DeviceType::METAL | DeviceType::ONE_API | DeviceType::MAIA => alias.ok_or_else(lacks)?,
                _ => return Err(lacks()),
            };
            module.call_method1("device", (name, standard.id()))
        }
        ("jax", kind) => {
            let platform = match kind {
                DeviceType::CPU => "cpu",
                DeviceType::CUDA => "cuda",
                DeviceType::ROCM => "rocm",
                DeviceType::TPU => "tpu",
                _ => return Err(lacks()),
            };
            module.call_method1("devices", (platform,)).and_then(|devices| devices.get_item(standard.id()))
        }
        ("tvm_ffi", kind) => module.call_method1("device", (kind.0, standard.id())),
        ("array_api_strict", DeviceType::CPU) => module.call_method1("Device", ("CPU_DEVICE",)),
        _ => return Err(lacks()),
    };
    let made = made.map_err(|_| lacks())?;
    if self::device(&made)? == Some(standard) { Ok(made) } else { Err(lacks()) }
}

/// A library, given as a module or by name, and the name of its outermost package.
fn library_of<'py>(library: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, String)> {
    if let Ok(name) = library.cast::<PyString>() {
        return Ok((library.py().import(name)?.into_any(), root(name)?));
    }
    let name = library.getattr("__name__").and_then(|name| Ok(name.cast_into::<PyString>()?));
    let name = name.map_err(|_| PyTypeError::new_err("expected a library: a module or its name"))?;
    Ok((library.clone(), root(&name)?))
}

/// The name of the outermost package: "jaxlib" and jax are one library.
fn root(module: &Bound<'_, PyString>) -> PyResult<String> {
    let root = module.to_str()?.split('.').next().unwrap_or_default();
    Ok(if root == "jaxlib" { "jax" } else { root }.to_owned())
}
