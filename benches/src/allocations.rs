//! A global allocator that counts allocations when it is asked to, and otherwise costs one comparison. As with the
//! system's allocator, memory of zeros is not written, and vectors grow in place.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counting.
pub struct Counting;

fn note(size: usize) {
    if IS_COUNTING.load(Relaxed) {
        COUNT.fetch_add(1, Relaxed);
        BYTES.fetch_add(size as u64, Relaxed);
    }
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

/// What was allocated through Rust's allocator. Allocations of C++ are not counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Allocated {
    /// The number of blocks.
    pub count: u64,
    /// The sum of their sizes in bytes, whether they have been freed since or not.
    pub bytes: u64,
}

/// Runs `body` and counts what it allocates; `None` if another allocator is installed. No other thread may run
/// meanwhile.
pub fn count<T>(body: impl FnOnce() -> T) -> (T, Option<Allocated>) {
    COUNT.store(0, Relaxed);
    IS_COUNTING.store(true, Relaxed);
    drop(std::hint::black_box(Box::new(0u8)));
    let is_installed = COUNT.swap(0, Relaxed) == 1;
    BYTES.store(0, Relaxed);
    let value = body();
    IS_COUNTING.store(false, Relaxed);
    let allocated = Allocated { count: COUNT.load(Relaxed), bytes: BYTES.load(Relaxed) };
    (value, is_installed.then_some(allocated))
}
