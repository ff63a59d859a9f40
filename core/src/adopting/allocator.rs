//! The allocator itself, and the function that makes a vector over a foreign block.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::hint;
use core::mem::{align_of, size_of};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::registry::{registry, Adopted};
use crate::error::{Error, Reason, Rejected};
use crate::types::Element;

/// The smallest block that is adopted, in bytes.
pub const LEAST: usize = 16 << 10;

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
            if let Some(adopted) = registry().take(block, layout.size()) {
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
        let Some(adopted) = registry().take(block, layout.size()) else {
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

/// Whether an [`Adopting`] is the global allocator of this process. The first call finds out by a test.
pub fn is_installed() -> bool {
    const UNKNOWN: u8 = 0;
    const PROBING: u8 = 1;
    const NO: u8 = 2;
    const YES: u8 = 3;
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
    loop {
        match STATE.load(Ordering::Acquire) {
            // Only one probe may run at a time: another one could be given the address that this one has freed, and
            // take its entry.
            UNKNOWN => {
                if STATE.compare_exchange(UNKNOWN, PROBING, Ordering::Acquire, Ordering::Acquire).is_ok() {
                    STATE.store(if probe() { YES } else { NO }, Ordering::Release);
                }
            }
            PROBING => hint::spin_loop(),
            state => return state == YES,
        }
    }
}

/// Registers an ordinary block as adopted, frees it, and sees whether the owner is dropped and the block left alone.
/// Nothing else is registered meanwhile, because [`adopt`] first waits for the result.
fn probe() -> bool {
    const PATTERN: u8 = 0xa5;
    struct Seen(*const AtomicBool);
    // SAFETY: the flag outlives the probe, and is atomic.
    unsafe impl Send for Seen {}
    impl Drop for Seen {
        fn drop(&mut self) {
            // SAFETY: as above.
            unsafe { &*self.0 }.store(true, Ordering::Relaxed);
        }
    }
    let seen = AtomicBool::new(false);
    let Ok(layout) = Layout::from_size_align(LEAST, align_of::<u128>()) else { return false };
    // SAFETY: the size is not 0.
    let block = hint::black_box(unsafe { alloc::alloc::alloc(layout) });
    if block.is_null() {
        return false;
    }
    // SAFETY: the block has that many bytes.
    unsafe { block.write_bytes(PATTERN, LEAST) };
    let owner = Box::new(Seen(&seen));
    registry().put(Adopted::new(block as usize, LEAST, owner));
    // SAFETY: allocated above, and not used afterwards unless it has not been freed.
    unsafe { alloc::alloc::dealloc(hint::black_box(block), layout) };
    if seen.load(Ordering::Relaxed) {
        // The adopting allocator has dropped the owner and left the block alone. If an allocator around it overwrote
        // what is freed, it would overwrite foreign memory too. SAFETY: the block has not been freed.
        let is_intact = (0..LEAST).all(|at| unsafe { block.wrapping_add(at).read_volatile() } == PATTERN);
        // SAFETY: as above; it is freed now as the ordinary block that it is.
        unsafe { alloc::alloc::dealloc(block, layout) };
        return is_intact;
    }
    // No adopting allocator is installed, so that nobody else has looked at the entry.
    drop(registry().take(block, LEAST));
    false
}

/// Checks that a block of `size` bytes at this address can be adopted as elements of this alignment: the allocator must
/// be installed, and the block large enough and aligned.
///
/// # Errors
/// Why not: [`Reason::ForeignMemory`] if no [`Adopting`] is installed, [`Reason::Misaligned`], [`Reason::Small`].
pub fn check(address: usize, size: usize, align: usize) -> Result<(), Reason> {
    if !is_installed() {
        Err(Reason::ForeignMemory)
    } else if address % align != 0 {
        Err(Reason::Misaligned { align })
    } else if size < LEAST {
        Err(Reason::Small)
    } else {
        Ok(())
    }
}

/// A vector over foreign elements. When the vector, or whatever it is turned into, is freed, `owner` is dropped.
///
/// `Copies: never`.
///
/// # Safety
/// 1. `elements` points to `len` initialised, valid elements, in one allocation of at most `isize::MAX` bytes, which
///    stay where they are until `owner` is dropped.
/// 2. Until then they may be written, and nobody else reads or writes them; or nobody writes through the vector, and
///    nobody else writes them.
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
    let error = match check(elements as usize, size, align_of::<T>()) {
        _ if elements.is_null() => Error::NullData { elements: len },
        Err(reason) => Error::CopyRequired { framework: "the adopting allocator", reason },
        Ok(()) => {
            registry().put(Adopted::new(elements as usize, size, Box::new(owner)));
            // SAFETY: the block now belongs to the global allocator, with just this size and alignment; by promise (1)
            // its elements are initialised.
            return Ok(unsafe { Vec::from_raw_parts(elements, len, len) });
        }
    };
    Err(Rejected { value: owner, error })
}
