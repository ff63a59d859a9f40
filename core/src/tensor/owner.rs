//! How a Rust value becomes a managed tensor: header, rank, owner, shape and strides in one allocation.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ffi::c_void;
use core::hint;
use core::mem::{self, offset_of, size_of};
use core::ptr::{self, NonNull};
use core::slice;

use crate::layout;
use crate::layout::descriptor::Provenance;
use crate::sys::{self, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use crate::types::{DataType, Device, Element, Flags};

/// What is known of the memory of an exported value, apart from address, shape and strides.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The type of one element.
    pub dtype: DataType,
    /// Where the memory is.
    pub device: Device,
    /// Flags of the exchange.
    pub flags: Flags,
    /// Whether every element is known to be a valid value of its type. If not, booleans are checked whenever they are
    /// read as `bool`; for all other types it makes no difference.
    pub is_valid: bool,
}

/// A Rust value that owns a run of elements and can be [exported](crate::Tensor::new) with any row-major shape.
///
/// # Safety
/// 1. *stable*: `expose` gives the first of `len` initialised elements, which stay where they are, and unchanged, until
///    the value is used again or dropped; moving the value does not count.
/// 2. *exclusive*: if the flags lack [`Flags::READ_ONLY`], the pointer may write, and nobody else reads or writes the
///    elements until then.
pub unsafe trait Buffer: Send + 'static {
    /// The type of the elements.
    type Item: Element;
    /// The number of elements.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The first element, and whether it may be written.
    fn expose(&mut self) -> (*mut Self::Item, Flags);
}

/// One table of buffers: the type, and how to reach its elements.
macro_rules! buffers {
    ($($ty:ty, $this:ident => $expose:expr;)*) => {$(
        // SAFETY: *stable*, as the elements are on the heap or static, and do not move with the handle; *exclusive*, as
        // a box or a vector is the only handle to its elements, and `Arc::get_mut` answers for an `Arc`.
        unsafe impl<T: Element> Buffer for $ty {
            type Item = T;

            fn len(&self) -> usize {
                <[T]>::len(self)
            }

            #[inline]
            fn expose(&mut self) -> (*mut T, Flags) {
                let $this = self;
                $expose
            }
        }
    )*};
}

buffers! {
    Vec<T>, this => (this.as_mut_ptr(), Flags::empty());
    Box<[T]>, this => (this.as_mut_ptr(), Flags::empty());
    Arc<[T]>, this => match unique(this) {
        Some(elements) => (elements.as_mut_ptr(), Flags::empty()),
        None => (<[T]>::as_ptr(this).cast_mut(), Flags::READ_ONLY),
    };
    Arc<Vec<T>>, this => match unique(this) {
        Some(elements) => (elements.as_mut_ptr(), Flags::empty()),
        None => (<[T]>::as_ptr(this).cast_mut(), Flags::READ_ONLY),
    };
    &'static [T], this => (<[T]>::as_ptr(this).cast_mut(), Flags::READ_ONLY);
}

/// The value behind an `Arc`, if this is the only handle. The count is looked at first, because that is cheap and
/// usually decides.
#[inline]
fn unique<B: ?Sized>(shared: &mut Arc<B>) -> Option<&mut B> {
    if Arc::strong_count(shared) > 1 {
        return None;
    }
    Arc::get_mut(shared)
}

