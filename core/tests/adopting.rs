//! Tests of the adopting allocator where it is installed.
#![cfg(feature = "adopting")]

use std::alloc::System;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use dlbridge_core::adopting::{self, adopt, release_deferred, Adopting, Deferred, LEAST};
use dlbridge_core::{Bridge, CopyPolicy, DataType, Device, Error, Flags, Memory, Reason, Route, Tensor};

#[global_allocator]
static ALLOCATOR: Adopting<System> = Adopting::new(System);

/// Foreign memory: a boxed slice that counts when it is let go of.
struct Owner(Box<[f32]>, Arc<AtomicUsize>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

fn adopted(len: usize, released: &Arc<AtomicUsize>) -> (Vec<f32>, *const f32) {
    let mut owner = Owner((0..len).map(|n| n as f32).collect(), released.clone());
    let elements = owner.0.as_mut_ptr();
    // SAFETY: the owner's own elements, which nobody else has.
    let vec = unsafe { adopt(elements, len, owner) };
    (vec.map_err(|rejected| rejected.error).unwrap(), elements)
}

#[test]
fn a_vector_owns_foreign_memory_and_lets_go_of_it_once() {
    assert!(adopting::is_installed());
    let released = Arc::default();
    let (vec, address) = adopted(LEAST, &released);
    assert_eq!((vec.as_ptr(), vec.len(), vec.capacity(), vec[LEAST - 1]), (address, LEAST, LEAST, (LEAST - 1) as f32));
    let boxed = vec.into_boxed_slice();
    assert_eq!((boxed.as_ptr(), released.load(Ordering::SeqCst)), (address, 0));
    drop(boxed);
    assert_eq!(released.load(Ordering::SeqCst), 1);
}

#[test]
fn growing_and_shrinking_move_the_elements_and_let_go() {
    let released = Arc::default();
    let (mut vec, address) = adopted(LEAST, &released);
    vec.push(7.);
    assert_ne!(vec.as_ptr(), address);
    assert_eq!((vec[5], vec[LEAST], released.load(Ordering::SeqCst)), (5., 7., 1));
    let (mut vec, _) = adopted(LEAST, &released);
    vec.truncate(10);
    vec.shrink_to_fit();
    assert_eq!((&vec[..], released.load(Ordering::SeqCst)), (&[0., 1., 2., 3., 4., 5., 6., 7., 8., 9.][..], 2));
}

#[test]
fn what_cannot_be_adopted_comes_back() {
    let released: Arc<AtomicUsize> = Arc::default();
    let mut owner = Owner(vec![0.; LEAST].into(), released.clone());
    let elements = owner.0.as_mut_ptr();
    for (elements, len, reason) in [
        (elements, LEAST / 4 - 1, Some(Reason::Small)),
        (elements.cast::<u8>().wrapping_add(1).cast(), LEAST - 1, Some(Reason::Misaligned { align: 4 })),
        (std::ptr::null_mut(), LEAST, None),
    ] {
        // SAFETY: the call refuses the block before it uses the pointer.
        let rejected = unsafe { adopt(elements, len, owner) }.unwrap_err();
        match reason {
            Some(reason) => {
                assert!(matches!(rejected.error, Error::CopyRequired { reason: found, .. } if found == reason))
            }
            None => assert_eq!(rejected.error, Error::NullData { elements: LEAST }),
        }
        owner = rejected.value;
        assert_eq!(released.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_block_is_adopted_if_a_vector_could_have_it() {
    const MISALIGNED: Result<(), Reason> = Err(Reason::Misaligned { align: 8 });
    for (address, size, align, expected) in [
        (LEAST, LEAST, 1, Ok(())),
        (LEAST + 1, LEAST, 1, Ok(())),
        (LEAST, LEAST - 1, 1, Err(Reason::Small)),
        (LEAST, 0, 1, Err(Reason::Small)),
        (LEAST + 8, LEAST, 8, Ok(())),
        (LEAST + 4, LEAST, 8, MISALIGNED),
        (LEAST + 4, 8, 8, MISALIGNED),
        // No vector has a block that is no whole number of elements, or elements that are aligned to so much.
        (LEAST, LEAST + 4, 8, Err(Reason::ForeignMemory)),
        (LEAST, 2 * LEAST, LEAST, Ok(())),
        (2 * LEAST, 4 * LEAST, 2 * LEAST, Err(Reason::ForeignMemory)),
        (LEAST, usize::MAX, 1, Err(Reason::ForeignMemory)),
    ] {
        assert_eq!(adopting::check(address, size, align), expected, "{address} {size} {align}");
    }
}

#[test]
fn memory_is_adopted_again_and_twice_at_a_time() {
    let released = Arc::default();
    let memory: Arc<[f32]> = (0..LEAST).map(|n| n as f32).collect::<Vec<_>>().into();
    struct Handle {
        _memory: Arc<[f32]>,
        released: Arc<AtomicUsize>,
    }
    impl Drop for Handle {
        fn drop(&mut self) {
            self.released.fetch_add(1, Ordering::SeqCst);
        }
    }
    let again = || {
        let elements = memory.as_ptr().cast_mut();
        let owner = Handle { _memory: memory.clone(), released: Arc::clone(&released) };
        // SAFETY: nobody writes the elements, through the vector or otherwise.
        unsafe { adopt(elements, LEAST, owner) }.map_err(|it| it.error).unwrap()
    };
    for round in 0..3 {
        let (one, other) = (again(), again());
        drop(one);
        assert_eq!((other[3], released.load(Ordering::SeqCst)), (3., 2 * round + 1));
        drop(other);
    }
    assert_eq!((Arc::strong_count(&memory), released.load(Ordering::SeqCst)), (1, 6));
}

#[test]
fn owners_may_use_the_allocator_and_drop_adopted_vectors() {
    let released: Arc<AtomicUsize> = Arc::default();
    struct Nested {
        inner: Vec<f32>,
        _outer: Owner,
    }
    impl Drop for Nested {
        fn drop(&mut self) {
            let copy = self.inner.clone();
            assert_eq!(copy.len(), LEAST);
        }
    }
    let (inner, _) = adopted(LEAST, &released);
    let mut outer = Owner(vec![1.; LEAST].into(), released.clone());
    let elements = outer.0.as_mut_ptr();
    // SAFETY: the owner's own elements, which nobody else has.
    let vec = unsafe { adopt(elements, LEAST, Nested { inner, _outer: outer }) }.map_err(|it| it.error).unwrap();
    drop(vec);
    assert_eq!(released.load(Ordering::SeqCst), 2);
}

#[test]
fn vectors_are_dropped_on_other_threads_and_by_their_thread_locals() {
    thread_local! { static KEPT: std::cell::RefCell<Vec<Vec<f32>>> = const { std::cell::RefCell::new(Vec::new()) } }
    let released: Arc<AtomicUsize> = Arc::default();
    let (one, _) = adopted(LEAST, &released);
    let (other, _) = adopted(LEAST, &released);
    thread::spawn(move || {
        KEPT.with_borrow_mut(|kept| kept.push(one));
        drop(other);
    })
    .join()
    .unwrap();
    assert_eq!(released.load(Ordering::SeqCst), 2);
}

#[test]
fn thousands_of_vectors_on_several_threads() {
    let released: Arc<AtomicUsize> = Arc::default();
    let (sender, receiver) = std::sync::mpsc::channel::<Vec<f32>>();
    let receiver = Arc::new(std::sync::Mutex::new(receiver));
    let droppers: Vec<_> = (0..2)
        .map(|_| {
            let receiver = receiver.clone();
            thread::spawn(move || loop {
                let next = receiver.lock().unwrap().recv();
                match next {
                    Ok(mut vec) if vec.len() % 3 == 0 => vec.push(0.),
                    Ok(vec) => assert_eq!(vec[1], 1.),
                    Err(_) => return,
                }
            })
        })
        .collect();
    let adopters: Vec<_> = (0..2)
        .map(|thread| {
            let (released, sender) = (released.clone(), sender.clone());
            thread::spawn(move || {
                for n in 0..1000 {
                    sender.send(adopted(LEAST / 4 + (n * 7 + thread) % 50, &released).0).unwrap();
                    // Ordinary blocks of the same sizes in between.
                    drop(vec![0f32; LEAST / 4 + n % 50]);
                }
            })
        })
        .collect();
    drop(sender);
    adopters.into_iter().chain(droppers).for_each(|thread| thread.join().unwrap());
    assert_eq!(released.load(Ordering::SeqCst), 2000);
}

/// More than the small table of the registry takes.
#[test]
fn thousands_of_vectors_at_a_time() {
    const COUNT: usize = 3000;
    let memory = vec![1f32; LEAST + COUNT];
    let released: Arc<AtomicUsize> = Arc::default();
    let adopt_at = |at: usize| {
        let owner = Owner(Box::new([]), released.clone());
        // SAFETY: nobody writes the elements, and they are there until all vectors are gone.
        unsafe { adopt(memory[at..].as_ptr().cast_mut(), LEAST, owner) }.map_err(|it| it.error).unwrap()
    };
    let mut vecs: Vec<_> = (0..COUNT).map(adopt_at).collect();
    // Ordinary blocks are none of them, whatever becomes of these.
    let ordinary: Vec<_> = (0..COUNT).map(|_| vec![0u8; LEAST]).collect();
    // In an order that is neither that of adoption nor its reverse.
    for count in 1..=COUNT / 2 {
        drop(vecs.swap_remove(count * 7919 % vecs.len()));
        assert_eq!(released.load(Ordering::SeqCst), count);
    }
    drop(ordinary);
    vecs.extend((0..COUNT / 2).map(adopt_at));
    assert!(vecs.iter().all(|vec| vec[LEAST - 1] == 1.));
    drop(vecs);
    assert_eq!(released.load(Ordering::SeqCst), COUNT + COUNT / 2);
}

#[test]
fn deferred_owners_wait_until_they_are_asked_for() {
    let released: Arc<AtomicUsize> = Arc::default();
    let mut owner = Owner((0..LEAST).map(|n| n as f32).collect(), released.clone());
    let elements = owner.0.as_mut_ptr();
    // SAFETY: the owner's own elements, which nobody else has.
    let vec = unsafe { adopt(elements, LEAST, Deferred::new(owner)) }.map_err(|it| it.error).unwrap();
    drop(vec);
    assert_eq!(released.load(Ordering::SeqCst), 0);
    assert!(release_deferred() >= 1);
    assert_eq!(released.load(Ordering::SeqCst), 1);
    let kept = Deferred::new(Owner(Box::new([]), released.clone())).into_inner();
    assert_eq!(released.load(Ordering::SeqCst), 1);
    drop(kept);
}

#[test]
fn tensors_become_vectors_without_a_copy() {
    let elements: Box<[f32]> = (0..LEAST).map(|n| n as f32).collect();
    let tensor = Tensor::new(elements, &[2, LEAST / 2]).unwrap();
    let address = tensor.data();
    assert_eq!(tensor.route::<Vec<f32>>(), Route::Shared);
    let vec: Vec<f32> = tensor.share().unwrap();
    assert_eq!((vec.as_ptr().cast(), vec[LEAST - 1]), (address, (LEAST - 1) as f32));

    let small = Tensor::new(vec![0f32; 4].into_boxed_slice(), &[4]).unwrap();
    assert_eq!(small.route::<Vec<f32>>(), Route::Copied(Reason::Small));
    assert_eq!(small.convert::<Vec<f32>>().unwrap(), [0.; 4]);
    let read_only = Tensor::new(vec.into_boxed_slice(), &[LEAST]).unwrap().into_read_only();
    assert_eq!(read_only.route::<Vec<f32>>(), Route::Copied(Reason::ReadOnly));
    let copied = read_only.convert_with::<Vec<f32>>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(copied.copied, Some(Reason::ReadOnly));
}

/// An owner may keep a vector over the same block, and not the memory itself. More blocks than the small table of the
/// registry takes come in between.
#[test]
fn what_keeps_the_memory_is_dropped_last() {
    let released: Arc<AtomicUsize> = Arc::default();
    let mut owner = Owner(vec![1f32; LEAST].into_boxed_slice(), released.clone());
    let elements = owner.0.as_mut_ptr();
    // SAFETY: the owner's own elements, which nobody else has.
    let first = Arc::new(unsafe { adopt(elements, LEAST, owner) }.map_err(|it| it.error).unwrap());
    let memory = vec![0f32; LEAST + 2000];
    let adopt_at = |at: usize| {
        // SAFETY: nobody writes the elements, and they are there until all vectors are gone.
        unsafe { adopt(memory[at..].as_ptr().cast_mut(), LEAST, ()) }.map_err(|it| it.error).unwrap()
    };
    let others: Vec<_> = (0..2000).map(adopt_at).collect();
    for count in [1, 2] {
        // SAFETY: the elements are there as long as the first vector is, and nobody writes them.
        let adopt_again = || unsafe { adopt(elements, LEAST, first.clone()) }.map_err(|it| it.error).unwrap();
        let vecs: Vec<Vec<f32>> = (0..count).map(|_| adopt_again()).collect();
        assert_eq!(Arc::strong_count(&first), 1 + count);
        drop(vecs);
        assert_eq!((Arc::strong_count(&first), released.load(Ordering::SeqCst)), (1, 0));
        assert!(first.iter().all(|element| *element == 1.));
    }
    drop(others);
    drop(first);
    assert_eq!(released.load(Ordering::SeqCst), 1);
}

#[test]
fn only_what_is_all_its_own_is_adopted() {
    let part = |shape: [i64; 2], strides: [i64; 2], dtype| {
        let memory = Memory { dtype, device: Device::CPU, flags: Flags::empty(), is_valid: false };
        let owner = vec![3u8; 8 * LEAST].into_boxed_slice();
        // SAFETY: the layouts are within the owner, which nobody else has.
        unsafe {
            Tensor::from_owner(owner, memory, 2, |owner, lengths, steps| {
                (lengths[0], lengths[1], steps[0], steps[1]) = (shape[0], shape[1], strides[0], strides[1]);
                owner.as_mut_ptr()
            })
        }
    };
    let len = LEAST as i64;
    for (shape, strides, dtype, expected) in [
        ([2, len], [len, 1], DataType::UINT8, Ok(())),
        ([2, len], [1, 2], DataType::UINT8, Err(Reason::Strided)),
        ([2, len], [len + 1, 1], DataType::UINT8, Err(Reason::Strided)),
        ([2, 8], [8, 1], DataType::UINT8, Err(Reason::Small)),
        ([2, len], [len, 1], DataType::INT8, Err(Reason::ForeignMemory)),
    ] {
        let tensor = part(shape, strides, dtype);
        let address = tensor.data();
        assert_eq!(tensor.descriptor().check_adoptable::<u8>(), expected, "{shape:?} {strides:?} {dtype}");
        match tensor.adopt::<u8>() {
            Ok(vec) => assert_eq!((vec.as_ptr(), vec.len(), vec[1], expected), (address, 2 * LEAST, 3, Ok(()))),
            Err(tensor) => assert_eq!((tensor.data(), expected.is_err()), (address, true)),
        }
    }
    // A route looks at no element, so that booleans that are none are found on the way.
    let bools = || part([2, len], [len, 1], DataType::BOOL);
    assert_eq!(bools().route::<Vec<bool>>(), Route::Shared);
    assert_eq!(bools().share::<Vec<bool>>(), Err(Error::InvalidBool { index: 0, value: 3 }));
    assert!(bools().adopt::<bool>().is_err());
}
