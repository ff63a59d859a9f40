//! Every dtype × layout × pair of framework types, and every journey A → B → C → A. Filter them with e.g.
//! `-- bfloat16 'candle->'`.
//!
//! A run without a filter writes the outcomes of all squares into the build folder (`target/tmp/matrix`). If all
//! features are on, `MATRIX.md` and `matrix.svg` must be the same; `DLBRIDGE_BLESS=1` writes them.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use interop_tests::publish::{Section, publish};
use interop_tests::report::Report;
use interop_tests::trial::{Journey, cells, journeys};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = libtest_mimic::Arguments::from_args();
    let (cells, journeys) = (cells(), journeys());
    let passed = Arc::new(Mutex::new(Vec::with_capacity(cells.len())));
    let squares = cells.iter().map(|cell| {
        let passed = Arc::clone(&passed);
        cell.into_trial(move |cell, route| passed.lock().expect("no panic while locked").push((cell, route.into())))
    });
    let travels = journeys.len();
    let trials = squares.chain(journeys.into_iter().map(Journey::into_trial)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);

    let passed = std::mem::take(&mut *passed.lock().expect("no panic while locked"));
    let is_whole = passed.len() == cells.len() && conclusion.num_filtered_out == 0 && !conclusion.has_failed();
    if is_whole {
        let report = Report::new(passed, &cells);
        println!("{}; {travels} journeys; {} ignored\n", report.line(), conclusion.num_ignored);
        write(&report)?;
    }
    Ok(conclusion.exit_code())
}

fn write(report: &Report) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("matrix.md"), report.markdown())?;
    fs::write(folder.join("matrix.json"), report.json())?;
    fs::write(folder.join("matrix.svg"), report.heat_map())?;
    if cfg!(all(feature = "arrow", feature = "burn", feature = "candle", feature = "ndarray", feature = "tch")) {
        publish("interop-tests/MATRIX.md", Section::Named("squares"), &report.markdown())?;
        publish("interop-tests/matrix.svg", Section::Whole, &report.heat_map())?;
    }
    Ok(())
}