/// A managed tensor struct of either ABI.
pub(super) trait Header: Sized {
    fn new(
        dl_tensor: DLTensor,
        manager_ctx: *mut c_void,
        flags: Flags,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self;
}

impl Header for DLManagedTensorVersioned {
    fn new(
        dl_tensor: DLTensor,
        manager_ctx: *mut c_void,
        flags: Flags,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        let version = DLPackVersion { major: sys::DLPACK_MAJOR_VERSION, minor: sys::DLPACK_MINOR_VERSION };
        Self { version, manager_ctx, deleter: Some(deleter), flags: flags.bits(), dl_tensor }
    }
}

impl Header for DLManagedTensor {
    fn new(dl_tensor: DLTensor, manager_ctx: *mut c_void, _: Flags, deleter: unsafe extern "C" fn(*mut Self)) -> Self {
        Self { dl_tensor, manager_ctx, deleter: Some(deleter) }
    }
}

/// The allocation of a managed tensor. The lengths and strides, `2 · ndim` integers, follow this struct.
///
/// # Invariants
/// 1. *layout*: it was allocated with `block_layout::<H, O>(ndim)`, and `ndim` is never changed.
/// 2. *owned*: `owner` is initialised until [`delete`] or [`take`] moves it out, which happens once.
/// 3. *provenance*: `provenance` names `O`, and has the same offset whatever `O` is. (It is stored here and not in the
///    handle, so that a [`Tensor`](crate::Tensor) is small enough to be returned in registers.)
#[repr(C)]
struct Block<H, O> {
    managed: H,
    ndim: usize,
    provenance: &'static Provenance,
    owner: O,
}

/// The layout of a block, and where its integers begin.
#[inline]
fn block_layout<H, O>(ndim: usize) -> (Layout, usize) {
    let numbers = Layout::array::<i64>(2 * ndim).expect("the rank of an existing value");
    let (layout, offset) = Layout::new::<Block<H, O>>().extend(numbers).expect("the rank of an existing value");
    (layout.pad_to_align(), offset)
}

/// Moves `owner` into a managed tensor. `describe` fills in lengths and strides, which are normalised, and returns the
/// address of the first element and the flags (those of `memory` are ignored). `owns_extent` says whether nobody else
/// uses the memory between the elements.
///
/// # Safety
/// As [`Tensor::from_owner`](crate::Tensor::from_owner), or as
/// [`Tensor::from_sole_owner`](crate::Tensor::from_sole_owner) if `owns_extent`.
#[inline]
pub(super) unsafe fn place<H: Header, O: 'static>(
    owner: O,
    (memory, owns_extent): (Memory, bool),
    ndim: usize,
    describe: impl FnOnce(&mut O, &mut [i64], &mut [i64]) -> (*mut u8, Flags),
) -> NonNull<H> {
    let describe = |owner: &mut O, shape: &mut [i64], strides: &mut [i64]| {
        let (data, flags) = describe(owner, shape, strides);
        (if layout::normalise(shape, strides) { ptr::null_mut() } else { data }, flags)
    };
    // For the usual ranks, `ndim` is a constant, so that the compiler writes the numbers without loops and calls.
    match ndim {
        // SAFETY: the caller's promise.
        1 => unsafe { place_described(owner, (memory, owns_extent), 1, describe) },
        // SAFETY: the caller's promise.
        2 => unsafe { place_described(owner, (memory, owns_extent), 2, describe) },
        // SAFETY: the caller's promise.
        3 => unsafe { place_described(owner, (memory, owns_extent), 3, describe) },
        // SAFETY: the caller's promise.
        4 => unsafe { place_described(owner, (memory, owns_extent), 4, describe) },
        // SAFETY: the caller's promise.
        _ => unsafe { place_described(owner, (memory, owns_extent), ndim, describe) },
    }
}

/// [`place`] for a `describe` that gives normalised strides, and NULL if there are no elements.
///
/// # Safety
/// As [`place`].
#[inline(always)]
unsafe fn place_described<H: Header, O: 'static>(
    owner: O,
    (memory, owns_extent): (Memory, bool),
    ndim: usize,
    describe: impl FnOnce(&mut O, &mut [i64], &mut [i64]) -> (*mut u8, Flags),
) -> NonNull<H> {
    let (layout, offset) = block_layout::<H, O>(ndim);
    // SAFETY: the size of a block is not 0.
    let allocation = unsafe { alloc(layout) };
    if allocation.is_null() {
        handle_alloc_error(layout);
    }
    let numbers = allocation.wrapping_add(offset).cast::<i64>();
    // SAFETY: `2 · ndim` integers begin at `offset`, within the allocation.
    unsafe { numbers.write_bytes(0, 2 * ndim) };
    // SAFETY: initialised to zeros above.
    let (shape, strides) = unsafe { slice::from_raw_parts_mut(numbers, 2 * ndim) }.split_at_mut(ndim);
    let place = allocation.wrapping_add(offset_of!(Block<H, O>, owner)).cast::<O>();
    // SAFETY: fresh memory for it.
    unsafe { place.write(owner) };
    // If `describe` panics, the owner is dropped and the allocation freed.
    let unfinished = Unfinished { owner: place, allocation, layout };
    // SAFETY: just written; `place` stays the only path to it while `describe` runs.
    let (data, flags) = describe(unsafe { &mut *place }, shape, strides);
    mem::forget(unfinished);
    let dl_tensor = DLTensor {
        data: data.cast(),
        device: memory.device.into(),
        ndim: ndim as i32,
        dtype: memory.dtype.into(),
        shape: if ndim == 0 { ptr::null_mut() } else { numbers },
        strides: if ndim == 0 { ptr::null_mut() } else { numbers.wrapping_add(ndim) },
        byte_offset: 0,
    };
    let managed = H::new(dl_tensor, allocation.cast(), flags, delete::<H, O>);
    // SAFETY: fresh memory for it.
    unsafe { allocation.wrapping_add(offset_of!(Block<H, O>, ndim)).cast::<usize>().write(ndim) };
    let provenance = Provenance::of::<O>(memory.is_valid, owns_extent);
    // SAFETY: fresh memory for it.
    unsafe { allocation.wrapping_add(offset_of!(Block<H, O>, provenance)).cast::<&Provenance>().write(provenance) };
    // SAFETY: fresh memory for it; it is the first field.
    unsafe { allocation.cast::<H>().write(managed) };
    // SAFETY: not NULL, as checked.
    unsafe { NonNull::new_unchecked(allocation.cast()) }
}

/// An allocation that is no block yet, and the owner in it.
///
/// # Invariants
/// The owner is initialised, in an allocation of this layout, and both are nobody else's.
struct Unfinished<O> {
    owner: *mut O,
    allocation: *mut u8,
    layout: Layout,
}

