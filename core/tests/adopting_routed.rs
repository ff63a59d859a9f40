//! An allocator around the adopting one that gives some blocks to another, by their size and alignment: foreign memory
//! never gets there.
#![cfg(feature = "adopting")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dlbridge_core::adopting::{adopt, check, is_installed, Adopting, LEAST};
use dlbridge_core::{Bridge, Element, Error, Reason, Route, Tensor};

/// A limit that is no round number.
const LARGE: usize = 1_000_001;
const PAGES: usize = 64 << 10;

struct Routing(Adopting<System>);

/// The other allocator's blocks: the large ones, those of whole pages, and those of one alignment.
fn is_other(layout: Layout) -> bool {
    layout.size() >= LARGE || layout.size() % PAGES == 0 || layout.align() == 8
}

static FOREIGN: [u128; LARGE / 8] = [0; LARGE / 8];
/// How often a foreign block was given to the other allocator.
static MISTAKES: AtomicUsize = AtomicUsize::new(0);
/// No memory for blocks of this size, and for huge ones, of which the largest is noted.
static REFUSED: AtomicUsize = AtomicUsize::new(usize::MAX);
const HUGE: usize = 64 << 20;
static LARGEST: AtomicUsize = AtomicUsize::new(0);
/// How many blocks of this size were allocated.
const COUNTED: [usize; 2] = [5 * LEAST + 3, 7 * PAGES];
static COUNTS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
/// Of blocks of these sizes the first or the last byte is overwritten before they are freed.
const FIRST_OVERWRITTEN: usize = 6 * LEAST + 1;
const LAST_OVERWRITTEN: usize = 6 * LEAST + 2;

// SAFETY: each block is freed where it came from, as its layout says, and only written to while it is freed.
unsafe impl GlobalAlloc for Routing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() == REFUSED.load(Ordering::SeqCst) {
            return ptr::null_mut();
        }
        if layout.size() >= HUGE {
            LARGEST.fetch_max(layout.size(), Ordering::SeqCst);
            return ptr::null_mut();
        }
        if let Some(at) = COUNTED.iter().position(|size| *size == layout.size()) {
            COUNTS[at].fetch_add(1, Ordering::SeqCst);
        }
        // SAFETY: the caller's promise.
        let from_other = || unsafe { System.alloc(layout) };
        // SAFETY: the caller's promise.
        let from_adopting = || unsafe { self.0.alloc(layout) };
        if is_other(layout) {
            from_other()
        } else {
            from_adopting()
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let overwritten = match layout.size() {
            FIRST_OVERWRITTEN => Some(0),
            LAST_OVERWRITTEN => Some(LAST_OVERWRITTEN - 1),
            _ => None,
        };
        if let Some(at) = overwritten {
            // SAFETY: a byte of the block, which is being freed.
            unsafe { block.wrapping_add(at).write(0) };
        }
        if !is_other(layout) {
            // SAFETY: the block came from there.
            unsafe { self.0.dealloc(block, layout) };
        } else if FOREIGN.as_ptr_range().contains(&block.cast_const().cast()) {
            MISTAKES.fetch_add(1, Ordering::SeqCst);
        } else {
            // SAFETY: the block came from there.
            unsafe { System.dealloc(block, layout) };
        }
    }
}

#[global_allocator]
static ALLOCATOR: Routing = Routing(Adopting::new(System));

/// Adopts so many foreign elements, if that is allowed, and frees them again, whole or grown or cut. It is allowed if
/// the block would come from the adopting allocator.
fn adopt_and_free<T: Element>(len: usize) {
    for cut in [len, len / 2, len + 1] {
        let handle = Arc::new(());
        let elements = FOREIGN.as_ptr().cast_mut().cast::<T>();
        // SAFETY: zeros that nobody writes.
        let adopted = unsafe { adopt(elements, len, handle.clone()) };
        let layout = Layout::array::<T>(len).unwrap();
        assert_eq!(adopted.is_ok(), !is_other(layout), "{layout:?}");
        match adopted {
            Ok(mut vec) => {
                assert_eq!(Arc::strong_count(&handle), 2);
                vec.reserve_exact(cut.saturating_sub(len));
                vec.truncate(cut);
                drop(vec.into_boxed_slice());
            }
            Err(rejected) => drop(rejected),
        }
        assert_eq!(Arc::strong_count(&handle), 1);
    }
}

#[test]
fn each_size_and_alignment_is_tried() {
    assert!(is_installed());
    let around = |size: usize| size - 2..=size + 2;
    for size in around(PAGES).chain(around(LARGE)).chain(around(LARGE / 2)).chain((LEAST..LARGE).step_by(9973)) {
        adopt_and_free::<u8>(size);
        adopt_and_free::<f32>(size / 4);
        adopt_and_free::<f64>(size / 8);
    }
    assert_eq!(MISTAKES.load(Ordering::SeqCst), 0);
}

#[test]
fn tensors_that_would_go_astray_are_copied() {
    for (len, route) in [(LEAST, Route::Copied(Reason::ForeignMemory)), (LEAST - 1, Route::Shared)] {
        let tensor = Tensor::new(vec![1f32; len].into_boxed_slice(), &[len]).unwrap();
        assert_eq!(tensor.route::<Vec<f32>>(), route);
        assert_eq!(tensor.convert::<Vec<f32>>().unwrap()[len - 1], 1.);
    }
}

#[test]
fn without_memory_to_try_it_nothing_is_adopted_for_now() {
    const SIZE: usize = 3 * LEAST + 1;
    let mut owner = vec![1u8; SIZE + 1];
    REFUSED.store(SIZE, Ordering::SeqCst);
    assert_eq!(check(owner.as_ptr() as usize, SIZE, 1), Err(Reason::ForeignMemory));
    // SAFETY: the owner's own elements, which nobody else has.
    let rejected = unsafe { adopt(owner.as_mut_ptr(), SIZE, owner) }.unwrap_err();
    assert!(matches!(rejected.error, Error::CopyRequired { reason: Reason::ForeignMemory, .. }));
    REFUSED.store(usize::MAX, Ordering::SeqCst);
    assert_eq!(check(rejected.value.as_ptr() as usize, SIZE, 1), Ok(()));
}

#[test]
fn trying_takes_no_more_than_the_block_and_a_limit() {
    for (size, tried) in [(HUGE, HUGE), (512 << 20, 512 << 20), (usize::MAX / 4 + 1, (512 << 20) + 4)] {
        LARGEST.store(0, Ordering::SeqCst);
        assert_eq!(check(LEAST, size, 4), Err(Reason::ForeignMemory));
        assert_eq!(LARGEST.load(Ordering::SeqCst), tried);
    }
}

/// Not quite once, because the other tests try many sizes meanwhile, and not all findings are kept.
#[test]
fn what_is_found_out_about_a_size_is_remembered() {
    for ((size, count), expected) in COUNTED.into_iter().zip(&COUNTS).zip([Ok(()), Err(Reason::ForeignMemory)]) {
        for _ in 0..100 {
            assert_eq!(check(LEAST, size, 1), expected);
        }
        assert!((1..10).contains(&count.load(Ordering::SeqCst)), "{count:?}");
    }
}

#[test]
fn what_is_overwritten_at_either_end_is_not_adopted() {
    assert_eq!(check(LEAST, FIRST_OVERWRITTEN, 1), Err(Reason::ForeignMemory));
    assert_eq!(check(LEAST, LAST_OVERWRITTEN, 1), Err(Reason::ForeignMemory));
    assert_eq!(check(LEAST, LAST_OVERWRITTEN + 1, 1), Ok(()));
}
