//! The DLPack header in Rust: C names, C layout, and nothing else.
//!
//! Follows DLPack 1.3, plus the codes that were merged after it (`kDLBcomplex`, `kDLTPU`, `kDLTPUHost`). Codes and
//! device types are plain integers, never Rust enums: a producer may send any value.
//!
//! `DLTensor` and [`DLManagedTensor`] have had the same binary layout since header v0.2, so producers of any age can
//! be read. Names that changed on the way:
//!
//! | v0.2 – v0.5     | today          |
//! |-----------------|----------------|
//! | `DLContext`     | [`DLDevice`]   |
//! | `DLTensor::ctx` | [`DLTensor::device`] |
//! | `kDLGPU`        | [`kDLCUDA`]    |
//! | `kDLCPUPinned`  | [`kDLCUDAHost`] |
#![expect(non_upper_case_globals, non_snake_case, reason = "the names are the header's own")]

use core::ffi::{c_char, c_int, c_void};
use core::mem::{offset_of, size_of};

/// The major version of the header that this module follows.
pub const DLPACK_MAJOR_VERSION: u32 = 1;
/// The minor version of the header that this module follows.
pub const DLPACK_MINOR_VERSION: u32 = 3;

/// Bit of [`DLManagedTensorVersioned::flags`]: the consumer must not write.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1 << 0;
/// Bit of [`DLManagedTensorVersioned::flags`]: the producer made a copy for this exchange.
pub const DLPACK_FLAG_BITMASK_IS_COPIED: u64 = 1 << 1;
/// Bit of [`DLManagedTensorVersioned::flags`]: sub-byte elements take one byte each instead of being packed.
pub const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: u64 = 1 << 2;

/// `enum DLDeviceType : int32_t`.
pub type DLDeviceType = i32;
/// The type of [`DLDataType::code`]; the header's `enum DLDataTypeCode`, stored in one byte.
pub type DLDataTypeCode = u8;

