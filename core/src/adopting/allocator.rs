//! The allocator itself, and the function that makes a vector over a foreign block.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::mem::{align_of, size_of};

use super::probe::{is_installed, is_reached_by};
use super::registry::{registry, Adopted, LEAST};
use crate::error::{Error, Reason, Rejected};
use crate::types::Element;

/// A global allocator that frees adopted blocks by dropping their owners, and leaves all others to `A`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Adopting<A>(A);

impl<A> Adopting<A> {
    /// Wraps the allocator that all ordinary blocks come from.
    pub const fn new(inner: A) -> Self {
        Self(inner)
    }
}

// SAFETY: as for `A`, except for blocks in the registry. Nobody but `adopt` has put these there, and `A` never sees
// them: each is taken out once, and freed by dropping its owner. Nothing here unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Adopting<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= LEAST && registry().may_have(block) {
            if let Some(adopted) = registry().take(block, layout) {
                return release(adopted);
            }
        }
        // SAFETY: the caller's promise; the block is not adopted.
        unsafe { self.0.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() >= LEAST && registry().may_have(block) {
            // SAFETY: the caller's promise.
            return unsafe { self.realloc_adopted(block, layout, size) };
        }
        // SAFETY: the caller's promise; the block is not adopted.
        unsafe { self.0.realloc(block, layout, size) }
    }
}

impl<A: GlobalAlloc> Adopting<A> {
    /// # Safety
    /// As [`GlobalAlloc::realloc`].
    #[cold]
    unsafe fn realloc_adopted(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(adopted) = registry().take(block, layout) else {
            // SAFETY: the caller's promise; the block is not adopted.
            return unsafe { self.0.realloc(block, layout, size) };
        };
        // SAFETY: the caller promises that the size fits the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is not 0, by the caller's promise.
        let moved = unsafe { self.0.alloc(new) };
        if moved.is_null() {
            registry().put(adopted); // A failed reallocation leaves the block as it was.
            return moved;
        }
        // SAFETY: both blocks are at least that long, and nobody else has the new one.
        unsafe { moved.copy_from_nonoverlapping(block, layout.size().min(size)) };
        release(adopted);
        moved
    }
}

/// Drops the owner of a block that has been taken out of the registry. As an `extern "C"` function it aborts on a
/// panic, because an allocator must not unwind.
#[inline(never)]
extern "C" fn release(adopted: Box<Adopted>) {
    drop(adopted);
}

/// Checks that a block of `size` bytes at this address can be adopted as elements of this alignment: the allocator must
/// be installed and get such blocks when they are freed, and the block be large enough and aligned.
///
/// The first time that it is asked about a size and an alignment, it allocates and frees a block of them.
///
/// # Errors
/// Why not: [`Reason::ForeignMemory`] if no [`Adopting`] gets such blocks, or if there is no memory to see whether it
/// does; [`Reason::Misaligned`], [`Reason::Small`].
pub fn check(address: usize, size: usize, align: usize) -> Result<(), Reason> {
    layout(address, size, align).map(drop)
}

/// What the block is freed as, if [`check`] accepts it.
fn layout(address: usize, size: usize, align: usize) -> Result<Layout, Reason> {
    let layout = Layout::from_size_align(size, align).map_err(|_| Reason::ForeignMemory)?;
    if !is_installed() {
        Err(Reason::ForeignMemory)
    } else if address % align != 0 {
        Err(Reason::Misaligned { align })
    } else if size < LEAST {
        Err(Reason::Small)
    } else if !is_reached_by(layout) {
        Err(Reason::ForeignMemory)
    } else {
        Ok(layout)
    }
}

/// A vector over foreign elements. When the vector, or whatever it is turned into, is freed, `owner` is dropped.
///
/// `Copies: never`.
///
/// # Safety
/// 1. *elements*: `elements` points to `len` initialised, valid elements, in one allocation of at most `isize::MAX`
///    bytes, which stay where they are until `owner` is dropped. The owner may keep them by keeping a vector over the
///    same block that was adopted before.
/// 2. *access*: until then they may be written, and nobody else reads or writes them; or nobody writes through the
///    vector, and nobody else writes them.
///
/// # Errors
/// [`Error::NullData`], and [`Error::CopyRequired`] with the reason: no [`Adopting`] is installed, or the block is too
/// small or not aligned. The owner comes back.
pub unsafe fn adopt<T: Element, O: Send + 'static>(
    elements: *mut T,
    len: usize,
    owner: O,
) -> Result<Vec<T>, Rejected<O>> {
    let size = len.saturating_mul(size_of::<T>());
    let error = match layout(elements as usize, size, align_of::<T>()) {
        _ if elements.is_null() => Error::NullData { elements: len },
        Err(reason) => Error::CopyRequired { framework: "the adopting allocator", reason },
        Ok(layout) => {
            registry().put(Adopted::new(elements as usize, layout, Box::new(owner)));
            // SAFETY: the block now belongs to the global allocator, with just this size and alignment; by the promise
            // *elements* its elements are initialised.
            return Ok(unsafe { Vec::from_raw_parts(elements, len, len) });
        }
    };
    Err(Rejected { value: owner, error })
}
