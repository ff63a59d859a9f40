//! What the compiler says: a missing adapter names the feature to enable, and borrows cannot outlive what they borrow.

// The messages around ours change with the compiler; on others the test shows as ignored.
#[rustversion::attr(not(stable(1.95)), ignore = "the expected output is that of rustc 1.95")]
#[test]
fn compiler_messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
