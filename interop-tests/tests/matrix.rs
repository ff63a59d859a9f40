//! Every dtype × layout × pair of framework types; filter with e.g. `-- bfloat16 'candle->'`.

use std::process::ExitCode;

use interop_tests::trial::{Cell, cells};

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = cells().into_iter().map(Cell::into_trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
