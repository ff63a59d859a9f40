//! Makes the report of the records that the bench programs have written: tables in Markdown, plots in SVG, and an HTML
//! page with both.
//!
//! `report FOLDER` reads `FOLDER/data/*.json` and `FOLDER/SUMMARY.md`, and writes `README.md`, `index.html` and
//! `plots/*.svg` into `FOLDER`.

mod markdown;
mod names;
mod page;
mod plot;
mod sections;
mod text;
mod versions;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use dlbridge_benches::record::Record;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).map(PathBuf::from).ok_or("usage: report FOLDER")?;
    let records = records(&folder.join("data"))?;
    let plots = folder.join("plots");
    if plots.exists() {
        fs::remove_dir_all(&plots)?; // Plots of an earlier run, which may have other names.
    }
    fs::create_dir_all(&plots)?;
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap_or_default();
    let report = markdown::report(&records, &summary, &plots)?;
    fs::write(folder.join("index.html"), page::html(&report))?;
    fs::write(folder.join("README.md"), report)?;
    Ok(())
}

/// The records that exist, in the order of the sections.
fn records(folder: &Path) -> Result<Vec<Record>, Box<dyn Error>> {
    let mut records = Vec::new();
    for section in sections::SECTIONS {
        let path = folder.join(section.program).with_extension("json");
        if path.exists() {
            records.push(serde_json::from_str(&fs::read_to_string(path)?)?);
        }
    }
    Ok(records)
}
