//! Producers as C has them: managed tensors of both ABIs, well-formed or hostile, that count their deleter's calls.

use std::ffi::c_void;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlbridge_core::sys::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION,
    DLPackVersion, DLTensor, kDLCPU,
};
use dlbridge_core::{DataType, Device, Error, Tensor};

use crate::sample::Sample;

/// Counts the calls of one producer's deleter.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<AtomicUsize>);

impl Calls {
    /// How often the deleter has run.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Which of the two ABIs a producer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// `DLManagedTensor`.
    Legacy,
    /// `DLManagedTensorVersioned`.
    Versioned,
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Versioned => "versioned",
        })
    }
}

/// Both ABIs.
pub const ABIS: [Abi; 2] = [Abi::Legacy, Abi::Versioned];

/// A managed tensor on its way to a consumer. Whoever holds it must call its deleter.
#[derive(Clone, Copy, Debug)]
pub enum Managed {
    /// Of the legacy ABI.
    Legacy(NonNull<DLManagedTensor>),
    /// Of the versioned ABI.
    Versioned(NonNull<DLManagedTensorVersioned>),
}

impl Managed {
    /// Makes a [`Tensor`] that owns it.
    ///
    /// # Safety
    /// That of [`Tensor::from_raw`].
    ///
    /// # Errors
    /// Those of [`Tensor::from_raw`] and [`Tensor::from_legacy_raw`].
    pub unsafe fn import(self) -> Result<Tensor, Error> {
        match self {
            // SAFETY: the caller's promise.
            Self::Legacy(managed) => unsafe { Tensor::from_legacy_raw(managed) },
            // SAFETY: the caller's promise.
            Self::Versioned(managed) => unsafe { Tensor::from_raw(managed) },
        }
    }

    /// Frees a managed tensor without a deleter, and counts that as a call of the deleter.
    ///
    /// # Safety
    /// A [`Producer`] without a deleter has made it, and nobody uses it any more.
    pub unsafe fn free(self) {
        match self {
            // SAFETY: the caller's promise.
            Self::Legacy(managed) => unsafe { delete_legacy(managed.as_ptr()) },
            // SAFETY: the caller's promise.
            Self::Versioned(managed) => unsafe { delete_versioned(managed.as_ptr()) },
        }
    }
}

