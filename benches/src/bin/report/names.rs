//! The names in a table, without repetition.

use dlbridge_benches::record::Table;

/// The cases of a table, in the order in which they were measured.
pub(crate) fn cases(table: &Table) -> Vec<&str> {
    distinct(table.rows.iter().map(|row| row.case.as_str()))
}

/// The distinct names, in the order in which they first appear.
pub(crate) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in all {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
