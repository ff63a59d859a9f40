//! Times as ratios to a floor that is measured between the samples, so that a noisy machine slows both.
//!
//! The floor is what any export has to do at least: allocate and free a block of 128 bytes, and count a reference up
//! and down.

mod producer;

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use criterion::Criterion;

pub use producer::reusable_export;

/// Whether this run measures, or only sees that everything runs, as `cargo test --benches` does.
pub fn is_measured() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// A group of benches whose ratios are printed side by side when it ends.
pub struct Ratios<'a> {
    criterion: &'a mut Criterion,
    name: &'static str,
    rows: Vec<(String, f64, f64)>,
}

impl<'a> Ratios<'a> {
    /// An empty group.
    pub fn new(criterion: &'a mut Criterion, name: &'static str) -> Self {
        Self { criterion, name, rows: Vec::new() }
    }

    /// Measures `routine`, and the floor before each of its samples. Gives the median ratio.
    pub fn bench<T>(&mut self, name: &str, mut routine: impl FnMut() -> T) -> f64 {
        let samples = RefCell::new(Vec::new());
        self.criterion.bench_function(&format!("{}/{name}", self.name), |bencher| {
            bencher.iter_custom(|iterations| {
                let floor = time(iterations, floor());
                let routine = time(iterations, &mut routine);
                samples.borrow_mut().push((routine.as_secs_f64() / floor.as_secs_f64(), routine, iterations));
                routine
            });
        });
        let samples = samples.into_inner();
        if samples.is_empty() {
            return f64::NAN; // Filtered out.
        }
        let ratio = median(samples.iter().map(|(ratio, ..)| *ratio).collect());
        let nanos = median(samples.iter().map(|(_, time, n)| time.as_nanos() as f64 / *n as f64).collect());
        self.rows.push((name.to_owned(), nanos, ratio));
        ratio
    }

    /// A row that follows from others.
    pub fn derived(&mut self, name: &str, ratio: f64) {
        if !ratio.is_nan() {
            self.rows.push((name.to_owned(), f64::NAN, ratio));
        }
    }
}

impl Drop for Ratios<'_> {
    fn drop(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN).set_header([self.name, "ns", "× floor"]);
        for (name, nanos, ratio) in &self.rows {
            let nanos = if nanos.is_nan() { String::new() } else { format!("{nanos:.1}") };
            table.add_row([name.clone(), nanos, format!("{ratio:.2}")]);
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        println!("\n{table}\n");
    }
}

/// A block of 128 bytes, allocated and freed, and a reference counted up and down.
fn floor() -> impl FnMut() {
    let shared = Arc::new([0u8; 16]);
    move || {
        let block = Box::new(black_box([0u8; 128]));
        let reference = Arc::clone(black_box(&shared));
        black_box((&block, &reference));
    }
}

fn time<T>(iterations: u64, mut routine: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..iterations {
        black_box(routine());
    }
    start.elapsed()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
