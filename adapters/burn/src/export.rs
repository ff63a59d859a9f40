//! Exports of tensors on burn's backend flex.

use std::ptr::NonNull;

use burn_flex::{Flex, FlexTensor, Layout};
use burn_std::sync::Arc;
use burn_std::{AccessError, AllocationProperty, Bytes, DType, Reader, ViewError, Writer};
use burn_tensor::kind::Autodiff;
use burn_tensor::{BackendPrimitive, Tensor as BurnTensor};
use dlbridge_core::layout::{self, Dims};
use dlbridge_core::{
    DataType, Descriptor, Device, Error, Export, Flags, Interchange, Memory, Reason, Tensor, TensorRef,
};

use crate::dtype::by_dtype;
use crate::{Burn, NAME};

/// The owner of an exported tensor, from which an import makes a flex tensor again.
pub(crate) struct Exported {
    pub(crate) bytes: Arc<Bytes>,
    pub(crate) layout: Layout,
    pub(crate) dtype: DType,
}

/// A flex tensor, checked to lie within its memory.
struct Source {
    /// The address of the first element; dangling if the memory has not been read yet.
    data: *const u8,
    /// The offset of the first element, in bytes.
    offset: usize,
    dtype: DataType,
    shape: Dims,
    strides: Dims,
    /// Whether the tensor is row-major and covers all of its memory.
    is_whole: bool,
    /// Whether the memory has to be read from a file or a device first.
    is_lazy: bool,
}

impl Source {
    fn new(bytes: &Bytes, layout: &Layout, dtype: DType, reader: Reader) -> Result<Self, Error> {
        let standard = dtype.to_dlpack()?;
        let overflow = |_| Error::Overflow { quantity: "strides" };
        let shape: Result<Dims, _> = layout.shape().iter().map(|length| i64::try_from(*length)).collect();
        let shape = shape.map_err(overflow)?;
        let strides: Dims = layout.strides().iter().map(|stride| *stride as i64).collect();
        // Safe code can make any layout, so it has to be checked.
        if shape.len() != strides.len() {
            return Err(Error::LengthMismatch { expected: shape.len(), found: strides.len() });
        }
        let elements = layout::validate(&shape, Some(&strides), standard, false)?;
        let available = bytes.len() / dtype.size();
        if let Some(extent) = layout::extent_of(&shape, Some(&strides)) {
            let start = layout.start_offset() as i128;
            let (lowest, needed) = (start + i128::from(extent.lowest), start + i128::from(extent.highest) + 1);
            if lowest < 0 || needed > available as i128 {
                return Err(Error::OutOfStorage { framework: NAME, needed: needed as usize, available });
            }
        }
        let offset = layout.start_offset().saturating_mul(dtype.size()).min(bytes.len());
        let (data, is_lazy) = match bytes.read(reader) {
            // All of the memory is asked for, because negative strides reach below the first element.
            Ok(bytes) => (bytes.as_ptr().wrapping_add(offset), false),
            Err(AccessError::WouldCopy) => (NonNull::<u128>::dangling().as_ptr().cast_const().cast(), true),
            Err(error) => return Err(Error::Framework { framework: NAME, message: error.to_string().into() }),
        };
        let is_run = offset == 0 && layout::is_row_major(&shape, Some(&strides));
        let is_whole = is_run && elements * dtype.size() == bytes.len();
        Ok(Self { data, offset, dtype: standard, shape, strides, is_whole, is_lazy })
    }

    /// Whether elements may share memory, so that nobody should write it.
    fn overlaps(&self) -> bool {
        layout::may_overlap(&self.shape, Some(&self.strides))
    }

    fn describe(&self, flags: Flags) -> Result<Descriptor<'_>, Error> {
        Descriptor::new(self.data, self.dtype, Device::CPU, flags, &self.shape, Some(&self.strides))
    }

    /// A tensor over this memory, owned by `owner`.
    ///
    /// # Safety
    /// `data` is the first element, in memory that the bytes in `owner` keep alive and in place, and that nobody
    /// writes, nor reads any of it unless `flags` say read-only.
    unsafe fn place(&self, owner: Exported, flags: Flags, data: *mut u8) -> Tensor {
        let memory = Memory { dtype: self.dtype, device: Device::CPU, flags, is_valid: false };
        // SAFETY: `new` has checked that the layout lies within the bytes, all of which can be read (axiom
        // *initialised*); the rest is the caller's promise.
        unsafe {
            Tensor::from_sole_owner(owner, memory, self.shape.len(), |_, shape, strides| {
                shape.copy_from_slice(&self.shape);
                strides.copy_from_slice(&self.strides);
                data
            })
        }
    }
}

/// Whether these bytes may be written in place if there is no other handle. They must come from Rust's allocator and
/// must not be shared inside burn, which is told by a trial: only shared bytes can give a view of themselves.
fn is_own(bytes: &Bytes) -> bool {
    bytes.property() == AllocationProperty::Native && matches!(bytes.view(0, 0), Err(ViewError::Unsupported))
}

