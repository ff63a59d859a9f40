//! Without the adopting allocator nothing is adopted, even if many threads ask for it at once.
#![cfg(feature = "adopting")]

use std::sync::Barrier;
use std::thread;

use dlbridge_core::adopting::{is_installed, LEAST};
use dlbridge_core::{Bridge, Reason, Route, Tensor};

#[test]
fn many_threads_ask_at_once_and_nothing_is_adopted() {
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                assert!(!is_installed());
                drop(vec![0u8; LEAST]);
            });
        }
    });
    let tensor = Tensor::new(vec![1f32; LEAST].into_boxed_slice(), &[LEAST]).unwrap();
    assert_eq!(tensor.route::<Vec<f32>>(), Route::Copied(Reason::ForeignMemory));
    assert_eq!(tensor.convert::<Vec<f32>>().unwrap()[LEAST - 1], 1.);
}
