//! The record of a run, which a bench program writes and the report reads.

use serde::{Deserialize, Serialize};

use crate::allocations::Allocated;

/// One run of one bench program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The name of the program.
    pub name: String,
    /// The day, in UTC.
    pub date: String,
    /// Threads that each framework may use.
    pub threads: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The machine it ran on.
    pub machine: Machine,
    /// What was measured.
    pub tables: Vec<Table>,
}

/// The kind of machine, without anything that identifies a single one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model.
    pub cpu: String,
    /// Cores that the program could use.
    pub cores: usize,
    /// Memory in GiB.
    pub memory: u64,
    /// The operating system and the architecture.
    pub system: String,
}

/// What was measured against one reference.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// The subject.
    pub title: String,
    /// The name of the reference, if the rows have ratios to one.
    pub reference: Option<String>,
    /// The rows, in the order of measuring.
    pub rows: Vec<Row>,
}

/// One thing that was measured.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    /// What is measured.
    pub case: String,
    /// The library or the function that does it.
    pub contender: String,
    /// The time of one call in nanoseconds.
    pub nanos: Quartiles,
    /// The ratio of that time to the time of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Quartiles>,
    /// What one call allocated, if it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<Allocated>,
    /// A remark; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The middle of the samples, and the half of them around it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Quartiles {
    /// A quarter of the samples is below.
    pub lower: f64,
    /// Half of the samples are below.
    pub median: f64,
    /// A quarter of the samples is above.
    pub upper: f64,
}

impl Quartiles {
    /// The quartiles of samples in any order.
    ///
    /// # Panics
    /// If there is no sample.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().collect();
        samples.sort_by(f64::total_cmp);
        // No machine repeats a time to more than four digits, and fewer digits keep the record short.
        let at = |part: f64| round(samples[((samples.len() - 1) as f64 * part).round() as usize]);
        Self { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }
}

fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number")
}