impl Export<Burn> for FlexTensor {
    fn export(self) -> Result<Tensor, Error> {
        let (bytes, layout, dtype) = (self.data_arc(), self.layout().clone(), self.dtype());
        drop(self);
        let source = Source::new(&bytes, &layout, dtype, Reader::new().no_copy())?;
        if source.is_lazy {
            return Err(Error::CopyRequired { framework: NAME, reason: Reason::Lazy });
        }
        let bytes = match Arc::try_unwrap(bytes) {
            Ok(bytes) => bytes,
            Err(bytes) => {
                let data = source.data.cast_mut();
                // SAFETY: the owner is a handle, so that burn does not write the bytes (axioms *unique* and *const*),
                // which stay where they are (axiom *place*).
                return Ok(unsafe { source.place(Exported { bytes, layout, dtype }, Flags::READ_ONLY, data) });
            }
        };
        // This is the only handle. If the memory is a vector, export that vector.
        let vec = by_dtype!(
            source.dtype,
            T => match source.is_whole {
                true => bytes.try_into_vec::<T>().map(|vec| place_vec(vec, &source.shape)),
                false => Err(bytes),
            },
            _ => Err(bytes)
        );
        let mut bytes = match vec {
            Ok(tensor) => return tensor,
            Err(bytes) => bytes,
        };
        let (data, flags) = match bytes.write(Writer::new().no_copy()) {
            Ok(writable) => {
                let flags = if source.overlaps() { Flags::READ_ONLY } else { Flags::empty() };
                (writable.as_mut_ptr().wrapping_add(source.offset), flags)
            }
            Err(_) => (source.data.cast_mut(), Flags::READ_ONLY),
        };
        let owner = Exported { bytes: Arc::new(bytes), layout, dtype };
        // SAFETY: the owner is the only handle to the bytes (axiom *unique*), which stay where they are (axiom
        // *place*). If burn gave them for writing, nobody else reaches the memory (axiom *alone*); otherwise nobody
        // writes it (axiom *const*).
        Ok(unsafe { source.place(owner, flags, data) })
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        let bytes = self.data_arc();
        let source = Source::new(&bytes, self.layout(), self.dtype(), Reader::new())?;
        // SAFETY: `source` lies within the bytes, all of which can be read (axiom *initialised*), and which nobody
        // writes while there is a second handle (axioms *unique* and *const*).
        unsafe { TensorRef::from_descriptor(source.describe(Flags::READ_ONLY)?) }.to_contiguous()
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        let bytes = self.data_arc();
        // Two handles: the tensor's own, and `bytes`.
        describe(&bytes, self.layout(), self.dtype(), Arc::strong_count(&bytes) == 2, read)
    }
}

/// Describes what an export would give. `is_unique` tells that it would be by value and from the only handle.
fn describe<R>(
    bytes: &Bytes,
    layout: &Layout,
    dtype: DType,
    is_unique: bool,
    read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R,
) -> Result<R, Error> {
    let source = Source::new(bytes, layout, dtype, Reader::new().no_copy())?;
    let is_own = is_unique && is_own(bytes);
    let flags = if is_own && !source.overlaps() { Flags::empty() } else { Flags::READ_ONLY };
    let tensor = source.describe(flags)?;
    // The same conditions by which burn gives its bytes as a vector.
    let is_vec =
        |align, size| is_own && source.is_whole && bytes.align() == align && bytes.capacity().is_multiple_of(size);
    let tensor = by_dtype!(
        source.dtype,
        T => match is_vec(align_of::<T>(), size_of::<T>()) {
            true => tensor.owned_by::<Vec<T>>(),
            false => tensor.solely_owned_by::<Exported>(),
        },
        _ => tensor
    );
    Ok(read(&tensor, source.is_lazy.then_some(Reason::Lazy)))
}

fn place_vec<T: dlbridge_core::Element>(vec: Vec<T>, shape: &[i64]) -> Result<Tensor, Error> {
    let shape: Vec<usize> = shape.iter().map(|length| *length as usize).collect();
    Ok(Tensor::new(vec, &shape)?)
}

impl Export<Burn> for &FlexTensor {
    fn export(self) -> Result<Tensor, Error> {
        self.clone().export()
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        FlexTensor::export_copy(self)
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        let bytes = self.data_arc();
        describe(&bytes, self.layout(), self.dtype(), false, read)
    }
}

/// A further handle to the flex tensor inside a tensor of burn's.
pub(crate) fn primitive<const D: usize, K>(tensor: &BurnTensor<D, K>) -> Result<FlexTensor, Error>
where
    K: Autodiff + BackendPrimitive<Flex, Primitive = FlexTensor>,
{
    tensor.dtype().to_dlpack()?; // Refuses quantized tensors, which have no primitive of any such kind.
    let what = "shared host memory on this backend: copy the tensor with `dlbridge_burn::to_host`";
    tensor.clone().inner().try_into_primitive::<Flex>().map_err(|_| Error::Unsupported { framework: NAME, what })
}

impl<const D: usize, K> Export<Burn> for BurnTensor<D, K>
where
    K: Autodiff + BackendPrimitive<Flex, Primitive = FlexTensor>,
{
    fn export(self) -> Result<Tensor, Error> {
        let primitive = primitive(&self)?;
        drop(self); // Now `primitive` may be the only handle to the memory.
        primitive.export()
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        primitive(self)?.export_copy()
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        let primitive = primitive(self)?;
        let bytes = primitive.data_arc();
        // Three handles: those of the tensor and of the primitive, and `bytes`.
        let is_unique = Arc::strong_count(&bytes) == 3;
        self::describe(&bytes, primitive.layout(), primitive.dtype(), is_unique, read)
    }
}

impl<const D: usize, K> Export<Burn> for &BurnTensor<D, K>
where
    K: Autodiff + BackendPrimitive<Flex, Primitive = FlexTensor>,
{
    fn export(self) -> Result<Tensor, Error> {
        primitive(self)?.export()
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        primitive(self)?.export_copy()
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        Export::describe(&&primitive(self)?, read)
    }
}
