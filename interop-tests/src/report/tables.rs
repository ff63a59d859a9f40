//! The matrix in words: a table of pairs for the terminal, and a page of Markdown.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment, Row, Table, presets};

use super::{Counts, Outcome, Report, Square, distinct, markdown};

impl Report {
    /// A table of pairs for the terminal.
    pub fn terminal(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_FULL_CONDENSED);
        table.set_header(["from \\ to"].into_iter().chain(self.targets.iter().copied()));
        for source in &self.sources {
            let mut row = Row::from(vec![*source]);
            for target in &self.targets {
                let counts = Counts::of(self.pair(source, target));
                row.add_cell(Cell::new(brief(counts)).set_alignment(CellAlignment::Right));
            }
            table.add_row(row);
        }
        format!(
            "{table}\nshared / one copy / impossible, of all dtypes and layouts that the source has\n{}",
            self.line()
        )
    }

    /// The counts in a line.
    pub fn line(&self) -> String {
        let Counts { shared, copied, impossible } = self.counts();
        let total = self.squares.len();
        format!("{total} squares: {shared} shared, {copied} one copy, {impossible} impossible as promised")
    }

    /// The tables of [`MATRIX.md`](https://github.com/dlbridge/dlbridge/blob/main/interop-tests/MATRIX.md).
    pub fn markdown(&self) -> String {
        let by = |what: &str, key: fn(&Square) -> &str| {
            let rows = distinct(self.squares.iter().map(key)).into_iter().map(|name| {
                let counts = Counts::of(self.squares.iter().filter(|square| key(square) == name));
                vec![format!("`{name}`"), percent(counts.shared, counts), percent(counts.copied, counts), {
                    percent(counts.impossible, counts)
                }]
            });
            markdown(&[what, "shared", "one copy", "impossible"], rows)
        };
        let header: Vec<String> =
            ["from \\ to".to_owned()].into_iter().chain(self.targets.iter().map(|it| format!("`{it}`"))).collect();
        let pairs = self.sources.iter().map(|source| {
            let counts = self.targets.iter().map(|target| brief(Counts::of(self.pair(source, target))));
            [format!("`{source}`")].into_iter().chain(counts).collect()
        });
        [
            format!("{}.\n", self.line()),
            format!("Pairs, as shared / one copy / impossible:\n\n{}", markdown(&header, pairs)),
            format!("Why there is a copy:\n\n{}", self.reasons()),
            format!("By layout:\n\n{}", by("layout", |square| square.layout)),
            format!("By element type:\n\n{}", by("dtype", |square| &square.dtype)),
        ]
        .join("\n")
    }

    fn reasons(&self) -> String {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for square in &self.squares {
            if let Outcome::Copied(reason) = &square.outcome {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        markdown(&["reason", "squares"], reasons.into_iter().map(|(why, count)| vec![why.into(), count.to_string()]))
    }
}

/// Counts in the form `"120 / 8 / –"`; an empty string if all are 0.
fn brief(counts: Counts) -> String {
    if counts.total() == 0 {
        return String::new();
    }
    let number = |count: usize| if count == 0 { "–".to_owned() } else { count.to_string() };
    [counts.shared, counts.copied, counts.impossible].map(number).join(" / ")
}

fn percent(part: usize, counts: Counts) -> String {
    format!("{:.0} %", 100. * part as f64 / counts.total() as f64)
}
