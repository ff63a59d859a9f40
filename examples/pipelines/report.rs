//! Output on the terminal: tables, a progress bar, and the use of memory.

use std::fmt::Display;

use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

/// A table to which rows are added one by one.
pub struct Report(Table);

impl Report {
    /// A table with these columns.
    pub fn new(header: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
        Self(table)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[&dyn Display]) {
        self.0.add_row(cells.iter().map(|cell| cell.to_string()));
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A progress bar, which is hidden if the output is not a terminal.
pub fn progress(total: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {human_pos}/{human_len} ({per_sec}, {eta} left)");
    let style = style.map(|style| style.progress_chars("=> ")).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style).with_message(what)
}

/// The memory of this process in MiB, if the system (Linux) tells it: `"RssAnon"` is the allocated memory without
/// mapped files, and `"VmHWM"` the peak of all memory.
pub fn memory(kind: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(':'))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? >> 10)
}
