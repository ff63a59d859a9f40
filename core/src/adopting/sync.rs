//! The atomics and cells that threads share. With `--cfg dlbridge_loom` they are those of the model checker loom. (Not
//! with `--cfg loom`, which users of loom set for everything that they build.)

#[cfg(not(dlbridge_loom))]
pub(super) use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
#[cfg(dlbridge_loom)]
pub(super) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

#[cfg(not(dlbridge_loom))]
use core::cell::UnsafeCell;
#[cfg(dlbridge_loom)]
use loom::cell::UnsafeCell;

/// A static. Under loom there is a new one for each order of events that it tries.
macro_rules! statics {
    (static $name:ident: $type:ty = $new:expr;) => {
        #[cfg(not(dlbridge_loom))]
        static $name: $type = $new;
        #[cfg(dlbridge_loom)]
        loom::lazy_static! { static ref $name: $type = $new; }
    };
}
pub(super) use statics;

/// Waits a moment for another thread.
pub(super) fn spin() {
    #[cfg(not(dlbridge_loom))]
    core::hint::spin_loop();
    #[cfg(dlbridge_loom)]
    loom::thread::yield_now();
}

/// A value that is only accessed while a lock beside it is held.
pub(super) struct Guarded<T>(UnsafeCell<T>);

#[cfg(not(dlbridge_loom))]
impl<T> Guarded<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// # Safety
    /// Nobody else accesses it meanwhile.
    pub(super) unsafe fn with<R>(&self, access: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller's promise.
        access(unsafe { &mut *self.0.get() })
    }
}

#[cfg(dlbridge_loom)]
impl<T> Guarded<T> {
    pub(super) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// # Safety
    /// Nobody else accesses it meanwhile, which loom checks.
    pub(super) unsafe fn with<R>(&self, access: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller's promise.
        self.0.with_mut(|value| access(unsafe { &mut *value }))
    }
}

/// An owner that counts drops, and has memory for which loom checks that it is handed over correctly.
#[cfg(all(test, dlbridge_loom))]
pub(super) struct Counted {
    drops: loom::sync::Arc<AtomicUsize>,
    memory: Guarded<u8>,
}

#[cfg(all(test, dlbridge_loom))]
impl Counted {
    pub(super) fn counter() -> loom::sync::Arc<AtomicUsize> {
        loom::sync::Arc::new(AtomicUsize::new(0))
    }

    pub(super) fn new(drops: &loom::sync::Arc<AtomicUsize>) -> Self {
        let memory = Guarded::new(0);
        // SAFETY: nobody else has it.
        unsafe { memory.with(|byte| *byte = 1) };
        Self { drops: loom::sync::Arc::clone(drops), memory }
    }
}

#[cfg(all(test, dlbridge_loom))]
impl Drop for Counted {
    fn drop(&mut self) {
        // SAFETY: nobody else has it, unless it was handed over without synchronisation, which loom detects.
        assert_eq!(unsafe { self.memory.with(|byte| *byte) }, 1);
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}
