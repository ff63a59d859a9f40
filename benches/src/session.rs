//! One bench program: its settings, its groups, and the record that it leaves.

use std::path::PathBuf;
use std::time::Instant;
use std::{env, fs};

use comfy_table::{CellAlignment, Table as Printed, presets};
use criterion::Criterion;
use dlbridge::tch::tch;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
use time::OffsetDateTime;

use crate::record::{Machine, Record, Table};

/// The environment variable with the folder to write records to. Without it, tables are only printed.
pub const FOLDER: &str = "DLBRIDGE_BENCHES_RECORD";

/// Whether this run measures. `cargo test --benches` only checks that everything runs.
pub fn is_measured() -> bool {
    env::args().any(|argument| argument == "--bench")
}

/// The sizes of tensors, in elements. The large ones are left out if nothing is measured.
pub fn sizes() -> impl Iterator<Item = (&'static str, usize)> {
    [("1K", 1 << 10), ("1M", 1 << 20), ("64M", 64 << 20)].into_iter().take(if is_measured() { 3 } else { 1 })
}

/// What the groups of a bench program have in common.
pub struct Session {
    pub(crate) criterion: Criterion,
    tables: Vec<Table>,
}

impl Session {
    pub(crate) fn finish(&mut self, table: Table) {
        if table.rows.is_empty() {
            return; // Filtered out.
        }
        if is_measured() {
            print(&table);
        }
        self.tables.push(table);
    }
}

/// Runs the groups of the program `name`. Every framework uses one thread, unless `RAYON_NUM_THREADS` gives another
/// number.
pub fn run(name: &str, groups: &[fn(&mut Session)]) {
    let threads = fix_threads();
    let criterion = Criterion::default().without_plots().nresamples(1001).configure_from_args();
    let mut session = Session { criterion, tables: Vec::new() };
    let start = Instant::now();
    groups.iter().for_each(|group| group(&mut session));
    if let (Some(folder), true) = (env::var_os(FOLDER), is_measured()) {
        let record = Record {
            name: name.to_owned(),
            date: OffsetDateTime::now_utc().date().to_string(),
            threads,
            seconds: start.elapsed().as_secs_f64().round(),
            machine: machine(),
            tables: session.tables,
        };
        let path = PathBuf::from(folder).join(name).with_extension("json");
        let text = serde_json::to_string(&record).expect("numbers and text");
        // Each row gets a line, so that the difference between two runs is easy to read.
        let text = text.replace("{\"case\"", "\n{\"case\"") + "\n";
        fs::write(path, text).expect("the folder of the records is there");
    }
}

/// Gives every framework the same number of threads. rayon's threads serve ndarray, candle, and the matrix products of
/// candle and burn; libtorch has threads of its own.
fn fix_threads() -> usize {
    const VARIABLE: &str = "RAYON_NUM_THREADS";
    let threads = env::var(VARIABLE).ok().and_then(|number| number.parse().ok()).unwrap_or(1);
    // SAFETY: no other thread runs yet.
    unsafe { env::set_var(VARIABLE, threads.to_string()) };
    tch::set_num_threads(threads as i32);
    threads
}

fn machine() -> Machine {
    let kinds = RefreshKind::nothing().with_memory(MemoryRefreshKind::everything()).with_cpu(CpuRefreshKind::nothing());
    let system = System::new_with_specifics(kinds);
    Machine {
        cpu: system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory: (system.total_memory() as f64 / (1u64 << 30) as f64).round() as u64,
        system: format!("{} {}", env::consts::OS, env::consts::ARCH),
    }
}

fn print(table: &Table) {
    let mut printed = Printed::new();
    let reference = table.reference.as_ref().map(|name| format!("× {name}")).unwrap_or_default();
    let header = [table.title.as_str(), "by", "ns", &reference, "blocks", "note"];
    printed.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    for row in &table.rows {
        let blocks = row.allocated.map(|allocated| allocated.count.to_string()).unwrap_or_default();
        let nanos = format!("{:.1}", row.nanos.median);
        let ratio = row.ratio.map(|ratio| format!("{:.2}", ratio.median)).unwrap_or_default();
        printed.add_row([row.case.clone(), row.contender.clone(), nanos, ratio, blocks, row.note.clone()]);
    }
    printed.column_iter_mut().skip(2).take(3).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("\n{printed}\n");
}
