//! Owners that are dropped when the application says so, not when their vector is freed.

use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr;

use super::sync::{statics, AtomicPtr, Ordering};

/// An owner whose destructor does not run when this wrapper is dropped, but when [`release_deferred`] is called.
pub struct Deferred<O: Send + 'static>(ManuallyDrop<Box<Waiting<O>>>);

// SAFETY: the box and the owner in it are this value's alone, the owner is `Send`, and only the queue uses the links.
unsafe impl<O: Send + 'static> Send for Deferred<O> {}

/// An owner with its entry in the queue. It is allocated when the owner is wrapped, so that dropping the wrapper
/// allocates nothing.
#[repr(C)]
struct Waiting<O: ?Sized> {
    next: *mut Head,
    drop: unsafe fn(*mut Head),
    owner: O,
}

/// What every [`Waiting`] begins with.
type Head = Waiting<()>;

impl<O: Send + 'static> Deferred<O> {
    /// Wraps an owner.
    pub fn new(owner: O) -> Self {
        /// # Safety
        /// `waiting` was leaked as a box of a `Waiting<O>`, and is not used afterwards.
        unsafe fn delete<O>(waiting: *mut Head) {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(waiting.cast::<Waiting<O>>()) });
        }
        Self(ManuallyDrop::new(Box::new(Waiting { next: ptr::null_mut(), drop: delete::<O>, owner })))
    }

    /// The owner itself.
    pub fn into_inner(self) -> O {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `self` is never dropped, so that the box is taken once.
        unsafe { ManuallyDrop::take(&mut this.0) }.owner
    }
}

impl<O: Send + 'static> Drop for Deferred<O> {
    fn drop(&mut self) {
        // SAFETY: the box is taken once, because `drop` runs once.
        let waiting = Box::into_raw(unsafe { ManuallyDrop::take(&mut self.0) }).cast::<Head>();
        // SAFETY: just leaked, and nobody else's.
        unsafe { QUEUE.push(waiting) };
    }
}

/// The owners that wait, as a linked list with the latest first.
struct Queue(AtomicPtr<Head>);

statics! {
    static QUEUE: Queue = Queue(AtomicPtr::new(ptr::null_mut()));
}

impl Queue {
    /// # Safety
    /// `waiting` was leaked as a box of a [`Waiting`], and is nobody else's.
    unsafe fn push(&self, waiting: *mut Head) {
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's promise, which holds until the entry is in the queue.
            unsafe { (*waiting).next = first };
            match self.0.compare_exchange_weak(first, waiting, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }

    /// Takes all of them at once, so that no other thread takes one from the middle.
    fn take(&self) -> *mut Head {
        self.0.swap(ptr::null_mut(), Ordering::Acquire)
    }
}

/// Drops all owners that wait, on this thread, and says how many there were. The application calls it where their
/// destructors may run. If one of them panics, those behind it are leaked.
pub fn release_deferred() -> usize {
    let mut first = QUEUE.take();
    let mut count = 0;
    while !first.is_null() {
        // SAFETY: leaked by `Deferred::drop`, and taken out of the queue by this thread.
        let &Head { next, drop, .. } = unsafe { &*first };
        // SAFETY: as above; the function is the one for its type.
        unsafe { drop(first) };
        (first, count) = (next, count + 1);
    }
    count
}

#[cfg(all(test, dlbridge_loom))]
mod tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::super::sync::Counted;
    use super::*;

    /// What several threads put aside is dropped once, by whoever releases it.
    #[test]
    fn loom_each_owner_is_dropped_once() {
        loom::model(|| {
            let drops = Counted::counter();
            let defer = |drops: &Arc<_>| drop(Deferred::new(Counted::new(drops)));
            let other = thread::spawn({
                let drops = Arc::clone(&drops);
                move || {
                    defer(&drops);
                    release_deferred()
                }
            });
            defer(&drops);
            let released = release_deferred() + other.join().expect("no panic") + release_deferred();
            assert_eq!((released, drops.load(Ordering::Relaxed)), (2, 2));
        });
    }
}