macro_rules! constants {
    ($ty:ty: $($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        $($(#[$doc])* pub const $name: $ty = $value;)*
    };
}

constants! { DLDeviceType:
    /// Main memory.
    kDLCPU = 1;
    /// CUDA GPU.
    kDLCUDA = 2;
    /// Pinned host memory of CUDA (`cudaMallocHost`).
    kDLCUDAHost = 3;
    /// OpenCL device.
    kDLOpenCL = 4;
    /// Vulkan buffer.
    kDLVulkan = 7;
    /// Metal for Apple GPUs.
    kDLMetal = 8;
    /// Verilog simulator buffer.
    kDLVPI = 9;
    /// ROCm GPU.
    kDLROCM = 10;
    /// Pinned host memory of ROCm (`hipMallocHost`).
    kDLROCMHost = 11;
    /// Reserved extension device for experiments.
    kDLExtDev = 12;
    /// CUDA managed (unified) memory (`cudaMallocManaged`).
    kDLCUDAManaged = 13;
    /// Unified shared memory of oneAPI.
    kDLOneAPI = 14;
    /// WebGPU.
    kDLWebGPU = 15;
    /// Qualcomm Hexagon DSP.
    kDLHexagon = 16;
    /// Microsoft MAIA.
    kDLMAIA = 17;
    /// AWS Trainium.
    kDLTrn = 18;
    /// Google TPU (merged after 1.3).
    kDLTPU = 19;
    /// Host memory pinned for a TPU (merged after 1.3).
    kDLTPUHost = 20;
}

constants! { DLDataTypeCode:
    /// Signed integer.
    kDLInt = 0;
    /// Unsigned integer.
    kDLUInt = 1;
    /// IEEE 754 floating point.
    kDLFloat = 2;
    /// Opaque handle.
    kDLOpaqueHandle = 3;
    /// bfloat16.
    kDLBfloat = 4;
    /// Complex number: real part, then imaginary part; `bits` counts both.
    kDLComplex = 5;
    /// Boolean, one byte that is 0 or 1 when `bits` is 8.
    kDLBool = 6;
    /// 8-bit float, 3 exponent and 4 mantissa bits.
    kDLFloat8_e3m4 = 7;
    /// 8-bit float, 4 exponent and 3 mantissa bits, IEEE-like.
    kDLFloat8_e4m3 = 8;
    /// 8-bit float, 4 exponent bits with bias 11, finite, no negative zero.
    kDLFloat8_e4m3b11fnuz = 9;
    /// 8-bit float, 4 exponent and 3 mantissa bits, finite.
    kDLFloat8_e4m3fn = 10;
    /// 8-bit float, 4 exponent and 3 mantissa bits, finite, no negative zero.
    kDLFloat8_e4m3fnuz = 11;
    /// 8-bit float, 5 exponent and 2 mantissa bits, IEEE-like.
    kDLFloat8_e5m2 = 12;
    /// 8-bit float, 5 exponent and 2 mantissa bits, finite, no negative zero.
    kDLFloat8_e5m2fnuz = 13;
    /// 8-bit power-of-two scale.
    kDLFloat8_e8m0fnu = 14;
    /// 6-bit float, 2 exponent and 3 mantissa bits; only `bits == 6` is specified.
    kDLFloat6_e2m3fn = 15;
    /// 6-bit float, 3 exponent and 2 mantissa bits; only `bits == 6` is specified.
    kDLFloat6_e3m2fn = 16;
    /// 4-bit float, 2 exponent and 1 mantissa bits; only `bits == 4` is specified.
    kDLFloat4_e2m1fn = 17;
    /// Complex number of two bfloats (merged after 1.3).
    kDLBcomplex = 18;
}

/// The version of a managed tensor or of an exchange API.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DLPackVersion {
    /// A new major version breaks the ABI after [`DLManagedTensorVersioned::flags`].
    pub major: u32,
    /// A new minor version only adds something, and old consumers go on working.
    pub minor: u32,
}

/// Where a tensor lives.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// One of the `kDL…` device constants, or an unknown one.
    pub device_type: DLDeviceType,
    /// The index among the devices of that type; 0 for CPU, pinned and managed memory.
    pub device_id: i32,
}

/// The type of one element.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// One of the `kDL…` dtype constants, or an unknown one.
    pub code: DLDataTypeCode,
    /// Bits of one lane; for complex numbers both parts together.
    pub bits: u8,
    /// Lanes of a vector element, 1 for a scalar.
    pub lanes: u16,
}

/// A tensor without ownership.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The allocation; the first element is `byte_offset` bytes after its start. NULL when there are no elements.
    pub data: *mut c_void,
    /// Where `data` lives.
    pub device: DLDevice,
    /// The number of axes.
    pub ndim: i32,
    /// The type of one element.
    pub dtype: DLDataType,
    /// `ndim` lengths. NULL is allowed only when `ndim` is 0.
    pub shape: *mut i64,
    /// `ndim` strides in elements; NULL means row-major.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// The legacy (unversioned) managed tensor.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor that is managed.
    pub dl_tensor: DLTensor,
    /// The producer's context; may be NULL.
    pub manager_ctx: *mut c_void,
    /// Releases the context and the struct itself; may be NULL.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// The versioned managed tensor of DLPack 1.0 and later.
///
/// Everything up to and including `flags` is stable across major versions, so that the deleter can always be called.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version that the producer wrote.
    pub version: DLPackVersion,
    /// The producer's context; may be NULL.
    pub manager_ctx: *mut c_void,
    /// Releases the context and the struct itself; may be NULL.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// `DLPACK_FLAG_BITMASK_*`; unknown bits are to be ignored.
    pub flags: u64,
    /// The tensor that is managed.
    pub dl_tensor: DLTensor,
}

/// Allocates a tensor like `prototype`; reports failure through `SetError`.
pub type DLPackManagedTensorAllocator = Option<
    unsafe extern "C" fn(
        prototype: *mut DLTensor,
        out: *mut *mut DLManagedTensorVersioned,
        error_ctx: *mut c_void,
        SetError: Option<unsafe extern "C" fn(error_ctx: *mut c_void, kind: *const c_char, message: *const c_char)>,
    ) -> c_int,
