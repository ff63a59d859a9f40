//! What the compiler says: a missing adapter names the feature to enable, and borrows cannot outlive what they borrow.

// The compiler's own words in the output change from version to version; with any other version the test is ignored.
#[rustversion::attr(not(stable(1.95)), ignore = "the expected output is that of rustc 1.95")]
#[test]
fn compiler_messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
