//! Numbers and names in readable form.

use dlbridge_benches::record::{Quartiles, Row};

const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1., "ns")];

/// A time with its unit, in three digits.
pub(crate) fn time(nanos: f64) -> String {
    let (unit, name) = unit(nanos);
    format!("{} {name}", digits(nanos / unit))
}

/// The middle half of the samples, in one unit.
pub(crate) fn spread(nanos: &Quartiles) -> String {
    let (unit, _) = unit(nanos.median);
    format!("{}–{}", digits(nanos.lower / unit), digits(nanos.upper / unit))
}

/// A factor, in three digits at most.
pub(crate) fn factor(value: f64) -> String {
    format!("{}×", digits(value))
}

fn unit(nanos: f64) -> (f64, &'static str) {
    UNITS.into_iter().find(|(unit, _)| nanos >= 0.9995 * unit).unwrap_or(UNITS[3])
}

fn digits(value: f64) -> String {
    match value {
        ..0.9995 => format!("{value:.2}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The numbers of blocks and bytes that a row has allocated, if they were counted.
pub(crate) fn allocated(row: &Row) -> Option<String> {
    let allocated = row.allocated?;
    let bytes = match allocated.bytes {
        bytes @ ..10_000 => format!("{bytes} B"),
        bytes @ ..10_000_000 => format!("{} KiB", bytes >> 10),
        bytes => format!("{} MiB", bytes >> 20),
    };
    Some(match allocated.count {
        0 => "no block".to_owned(),
        1 => format!("1 block, {bytes}"),
        count => format!("{count} blocks, {bytes}"),
    })
}

/// A title in the form of a file's or an anchor's name.
pub(crate) fn slug(title: &str) -> String {
    let plain = title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), " ");
    plain.split_whitespace().collect::<Vec<_>>().join("-")
}
