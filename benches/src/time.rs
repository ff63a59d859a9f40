//! The timing of routines: in a loop, or in batches if each call consumes an input.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time of so many calls, including the time to drop what they return.
pub fn each<T>(iterations: u64, mut routine: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..iterations {
        black_box(routine());
    }
    start.elapsed()
}

/// The time of so many calls, without the time to make their inputs and to drop their outputs. At most `batch` of them
/// exist at once.
pub fn batched<I, O>(
    iterations: u64,
    batch: u64,
    mut setup: impl FnMut() -> I,
    mut routine: impl FnMut(I) -> O,
) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = iterations;
    while left > 0 {
        let count = left.min(batch);
        let inputs: Vec<I> = (0..count).map(|_| setup()).collect();
        let mut outputs = Vec::with_capacity(inputs.len());
        let start = Instant::now();
        outputs.extend(inputs.into_iter().map(|input| routine(black_box(input))));
        total += start.elapsed();
        drop(black_box(outputs));
        left -= count;
    }
    total
}

/// The least that an export has to do: allocate and free a block of 128 bytes, and count a reference up and down.
pub fn floor() -> impl FnMut() {
    let shared = Arc::new([0u8; 16]);
    move || {
        let block = Box::new(black_box([0u8; 128]));
        let reference = Arc::clone(black_box(&shared));
        black_box((&block, &reference));
    }
}