impl<O> Drop for Unfinished<O> {
    fn drop(&mut self) {
        // SAFETY: the invariant; this runs once.
        unsafe { self.owner.drop_in_place() };
        // SAFETY: the invariant; the owner is gone.
        unsafe { dealloc(self.allocation, self.layout) };
    }
}

/// [`place`] for a whole buffer in row-major order.
///
/// # Safety
/// The buffer has as many elements as the shape, which passes [`layout::validate`].
// Not inlined: it returns a pointer in a register, so that callers stay small and build their `Result` where it
// belongs. Copying a `Result` that was just written would stall the processor.
#[inline(never)]
pub(super) unsafe fn place_buffer<B: Buffer>(buffer: B, shape: &[usize]) -> NonNull<DLManagedTensorVersioned> {
    let memory = Memory { dtype: B::Item::DTYPE, device: Device::CPU, flags: Flags::empty(), is_valid: true };
    // SAFETY: by the promises *stable* and *exclusive* of `Buffer` the elements are initialised and stay in place, and
    // nobody else has access unless they are read-only; the caller's promise for their number.
    unsafe {
        place_described(buffer, (memory, true), shape.len(), |buffer: &mut B, lengths, strides| {
            for (length, given) in lengths.iter_mut().zip(shape) {
                *length = *given as i64;
            }
            layout::fill_row_major(lengths, strides);
            let (data, flags) = buffer.expose();
            (if buffer.len() == 0 { ptr::null_mut() } else { data.cast() }, flags)
        })
    }
}

/// The deleter of every block. It must not unwind: a destructor that panics here aborts the process.
///
/// # Safety
/// `managed` came from [`place`] with the same types, and is not used afterwards.
unsafe extern "C" fn delete<H, O>(managed: *mut H) {
    if !managed.is_null() {
        let owner = managed.cast::<u8>().wrapping_add(offset_of!(Block<H, O>, owner)).cast::<O>();
        // The owner is dropped in place and before the block is freed: an atomic count in it waits for all earlier
        // writes, so there should be few.
        // SAFETY: by invariant *owned* of `Block` the owner is initialised; nobody uses it afterwards.
        unsafe { owner.drop_in_place() };
        // SAFETY: the caller's promise; the owner is gone.
        unsafe { free::<H, O>(managed) };
    }
}

/// Takes the owner out and frees the block.
///
/// # Safety
/// As [`delete`], and `managed` is not NULL.
pub(super) unsafe fn take<H, O>(managed: *mut H) -> O {
    // SAFETY: by invariant *owned* of `Block` the owner is initialised.
    let owner = unsafe { managed.cast::<u8>().wrapping_add(offset_of!(Block<H, O>, owner)).cast::<O>().read() };
    // SAFETY: the caller's promise; the owner has moved out.
    unsafe { free::<H, O>(managed) };
    owner
}

/// Frees a block whose owner is gone.
///
/// # Safety
/// As [`delete`]; `managed` is not NULL, and the owner has moved out or is dropped.
#[inline]
unsafe fn free<H, O>(managed: *mut H) {
    // SAFETY: by invariant *layout* of `Block`, `ndim` is the one that it was allocated with.
    let ndim = unsafe { (*managed.cast::<Block<H, O>>()).ndim };
    // SAFETY: every caller of `place` promises at most `i32::MAX` axes; it has computed the same layout without
    // overflow.
    unsafe { hint::assert_unchecked(ndim <= i32::MAX as usize) };
    // SAFETY: by invariant *layout* of `Block`, `ndim` is the one that it was allocated with.
    unsafe { dealloc(managed.cast(), block_layout::<H, O>(ndim).0) };
}

/// What is known of the owner.
///
/// # Safety
/// `managed` came from [`place`], and is alive.
#[inline]
pub(super) unsafe fn provenance<H>(managed: NonNull<H>) -> &'static Provenance {
    // SAFETY: the caller's promise; by invariant *provenance* of `Block` the offset is the same for every owner.
    unsafe { managed.cast::<Block<H, ()>>().as_ref().provenance }
}

/// Borrows the owner.
///
/// # Safety
/// `managed` came from [`place`] with the same types, and lives for `'a`.
pub(super) unsafe fn peek<'a, H: 'a, O>(managed: NonNull<H>) -> &'a O {
    // SAFETY: by invariant *owned* of `Block` the owner is initialised; the block begins with `managed`.
    unsafe { &managed.cast::<Block<H, O>>().as_ref().owner }
}

const _: () = assert!(size_of::<Block<DLManagedTensorVersioned, Vec<u8>>>() <= 128 || size_of::<usize>() != 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_room_for_its_lengths_and_strides() {
        for ndim in 0..10 {
            let (layout, offset) = block_layout::<DLManagedTensor, [u8; 5]>(ndim);
            assert!(offset >= size_of::<Block<DLManagedTensor, [u8; 5]>>() && offset % size_of::<i64>() == 0);
            assert_eq!(layout.size(), offset + 2 * ndim * size_of::<i64>());
        }
    }
}
