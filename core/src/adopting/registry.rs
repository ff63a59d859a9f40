//! Which blocks are adopted.

use alloc::boxed::Box;

use super::sync::{spin, statics, AtomicBool, AtomicUsize, Guarded, Ordering};

/// A block that is adopted.
pub(super) struct Adopted {
    address: usize,
    size: usize,
    _owner: Box<dyn Send>,
    /// The next one of the same bucket.
    next: Option<Box<Adopted>>,
}

/// The adopted blocks: a counter and a filter, which suffice to say no for almost all other blocks, and buckets, each
/// with a lock that is only held briefly.
pub(super) struct Registry {
    live: AtomicUsize,
    /// For each hash, the number of adopted blocks that have it.
    filter: [AtomicUsize; Self::FILTER],
    buckets: [Bucket; Self::BUCKETS],
}

struct Bucket {
    is_locked: AtomicBool,
    // Invariant: only accessed by the thread that has set `is_locked`.
    first: Guarded<Option<Box<Adopted>>>,
}

// SAFETY: `with` gives access to one thread at a time, and `Adopted` is `Send`.
unsafe impl Sync for Bucket {}

impl Bucket {
    /// Runs `access` under the lock. `access` must neither allocate nor free, or a thread could wait for itself.
    fn with<R>(&self, access: impl FnOnce(&mut Option<Box<Adopted>>) -> R) -> R {
        while self.is_locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spin();
        }
        // SAFETY: the invariant; the lock is held.
        let result = unsafe { self.first.with(access) };
        self.is_locked.store(false, Ordering::Release);
        result
    }
}

statics! {
    static REGISTRY: Registry = Registry::new();
}

/// The registry of this process.
#[inline]
pub(super) fn registry() -> &'static Registry {
    &REGISTRY
}

impl Adopted {
    pub(super) fn new(address: usize, size: usize, owner: Box<dyn Send>) -> Box<Self> {
        Box::new(Self { address, size, _owner: owner, next: None })
    }
}

impl Registry {
    const FILTER: usize = if cfg!(dlbridge_loom) { 1 } else { 8192 };
    const BUCKETS: usize = if cfg!(dlbridge_loom) { 1 } else { 256 };

    #[cfg(not(dlbridge_loom))]
    const fn new() -> Self {
        Self {
            live: AtomicUsize::new(0),
            filter: [const { AtomicUsize::new(0) }; Self::FILTER],
            buckets: [const { Bucket { is_locked: AtomicBool::new(false), first: Guarded::new(None) } }; Self::BUCKETS],
        }
    }

    #[cfg(dlbridge_loom)]
    fn new() -> Self {
        let bucket = |_| Bucket { is_locked: AtomicBool::new(false), first: Guarded::new(None) };
        Self {
            live: AtomicUsize::new(0),
            filter: core::array::from_fn(|_| AtomicUsize::new(0)),
            buckets: core::array::from_fn(bucket),
        }
    }

    /// A hash of all bits of the address but the lowest four, which alignment makes alike.
    #[inline]
    fn hash(address: usize) -> usize {
        ((address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
    }

    /// Returns `false` if the block is certainly not adopted. Relaxed loads are enough: whoever frees an adopted block
    /// was given it by whoever adopted it, so that the entry is visible.
    #[inline]
    pub(super) fn may_have(&self, block: *mut u8) -> bool {
        self.live.load(Ordering::Relaxed) != 0
            && self.filter[Self::hash(block as usize) % Self::FILTER].load(Ordering::Relaxed) != 0
    }

    pub(super) fn put(&self, mut adopted: Box<Adopted>) {
        let hash = Self::hash(adopted.address);
        self.live.fetch_add(1, Ordering::Relaxed);
        self.filter[hash % Self::FILTER].fetch_add(1, Ordering::Relaxed);
        self.buckets[hash % Self::BUCKETS].with(|first| {
            adopted.next = first.take();
            *first = Some(adopted);
        });
    }

    #[cold]
    pub(super) fn take(&self, block: *mut u8, size: usize) -> Option<Box<Adopted>> {
        let (address, hash) = (block as usize, Self::hash(block as usize));
        let taken = self.buckets[hash % Self::BUCKETS].with(|first| {
            let mut link = first;
            while link.as_ref().is_some_and(|adopted| (adopted.address, adopted.size) != (address, size)) {
                link = &mut link.as_mut()?.next;
            }
            let mut taken = link.take()?;
            *link = taken.next.take();
            Some(taken)
        })?;
        self.filter[hash % Self::FILTER].fetch_sub(1, Ordering::Relaxed);
        self.live.fetch_sub(1, Ordering::Relaxed);
        Some(taken)
    }
}

#[cfg(all(test, dlbridge_loom))]
mod tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::super::sync::{AtomicPtr, Counted};
    use super::*;

    /// A thread that is given a block by another one finds its owner, and drops it once, whatever the two do meanwhile.
    #[test]
    fn loom_a_block_that_is_passed_on_is_found_once() {
        loom::model(|| {
            let (passed, drops) = (Arc::new(AtomicPtr::new(core::ptr::null_mut())), Counted::counter());
            let (block, other) = (0x1000 as *mut u8, 0x2000 as *mut u8);
            let taker = thread::spawn({
                let passed = Arc::clone(&passed);
                move || {
                    let got: *mut u8 = passed.load(Ordering::Acquire);
                    if got.is_null() {
                        return false;
                    }
                    assert!(registry().may_have(got));
                    drop(registry().take(got, 16).expect("adopted, and passed on"));
                    assert!(registry().take(got, 16).is_none());
                    true
                }
            });
            registry().put(Adopted::new(block as usize, 16, Box::new(Counted::new(&drops))));
            passed.store(block, Ordering::Release);
            // Meanwhile another block of the same bucket comes and goes.
            registry().put(Adopted::new(other as usize, 16, Box::new(())));
            assert!(registry().take(other, 16).is_some());
            let is_taken = taker.join().expect("no panic");
            assert_eq!(registry().take(block, 16).is_none(), is_taken);
            assert_eq!(drops.load(Ordering::Relaxed), 1);
            assert!(!registry().may_have(block));
        });
    }
}
