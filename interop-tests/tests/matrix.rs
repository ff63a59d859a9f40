//! Every dtype × layout × pair of framework types, and every journey A → B → C → A; filter with e.g. `-- bfloat16 'candle->'`.

use std::process::ExitCode;

use interop_tests::trial::{Cell, Journey, cells, journeys};

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let cells = cells().into_iter().map(Cell::into_trial);
    let trials = cells.chain(journeys().into_iter().map(Journey::into_trial)).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