>;
/// Python object → owned tensor, without stream synchronisation.
pub type DLPackManagedTensorFromPyObjectNoSync =
    Option<unsafe extern "C" fn(py_object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int>;
/// Python object → borrowed tensor, valid while the object lives; may be NULL.
pub type DLPackDLTensorFromPyObjectNoSync =
    Option<unsafe extern "C" fn(py_object: *mut c_void, out: *mut DLTensor) -> c_int>;
/// The stream on which the framework currently works on a device.
pub type DLPackCurrentWorkStream = Option<
    unsafe extern "C" fn(device_type: DLDeviceType, device_id: i32, out_current_stream: *mut *mut c_void) -> c_int,
>;
/// Owned tensor → Python object; steals the tensor.
pub type DLPackManagedTensorToPyObjectNoSync =
    Option<unsafe extern "C" fn(tensor: *mut DLManagedTensorVersioned, out_py_object: *mut *mut c_void) -> c_int>;

/// The stable head of every exchange API table.
#[repr(C)]
#[derive(Debug)]
pub struct DLPackExchangeAPIHeader {
    /// The version of the table that follows.
    pub version: DLPackVersion,
    /// An older table for older consumers, or NULL.
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// The C exchange API of DLPack 1.3: a table that lives as long as the process, found through the capsule
/// `__dlpack_c_exchange_api__` on a Python tensor type.
#[repr(C)]
#[derive(Debug)]
pub struct DLPackExchangeAPI {
    /// Version and older tables.
    pub header: DLPackExchangeAPIHeader,
    /// Must not be NULL.
    pub managed_tensor_allocator: DLPackManagedTensorAllocator,
    /// Must not be NULL.
    pub managed_tensor_from_py_object_no_sync: DLPackManagedTensorFromPyObjectNoSync,
    /// Must not be NULL.
    pub managed_tensor_to_py_object_no_sync: DLPackManagedTensorToPyObjectNoSync,
    /// May be NULL.
    pub dltensor_from_py_object_no_sync: DLPackDLTensorFromPyObjectNoSync,
    /// Must not be NULL.
    pub current_work_stream: DLPackCurrentWorkStream,
}

// Checks the ABI when this is compiled for 64-bit pointers: sizes and offsets must be those of C compilers.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<DLPackVersion>() == 8);
    assert!(DLPACK_FLAG_BITMASK_READ_ONLY == 1 && DLPACK_FLAG_BITMASK_IS_COPIED == 2);
    assert!(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED == 4);
    assert!(size_of::<DLDevice>() == 8 && offset_of!(DLDevice, device_id) == 4);
    assert!(size_of::<DLDataType>() == 4 && offset_of!(DLDataType, bits) == 1 && offset_of!(DLDataType, lanes) == 2);
    assert!(size_of::<DLTensor>() == 48);
    assert!(offset_of!(DLTensor, data) == 0 && offset_of!(DLTensor, device) == 8);
    assert!(offset_of!(DLTensor, ndim) == 16 && offset_of!(DLTensor, dtype) == 20);
    assert!(offset_of!(DLTensor, shape) == 24 && offset_of!(DLTensor, strides) == 32);
    assert!(offset_of!(DLTensor, byte_offset) == 40);
    assert!(size_of::<DLManagedTensor>() == 64);
    assert!(offset_of!(DLManagedTensor, manager_ctx) == 48 && offset_of!(DLManagedTensor, deleter) == 56);
    assert!(size_of::<DLManagedTensorVersioned>() == 80 && offset_of!(DLManagedTensorVersioned, version) == 0);
    assert!(offset_of!(DLManagedTensorVersioned, manager_ctx) == 8);
    assert!(offset_of!(DLManagedTensorVersioned, deleter) == 16 && offset_of!(DLManagedTensorVersioned, flags) == 24);
    assert!(offset_of!(DLManagedTensorVersioned, dl_tensor) == 32);
    assert!(size_of::<DLPackExchangeAPIHeader>() == 16 && offset_of!(DLPackExchangeAPIHeader, prev_api) == 8);
    assert!(size_of::<DLPackExchangeAPI>() == 56 && offset_of!(DLPackExchangeAPI, managed_tensor_allocator) == 16);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 24);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 32);
    assert!(offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 40);
    assert!(offset_of!(DLPackExchangeAPI, current_work_stream) == 48);
};