/// A producer whose fields can be set one by one, to right or to wrong values.
#[derive(Debug)]
pub struct Producer {
    /// The tensor; its pointers are set by [`Producer::shape`] and the like, or by hand.
    pub tensor: DLTensor,
    /// The version, for the versioned ABI.
    pub version: DLPackVersion,
    /// The flags, for the versioned ABI.
    pub flags: u64,
    /// Whether there is a deleter.
    pub has_deleter: bool,
    calls: Calls,
    // The tensor's pointers point into the following fields. The memory is aligned to 64 bytes.
    memory: Vec<[u128; 4]>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl Producer {
    /// A well-formed row-major CPU tensor over a copy of `bytes`.
    pub fn new(dtype: DataType, shape: &[i64], bytes: &[u8]) -> Self {
        let mut memory = vec![[0u128; 4]; bytes.len().div_ceil(64) + 1];
        let data = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: the memory is at least as long as `bytes`.
        unsafe { data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let tensor = DLTensor {
            data: data.cast(),
            device: DLDevice { device_type: kDLCPU, device_id: 0 },
            ndim: 0,
            dtype: DLDataType::from(dtype),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let version = DLPackVersion { major: DLPACK_MAJOR_VERSION, minor: DLPACK_MINOR_VERSION };
        let (calls, flags) = (Calls::default(), 0);
        let producer =
            Self { tensor, version, flags, has_deleter: true, calls, memory, shape: Vec::new(), strides: Vec::new() };
        producer.shape(shape)
    }

    /// A tensor with the sample's elements and layout; `None` if its first element begins within a byte.
    pub fn of(sample: &Sample) -> Option<Self> {
        let strided = sample.strided();
        let offset_bits = strided.offset as u64 * u64::from(sample.dtype.bits_per_element());
        if offset_bits % 8 != 0 {
            return None;
        }
        let shape: Vec<i64> = strided.shape.iter().map(|length| *length as i64).collect();
        let producer = Self::new(sample.dtype, &shape, &sample.base_bytes()).strides(&strided.strides);
        Some(producer.with(|producer| producer.tensor.byte_offset = offset_bits / 8))
    }

    /// A row-major tensor of floats.
    pub fn f32(shape: &[i64], elements: &[f32]) -> Self {
        let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
        Self::new(DataType::FLOAT32, shape, &bytes)
    }

    /// Sets the lengths of the axes.
    #[must_use]
    pub fn shape(mut self, shape: &[i64]) -> Self {
        self.shape = shape.to_vec();
        self.tensor.ndim = shape.len() as i32;
        self.tensor.shape = if shape.is_empty() { ptr::null_mut() } else { self.shape.as_mut_ptr() };
        self
    }

    /// Sets the strides, in elements. An empty slice stands for NULL.
    #[must_use]
    pub fn strides(mut self, strides: &[i64]) -> Self {
        self.strides = strides.to_vec();
        self.tensor.strides = if strides.is_empty() { ptr::null_mut() } else { self.strides.as_mut_ptr() };
        self
    }

    /// Sets the device that the tensor claims. The memory stays where it is.
    #[must_use]
    pub fn device(mut self, device: Device) -> Self {
        self.tensor.device = device.into();
        self
    }

    /// Sets the flags.
    #[must_use]
    pub fn flags(mut self, flags: u64) -> Self {
        self.flags = flags;
        self
    }

    /// Makes any other change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The address of the first element, computed from the fields.
    pub fn first(&self) -> *const u8 {
        self.tensor.data.cast::<u8>().cast_const().wrapping_add(self.tensor.byte_offset as usize)
    }

    /// The producer's memory.
    pub fn memory(&self) -> *const u8 {
        self.memory.as_ptr().cast()
    }

    /// The counter of this producer's deleter.
    pub fn calls(&self) -> Calls {
        self.calls.clone()
    }

    /// Hands the tensor over through an ABI.
    ///
    /// # Safety
    /// Whatever the fields claim of the memory is true, as far as the consumer accepts them.
    ///
    /// # Errors
    /// Those of [`Tensor::from_raw`] and [`Tensor::from_legacy_raw`].
    pub unsafe fn import(self, abi: Abi) -> Result<Tensor, Error> {
        // SAFETY: just made; the caller's promise.
        unsafe { self.into_managed(abi).import() }
    }

    /// As a managed tensor of an ABI.
    pub fn into_managed(self, abi: Abi) -> Managed {
        match abi {
            Abi::Versioned => Managed::Versioned(self.into_versioned()),
            Abi::Legacy => Managed::Legacy(self.into_legacy()),
        }
    }

    /// As a raw versioned tensor.
    pub fn into_versioned(self) -> NonNull<DLManagedTensorVersioned> {
        let (version, flags, dl_tensor) = (self.version, self.flags, self.tensor);
        let deleter: unsafe extern "C" fn(*mut DLManagedTensorVersioned) = delete_versioned;
        let deleter = self.has_deleter.then_some(deleter);
        let manager_ctx = Box::into_raw(Box::new(self)).cast();
        NonNull::from(Box::leak(Box::new(DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor })))
    }

    /// As a raw legacy tensor.
    pub fn into_legacy(self) -> NonNull<DLManagedTensor> {
        let dl_tensor = self.tensor;
        let deleter: unsafe extern "C" fn(*mut DLManagedTensor) = delete_legacy;
        let deleter = self.has_deleter.then_some(deleter);
        let manager_ctx = Box::into_raw(Box::new(self)).cast();
        NonNull::from(Box::leak(Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter })))
    }
}

fn release(manager_ctx: *mut c_void) {
    // SAFETY: the producer that `into_versioned` or `into_legacy` leaked; a second call would be a fault of the
    // library under test, and is what the counter and the address sanitizer are for.
    let producer = unsafe { Box::from_raw(manager_ctx.cast::<Producer>()) };
    producer.calls.0.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn delete_versioned(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: the struct that `into_versioned` leaked.
    release(unsafe { Box::from_raw(managed) }.manager_ctx);
}

unsafe extern "C" fn delete_legacy(managed: *mut DLManagedTensor) {
    // SAFETY: the struct that `into_legacy` leaked.
    release(unsafe { Box::from_raw(managed) }.manager_ctx);
}
