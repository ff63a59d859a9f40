//! Compiles the C++ shim against the libtorch that torch-sys was built with.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=shim/shim.cpp");
    for variable in ["LIBTORCH_INCLUDE", "LIBTORCH_CXX11_ABI"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    // torch-sys tells the folder that it links from. The headers are in a folder beside that one, whether libtorch was
    // unpacked from an archive or installed as a Python package or system-wide.
    let Some(lib) = env::var_os("DEP_TCH_LIBTORCH_LIB").map(PathBuf::from) else {
        return; // torch-sys is built with its feature `doc-only`. Documentation needs no libtorch and no shim.
    };
    let root = env::var_os("LIBTORCH_INCLUDE").map(PathBuf::from);
    let root = root.unwrap_or_else(|| lib.parent().unwrap_or(Path::new("/")).to_path_buf());
    let include = root.join("include");
    let header = include.join("ATen/core/Tensor.h");
    assert!(
        header.exists(),
        "libtorch's C++ headers are missing: no {}; set LIBTORCH to a complete libtorch, or LIBTORCH_INCLUDE to the \
         folder that holds `include`",
        header.display()
    );
    let cxx11_abi = env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".to_owned());
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(include)
        .define("_GLIBCXX_USE_CXX11_ABI", cxx11_abi.as_str())
        // libtorch itself is built with this. Without it, its headers check so much that they are no longer inlined.
        .define("NDEBUG", None)
        .warnings(false)
        .opt_level(2)
        .file("shim/shim.cpp")
        .compile("dlbridge_tch_shim");
}
