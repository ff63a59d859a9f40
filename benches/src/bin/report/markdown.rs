//! The report in Markdown: the machine, a section for each program, a table and a plot for each of its groups.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use dlbridge_benches::record::{Record, Row, Table};

use crate::names::{cases, distinct};
use crate::plot::{self, Plotted};
use crate::sections::{SECTIONS, Section};
use crate::{text, versions};

/// Tables with more rows than this are folded, so that the page does not show them at first.
const FOLDED: usize = 20;

/// The whole report; its plots are written to `plots`.
pub(crate) fn report(records: &[Record], summary: &str, plots: &Path) -> io::Result<String> {
    let mut report = format!("# Benches\n\n{}\n{}\n\n", machines(records), summary.trim());
    let sections = records.iter().map(|record| {
        let section = SECTIONS.iter().find(|section| section.program == record.name);
        (section.expect("it was read for a section"), record)
    });
    for (section, _) in sections.clone() {
        _ = writeln!(report, "- [{}](#{})", section.title, text::slug(section.title));
    }
    report += &format!("- [{MEASURED}](#{})\n\n", text::slug(MEASURED));
    for (section, record) in sections {
        report += &written(section, record, plots)?;
    }
    Ok(report + &measured(records))
}

/// A heading with an anchor, which the list of sections links to: the HTML page has no other anchors.
fn heading(title: &str) -> String {
    format!("<a id=\"{}\"></a>\n\n## {title}\n\n", text::slug(title))
}

/// The date and the machine of the records, in one line if they are the same for all.
fn machines(records: &[Record]) -> String {
    let line = |Record { machine, date, threads, .. }: &Record| {
        let threads = if *threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
        let (cpu, cores, memory, system) = (&machine.cpu, machine.cores, machine.memory, &machine.system);
        format!("*{date} · {cpu}, {cores} cores, {memory} GiB, {system} · every framework on {threads}*\n")
    };
    let mut lines: Vec<String> = records.iter().map(line).collect();
    lines.dedup();
    lines.concat()
}

const MEASURED: &str = "How it was measured";

/// The notes on measuring that hold for all sections.
fn measured(records: &[Record]) -> String {
    let minutes = (records.iter().map(|record| record.seconds).sum::<f64>() / 60.).ceil();
    let versions = versions::versions().join(", ");
    format!(
        "{}- All of it takes {minutes} minutes with `benches/run`, after the build.
- {versions}.
- Release builds with thin LTO for the architecture's baseline, as cargo makes them; libtorch and the matrix products \
choose their instructions at run time.
- The number of threads is `RAYON_NUM_THREADS` for ndarray, candle, burn and their matrix products, and \
`tch::set_num_threads` for libtorch.
- Each sample stands beside one of a reference, so that what disturbs the machine disturbs both. The *floor* is a block \
of 128 bytes allocated and freed, and a reference counted up and down: the least that an export does. *memcpy* copies \
as many bytes into a new vector.
- A cell has the median time; below it the middle half of the samples, how many times the reference's time the median \
is, and what one call allocates through Rust's allocator. What libtorch allocates does not count. The best of a row is \
bold.
- In the plots, the thick lines are the middle half of the samples.
",
        heading(MEASURED)
    )
}

fn written(section: &Section, record: &Record, plots: &Path) -> io::Result<String> {
    let mut text = format!("{}{}\n\n", heading(section.title), section.text);
    let write = |text: &mut String, plotted: Plotted| {
        let file = format!("{}-{}.svg", record.name, text::slug(&plotted.title));
        std::fs::write(plots.join(&file), &plotted.svg)?;
        _ = writeln!(text, "![{}](plots/{file})\n", plotted.title);
        io::Result::Ok(())
    };
    if record.name == "routes" {
        for plotted in plot::of_routes(&record.tables) {
            write(&mut text, plotted)?;
        }
    }
    for table in &record.tables {
        _ = writeln!(text, "### {}\n", upper_first(&table.title));
        let is_folded = cases(table).len() > FOLDED;
        if is_folded {
            text += "<details><summary>All rows</summary>\n\n";
        } else {
            write(&mut text, plot::of_table(table))?;
        }
        text += &pivot(table);
        text += if is_folded { "\n</details>\n\n" } else { "\n" };
    }
    Ok(text)
}

fn upper_first(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A line for each case, a column for each contender.
fn pivot(table: &Table) -> String {
    let contenders = distinct(table.rows.iter().map(|row| row.contender.as_str()));
    let mut text = format!("| | {} |\n|---|{}\n", contenders.join(" | "), "---:|".repeat(contenders.len()));
    for case in cases(table) {
        let rows: Vec<&Row> = table.rows.iter().filter(|row| row.case == case).collect();
        let best = rows.iter().filter(|row| row.note != "for comparison").map(|row| row.nanos.median);
        let best = best.fold(f64::INFINITY, f64::min);
        _ = write!(text, "| {case} |");
        for contender in &contenders {
            let cell = rows.iter().find(|row| row.contender == *contender).map(|row| cell(row, best, table));
            _ = write!(text, " {} |", cell.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

fn cell(row: &Row, best: f64, table: &Table) -> String {
    let time = text::time(row.nanos.median);
    let time = if row.nanos.median <= best { format!("**{time}**") } else { time };
    let ratio = match (&row.ratio, &table.reference) {
        (Some(ratio), Some(reference)) => format!("{} {reference}", text::factor(ratio.median)),
        _ => format!("{} the best", text::factor(row.nanos.median / best)),
    };
    let small = [Some(text::spread(&row.nanos)), Some(ratio), text::allocated(row), Some(row.note.clone())];
    let small: Vec<String> = small.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    format!("{time}<br><sub>{}</sub>", small.join("<br>"))
}
