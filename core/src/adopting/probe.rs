//! Whether an adopting allocator gets what is freed, which is found out by freeing.

use alloc::boxed::Box;
use core::alloc::Layout;
use core::hint;
use core::mem::align_of;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::registry::{hash, registry, Adopted, LEAST};

/// All blocks that are larger are treated alike, so that no more than this has to be there for a probe.
const MOST: usize = 512 << 20;

/// Whether an [`Adopting`](super::Adopting) is the global allocator of this process. Found out once.
pub fn is_installed() -> bool {
    static INSTALLED: Finding = Finding::new();
    Layout::from_size_align(LEAST, align_of::<u128>()).is_ok_and(|layout| INSTALLED.of(layout))
}

/// Whether blocks of this layout, of at least [`LEAST`] bytes, reach the [`Adopting`](super::Adopting) when they are
/// freed. Found out once for each layout, as long as there are not too many.
pub(super) fn is_reached_by(layout: Layout) -> bool {
    static FINDINGS: [Finding; 512] = [const { Finding::new() }; 512];
    let (size, align) = (layout.size(), layout.align());
    if align > LEAST || size % align != 0 {
        return false; // No vector has such a block.
    }
    // One step above the limit, because an allocator may take either side of a round number.
    let probed = Layout::from_size_align(size.min(MOST + align), align);
    probed.is_ok_and(|layout| FINDINGS[hash(key(layout)) % FINDINGS.len()].of(layout))
}

/// What tells layouts apart: the lowest bit that is set is the alignment, since the size is a multiple of it. The
/// highest bit is never set, because no layout is much larger than [`MOST`].
fn key(layout: Layout) -> usize {
    layout.size() << 1 | layout.align()
}

/// What is known of one layout: its key if blocks reach the allocator, the key's complement if they do not.
struct Finding(AtomicUsize);

impl Finding {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    fn known(&self, key: usize) -> Option<bool> {
        match self.0.load(Ordering::Relaxed) {
            found if found == key => Some(true),
            found if found == !key => Some(false),
            _ => None,
        }
    }

    /// The finding on this layout, made now if there is none.
    #[inline]
    fn of(&self, layout: Layout) -> bool {
        self.known(key(layout)).unwrap_or_else(|| self.make(layout))
    }

    #[cold]
    fn make(&self, layout: Layout) -> bool {
        // Only one probe may run at a time: another one could be given the block that this one has freed, and take its
        // entry.
        static IS_PROBING: AtomicBool = AtomicBool::new(false);
        while IS_PROBING.swap(true, Ordering::Acquire) {
            hint::spin_loop();
        }
        let key = key(layout);
        let found = self.known(key).or_else(|| {
            let is_reached = probe(layout)?;
            self.0.store(if is_reached { key } else { !key }, Ordering::Relaxed);
            Some(is_reached)
        });
        IS_PROBING.store(false, Ordering::Release);
        found.unwrap_or(false) // Without memory for a probe nothing is known, and the next one asks again.
    }
}

/// Registers an ordinary block as adopted, frees it, and sees whether the owner is dropped and the block left alone.
/// Only the ends of the block are touched, so that the system gives no pages for the rest. `None` if there is no
/// memory.
///
/// Nobody else takes the entry meanwhile: if this block is freed elsewhere, so are all of its layout.
fn probe(layout: Layout) -> Option<bool> {
    const PATTERN: u8 = 0xa5;
    const END: usize = 256;
    static IS_DROPPED: AtomicBool = AtomicBool::new(false);
    struct Owner;
    impl Drop for Owner {
        fn drop(&mut self) {
            IS_DROPPED.store(true, Ordering::Relaxed);
        }
    }
    // SAFETY: the size is not 0.
    let block = hint::black_box(unsafe { alloc::alloc::alloc(layout) });
    if block.is_null() {
        return None;
    }
    let ends = [block, block.wrapping_add(layout.size() - END)];
    // SAFETY: the block's own bytes, as it is longer than both ends.
    ends.iter().for_each(|end| unsafe { end.write_bytes(PATTERN, END) });
    IS_DROPPED.store(false, Ordering::Relaxed);
    registry().put(Adopted::new(block as usize, layout, Box::new(Owner)));
    // SAFETY: allocated above, and not used afterwards unless it has not been freed.
    unsafe { alloc::alloc::dealloc(hint::black_box(block), layout) };
    if !IS_DROPPED.load(Ordering::Relaxed) {
        drop(registry().take(block, layout));
        return Some(false);
    }
    // The adopting allocator has dropped the owner and left the block alone. If an allocator around it overwrote what
    // is freed, it would overwrite foreign memory too.
    let is_intact = |end: &*mut u8| {
        // SAFETY: the block has not been freed, and these are its own bytes.
        (0..END).all(|at| unsafe { end.wrapping_add(at).read_volatile() } == PATTERN)
    };
    let is_intact = ends.iter().all(is_intact);
    // SAFETY: as above; free it as what it is.
    unsafe { alloc::alloc::dealloc(block, layout) };
    Some(is_intact)
}
