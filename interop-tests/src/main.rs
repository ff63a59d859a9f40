//! Prints the matrix of this build's features: what `convert` announces for every dtype, layout and pair.

use clap::{Parser, ValueEnum};
use interop_tests::report::Report;
use interop_tests::trial::cells;

/// What dlbridge shares, copies and refuses, for the frameworks of this build.
#[derive(Parser)]
struct Arguments {
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    /// A table of pairs.
    #[default]
    Table,
    /// Tables of pairs, layouts and element types.
    Markdown,
    /// Every square.
    Json,
    /// A heat map.
    Svg,
}

fn main() {
    let arguments = Arguments::parse();
    let report = Report::announced(&cells());
    println!(
        "{}",
        match arguments.format {
            Format::Table => report.terminal(),
            Format::Markdown => report.markdown(),
            Format::Json => report.json(),
            Format::Svg => report.heat_map(),
        }
    );
}
