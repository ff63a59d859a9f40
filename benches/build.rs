//! Compiles calls of libtorch's own exchange functions, which the bench `libtorch` measures against, and records the
//! version of the Rust compiler.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=libtorch.cpp");
    let lib = PathBuf::from(env::var_os("DEP_TCH_LIBTORCH_LIB").expect("torch-sys says where libtorch is"));
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(lib.join("../include"))
        .warnings(false)
        .opt_level(2)
        .file("libtorch.cpp")
        .compile("dlbridge_bench_libtorch");
    let rustc = Command::new(env::var_os("RUSTC").expect("cargo says")).arg("--version").output().expect("it runs");
    println!("cargo:rustc-env=DLBRIDGE_RUSTC={}", String::from_utf8_lossy(&rustc.stdout).trim());
}
