//! Foreign memory as burn's `Bytes`, and whether it can be. When burn would write to it, it is copied, and released at
//! once.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty, Bytes, DType};
use dlbridge_core::{Descriptor, Error, Interchange, Reason, Route, Tensor};

use crate::dtype::by_dtype;

/// The largest alignment that burn asks for.
const MOST_ALIGN: usize = align_of::<u128>();

/// Whether burn's backends on the CPU can hold the memory as it is.
pub(crate) fn plan(tensor: &Descriptor<'_>) -> Route {
    if let Err(error) = DType::from_dlpack(tensor.dtype()).and_then(|_| tensor.check_host()) {
        return Route::Impossible(error);
    }
    // burn casts its bytes to elements, and panics if they are not aligned.
    let align = by_dtype!(tensor.dtype(), T => align_of::<T>(), _ => 1);
    match tensor.check_align(align) {
        Ok(()) => Route::Shared,
        Err(_) => Route::Copied(Reason::Misaligned { align }),
    }
}

/// burn's type for the elements. The bytes of booleans are checked to be 0 or 1, because burn reads them unchecked.
pub(crate) fn checked_dtype(tensor: &Tensor) -> Result<DType, Error> {
    let dtype = DType::from_dlpack(tensor.dtype())?;
    if dtype.is_bool() {
        tensor.view().as_ptr::<bool>()?;
    }
    Ok(dtype)
}

/// The bytes of a tensor in host memory, from its lowest element to its highest, and the offset of the first element in
/// them. `None` if there are no elements, or if elements are smaller than a byte.
pub(crate) fn foreign(tensor: Tensor) -> Option<(Bytes, usize)> {
    let descriptor = tensor.descriptor();
    let (extent, size) = (descriptor.extent()?, tensor.dtype().itemsize()?);
    let (len, first) = (extent.span() as usize * size, extent.lowest.unsigned_abs() as usize * size);
    let lowest = NonNull::new(tensor.data().cast_mut().wrapping_sub(first))?;
    let memory = Memory::Foreign { lowest, owner: Arc::new(tensor) };
    // SAFETY: the controller has `len` bytes, those of the tensor's extent, which are initialised.
    Some((unsafe { Bytes::from_controller(Box::new(Foreign { memory, len }), len) }, first))
}

/// The controller of burn's bytes over memory that is foreign until burn writes to it.
struct Foreign {
    memory: Memory,
    /// The size in bytes.
    len: usize,
}

enum Memory {
    /// Invariant: `owner` keeps [`Foreign::len`] initialised bytes from `lowest` on alive, and nobody writes them. burn
    /// does not by axiom *const*, because it gets them for reading only.
    Foreign { lowest: NonNull<u8>, owner: Arc<Tensor> },
    /// A copy of at least [`Foreign::len`] bytes, which burn keeps initialised (axiom *initialised*). Its unit is
    /// `u128`, so that it is aligned for every element type.
    Own(Vec<u128>),
}

// SAFETY: the invariant gives the access of a shared slice; the owner is `Send` and `Sync`, and a copy is a vector.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Foreign {
    fn bytes(&self) -> &[u8] {
        let data = match &self.memory {
            Memory::Foreign { lowest, .. } => lowest.as_ptr().cast_const(),
            Memory::Own(units) => units.as_ptr().cast(),
        };
        // SAFETY: the invariants of `Memory`.
        unsafe { slice::from_raw_parts(data, self.len) }
    }

    /// A part of the memory, if it is still foreign.
    fn part(&self, start: usize, len: usize) -> Option<Box<dyn AllocationController>> {
        let Memory::Foreign { lowest, owner } = &self.memory else { return None };
        let lowest = NonNull::new(lowest.as_ptr().wrapping_add(start))?;
        let memory = Memory::Foreign { lowest, owner: owner.clone() };
        Some(Box::new(Self { memory, len }))
    }
}

/// Copies the bytes to new memory.
fn copy(bytes: &[u8]) -> Vec<u128> {
    let mut units: Vec<u128> = Vec::with_capacity(bytes.len().div_ceil(size_of::<u128>()));
    let data = units.as_mut_ptr().cast::<u8>();
    let capacity = units.capacity() * size_of::<u128>();
    // SAFETY: within the capacity, which is at least as long.
    unsafe { data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    // SAFETY: what is left of the capacity.
    unsafe { data.wrapping_add(bytes.len()).write_bytes(0, capacity - bytes.len()) };
    // SAFETY: all of the capacity is written.
    unsafe { units.set_len(units.capacity()) };
    units
}

impl AllocationController for Foreign {
    fn alloc_align(&self) -> usize {
        // The alignment that the address happens to have: burn makes copies of parts with the alignment given here.
        let address = self.bytes().as_ptr() as usize;
        (address & address.wrapping_neg()).clamp(1, MOST_ALIGN)
    }

    fn property(&self) -> AllocationProperty {
        match self.memory {
            Memory::Foreign { .. } => AllocationProperty::Other,
            Memory::Own(_) => AllocationProperty::Native,
        }
    }

    fn capacity(&self) -> usize {
        self.len
    }

    fn memory(&self, _: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        let bytes = self.bytes();
        // SAFETY: initialised bytes are possibly uninitialised ones.
        Ok(unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) })
    }

    unsafe fn memory_mut(&mut self, policy: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        if matches!(self.memory, Memory::Foreign { .. }) {
            if !policy.copy_allowed() {
                return Err(AccessError::WouldCopy);
            }
            self.memory = Memory::Own(copy(self.bytes())); // This drops the owner of the foreign memory.
        }
        let Memory::Own(units) = &mut self.memory else { return Err(AccessError::WouldCopy) };
        // SAFETY: the vector has at least `len` bytes, and is borrowed as long as the slice.
        Ok(unsafe { slice::from_raw_parts_mut(units.as_mut_ptr().cast(), self.len) })
    }

    fn view(&self, start: usize, end: usize) -> Option<Box<dyn AllocationController>> {
        if start <= end && end <= self.len { self.part(start, end - start) } else { None }
    }

    fn duplicate(&self) -> Option<Box<dyn AllocationController>> {
        self.part(0, self.len)
    }
}
