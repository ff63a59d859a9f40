//! What a bench program writes down, and the report reads.

use serde::{Deserialize, Serialize};

use crate::allocations::Allocated;

/// One run of one bench program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The program.
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

/// The kind of a machine; nothing that names one.
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
    /// What it is about.
    pub title: String,
    /// What ratios are to, if to anything.
    pub reference: Option<String>,
    /// The rows, in the order of measuring.
    pub rows: Vec<Row>,
}

/// One thing that was measured.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    /// What was done.
    pub case: String,
    /// Who did it.
    pub contender: String,
    /// Nanoseconds of one call.
    pub nanos: Quartiles,
    /// How many times the reference's time that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Quartiles>,
    /// What one call allocated, if it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<Allocated>,
    /// What there is to say.
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
    /// Of samples in any order.
    ///
    /// # Panics
    /// Without a sample.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().collect();
        samples.sort_by(f64::total_cmp);
        // Four digits are more than any machine repeats, and keep the record short.
        let at = |part: f64| round(samples[((samples.len() - 1) as f64 * part).round() as usize]);
        Self { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }
}

fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number")
}
