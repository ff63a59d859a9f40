//! What the proofs in the adapter say of its shim: that its functions throw nothing.

use std::fs;
use std::path::Path;

const ADAPTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../adapters/tch");

#[test]
fn every_function_of_the_shim_is_among_those_that_throw_nothing() {
    let rust = fs::read_to_string(Path::new(ADAPTER).join("src/shim.rs")).unwrap();
    let shim = fs::read_to_string(Path::new(ADAPTER).join("shim/shim.cpp")).unwrap();
    let (_, asserted) = shim.split_once("static_assert(are_noexcept(").unwrap();
    let declared = rust.lines().filter_map(|line| line.strip_prefix("    fn dlbridge_"));
    let names: Vec<_> = declared.map(|line| line.split('(').next().unwrap()).collect();
    assert!(names.len() > 5);
    for name in names {
        assert!(asserted.contains(&format!("&dlbridge_{name}")), "dlbridge_{name} may throw");
    }
}
