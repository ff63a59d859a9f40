//! What the proofs in the adapter name is there: axioms, each with its tests, and functions that throw nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The text of all Rust files in a folder.
fn sources(folder: &str) -> String {
    let files = fs::read_dir(Path::new(ROOT).join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let rust = files.filter(|file| file.extension().is_some_and(|it| it == "rs"));
    rust.map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// What is between two marks, wherever it is.
fn between<'a>(text: &'a str, mark: &str) -> BTreeSet<&'a str> {
    text.split(mark).skip(1).step_by(2).collect()
}

#[test]
fn every_axiom_is_listed_with_tests_and_used() {
    let source = sources("adapters/tch/src");
    let (documentation, _) =
        source.split_once("# What the proofs rest on").and_then(|(_, rest)| rest.split_once("\n//!\n//! ```")).unwrap();
    let rows = documentation.lines().filter_map(|line| line.strip_prefix("//! | *"));
    let tests = sources("interop-tests/tests/torch");
    let mut listed = BTreeSet::new();
    for row in rows {
        let (name, _) = row.split_once('*').unwrap();
        listed.insert(name);
        let column = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for test in between(column, "`").into_iter().filter(|test| !test.contains('.')) {
            assert!(tests.contains(&format!("#[test]\nfn {test}()")), "axiom *{name}* names {test}, which is no test");
        }
    }
    // A comment may break between any two words.
    let words = source.replace("//!", "").replace("///", "").replace("//", "");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let comments = words.to_lowercase();
    let uses = comments.split("axiom").skip(1).filter_map(|rest| rest.trim_start_matches('s').strip_prefix(" *"));
    let used = uses.flat_map(|rest| {
        let (first, rest) = rest.split_once('*').unwrap();
        let second = rest.strip_prefix(" and *").and_then(|rest| rest.split_once('*'));
        [Some(first), second.map(|(second, _)| second)].into_iter().flatten()
    });
    assert_eq!(used.collect::<BTreeSet<_>>(), listed);
}

#[test]
fn every_function_of_the_shim_is_among_those_that_throw_nothing() {
    let rust = fs::read_to_string(Path::new(ROOT).join("adapters/tch/src/shim.rs")).unwrap();
    let shim = fs::read_to_string(Path::new(ROOT).join("adapters/tch/shim/shim.cpp")).unwrap();
    let (_, asserted) = shim.split_once("static_assert(are_noexcept(").unwrap();
    let declared = rust.lines().filter_map(|line| line.strip_prefix("    fn dlbridge_"));
    let names: Vec<_> = declared.map(|line| line.split('(').next().unwrap()).collect();
    assert!(names.len() > 5);
    for name in names {
        assert!(asserted.contains(&format!("&dlbridge_{name}")), "dlbridge_{name} may throw");
    }
}
