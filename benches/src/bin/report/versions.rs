//! The versions of the crates that were measured, from the lock file.

use serde::Deserialize;

const LOCK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"));

const CRATES: &[&str] = &[
    "ndarray",
    "candle-core",
    "candle-nn",
    "tch",
    "burn-tensor",
    "burn-flex",
    "burn-ndarray",
    "arrow-array",
    "dlpark",
    "dlpk",
    "dlpack-rs",
    "criterion",
];

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// The compiler, and every crate with its version.
pub(crate) fn versions() -> Vec<String> {
    let lock: Lock = toml::from_str(LOCK).expect("cargo wrote the lock file");
    let version = |name: &&str| {
        let package = lock.package.iter().find(|package| package.name == *name)?;
        Some(format!("{name} {}", package.version))
    };
    [env!("DLBRIDGE_RUSTC").to_owned()].into_iter().chain(CRATES.iter().filter_map(version)).collect()
}
