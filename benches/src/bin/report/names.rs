//! The names in a table: each once, in the order in which they come first.

use dlbridge_benches::record::Table;

/// The cases of a table, in the order in which they were measured.
pub(crate) fn cases(table: &Table) -> Vec<&str> {
    distinct(table.rows.iter().map(|row| row.case.as_str()))
}

/// Each name once, where it comes first.
pub(crate) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in all {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
