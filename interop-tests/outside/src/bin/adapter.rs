//! An adapter of one's own: that of the guide, written against the facade.

extern crate dlbridge as dlbridge_core;

#[path = "../../../../core/examples/grid.rs"]
mod grid;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    Ok(grid::main()?)
}
