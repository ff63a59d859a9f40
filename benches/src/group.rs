//! A group of rows, each measured against a reference that runs before every sample.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use criterion::SamplingMode;

use crate::allocations::{self, Allocated};
use crate::record::{Quartiles, Row, Table};
use crate::{Session, time};

/// What the rows of a group are measured against.
enum Reference {
    /// No reference: the rows are compared with each other.
    Nothing,
    /// [`time::floor`].
    Floor,
    /// A copy of as many bytes into a new vector.
    Memcpy(Vec<u8>),
}

impl Reference {
    /// The time of one call, in seconds.
    fn time(&self, iterations: u64, batch: u64) -> Option<f64> {
        match self {
            Self::Nothing => None,
            Self::Floor => {
                let iterations = iterations.clamp(1000, 20_000);
                Some(time::each(iterations, time::floor()).as_secs_f64() / iterations as f64)
            }
            Self::Memcpy(bytes) => {
                let copy = |()| bytes.to_vec();
                Some(time::batched(iterations, batch, || (), copy).as_secs_f64() / iterations as f64)
            }
        }
    }
}

/// What one call of a routine has shown.
struct First {
    /// The time of the call, which includes making the input and dropping the output.
    time: Duration,
    allocated: Option<Allocated>,
}

/// A table in the making.
pub struct Group<'a> {
    session: &'a mut Session,
    reference: Reference,
    table: Table,
    samples: usize,
    time: Duration,
}

impl<'a> Group<'a> {
    /// A group whose rows are compared with each other.
    pub fn among_themselves(session: &'a mut Session, title: impl Into<String>) -> Self {
        let table = Table { title: title.into(), ..Table::default() };
        // Samples take only a few milliseconds each, so that most of them are not interrupted by other processes.
        let (samples, time) = (50, Duration::from_millis(200));
        Self { session, reference: Reference::Nothing, table, samples, time }
    }

    /// A group against the [floor](time::floor).
    pub fn against_floor(session: &'a mut Session, title: impl Into<String>) -> Self {
        let mut group = Self::among_themselves(session, title);
        group.table.reference = Some("floor".to_owned());
        group.reference = Reference::Floor;
        group
    }

    /// A group against a copy into a new vector. [`Group::bytes`] sets its size.
    pub fn against_memcpy(session: &'a mut Session, title: impl Into<String>) -> Self {
        let mut group = Self::among_themselves(session, title);
        group.table.reference = Some("memcpy".to_owned());
        group
    }

    /// A group against another reference. The ratios to it are given to [`Group::row`].
    pub fn against(session: &'a mut Session, title: impl Into<String>, reference: &str) -> Self {
        let mut group = Self::among_themselves(session, title);
        group.table.reference = Some(reference.to_owned());
        group
    }

    /// The size of the copy that the next rows are measured against.
    pub fn bytes(&mut self, bytes: usize) {
        self.reference = Reference::Memcpy(vec![1; bytes]);
    }

    /// Takes few samples of each row, for groups with many rows or with slow ones.
    #[must_use]
    pub fn briefly(mut self) -> Self {
        (self.samples, self.time) = (12, Duration::from_millis(60));
        self
    }

    /// Measures `routine`, including the time to drop what it returns.
    pub fn bench<T>(&mut self, case: &str, contender: &str, mut routine: impl FnMut() -> T) -> &mut Self {
        drop(routine()); // Work that is done only once, as the detection of devices, happens in this call.
        let start = Instant::now();
        let (output, allocated) = allocations::count(&mut routine);
        drop(output);
        let first = First { time: start.elapsed(), allocated };
        self.measure(case, contender, 1, first, |iterations| time::each(iterations, &mut routine))
    }

    /// Measures `routine` alone, without the time to make its inputs and to drop its outputs. At most `batch` of them
    /// exist at once.
    pub fn bench_batched<I, O>(
        &mut self,
        case: &str,
        contender: &str,
        batch: u64,
        mut setup: impl FnMut() -> I,
        mut routine: impl FnMut(I) -> O,
    ) -> &mut Self {
        drop(routine(setup()));
        let start = Instant::now();
        let input = setup();
        let (output, allocated) = allocations::count(|| routine(input));
        drop(output);
        let first = First { time: start.elapsed(), allocated };
        self.measure(case, contender, batch, first, |iterations| {
            time::batched(iterations, batch, &mut setup, &mut routine)
        })
    }

    fn measure(
        &mut self,
        case: &str,
        contender: &str,
        batch: u64,
        first: First,
        mut run: impl FnMut(u64) -> Duration,
    ) -> &mut Self {
        // criterion demands at least ten samples.
        let count = if first.time > Duration::from_millis(20) { 10 } else { self.samples };
        let samples = RefCell::new(Vec::new());
        let mut group = self.session.criterion.benchmark_group(&self.table.title);
        group.sampling_mode(SamplingMode::Flat).sample_size(count);
        group.warm_up_time(self.time / 5).measurement_time(self.time);
        group.bench_function(format!("{case}: {contender}"), |bencher| {
            bencher.iter_custom(|iterations| {
                let reference = self.reference.time(iterations, batch);
                let time = run(iterations);
                let seconds = time.as_secs_f64() / iterations as f64;
                samples.borrow_mut().push((seconds * 1e9, reference.map(|reference| seconds / reference)));
                time
            });
        });
        group.finish();
        // The first calls were criterion's warm-up. Only the last `count` are samples.
        let mut samples = samples.into_inner();
        let warm = samples.len().saturating_sub(count);
        let (nanos, ratios): (Vec<_>, Vec<_>) = samples.split_off(warm).into_iter().unzip();
        let ratios: Vec<f64> = ratios.into_iter().flatten().collect();
        self.row(case, contender, nanos, ratios, first.allocated)
    }

    /// Adds a row of samples that were taken elsewhere: nanoseconds, and ratios to the reference.
    pub fn row(
        &mut self,
        case: &str,
        contender: &str,
        nanos: Vec<f64>,
        ratios: Vec<f64>,
        allocated: Option<Allocated>,
    ) -> &mut Self {
        if !nanos.is_empty() {
            self.table.rows.push(Row {
                case: case.to_owned(),
                contender: contender.to_owned(),
                nanos: Quartiles::of(nanos),
                ratio: (!ratios.is_empty()).then(|| Quartiles::of(ratios)),
                allocated,
                note: String::new(),
            });
        }
        self
    }

    /// Adds a note to the last row.
    pub fn note(&mut self, note: impl Into<String>) {
        if let Some(row) = self.table.rows.last_mut() {
            row.note = note.into();
        }
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let table = std::mem::take(&mut self.table);
        self.session.finish(table);
    }
}
