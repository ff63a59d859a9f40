//! The adapter of the core's guide, held to what the guide says: it faces the conformance kit like any other.

use dlbridge_conformance::{assert_conforms, importer};
use dlbridge_core::{DataType, ReadOnly};

use program::grid::Grid;

#[path = "../../core/examples/grid.rs"]
#[expect(dead_code, reason = "the program itself runs as the guide's documentation")]
mod program;

const HELD: [DataType; 3] = [DataType::UINT8, DataType::INT64, DataType::FLOAT32];

#[test]
fn the_guides_adapter_conforms() {
    assert_conforms(importer::<Grid, _, _>("grid", |case| {
        (!HELD.contains(&case.sample().dtype)).then(|| "no such kind".into())
    }));
}

#[test]
fn so_does_its_type_for_read_only_memory() {
    assert_conforms(importer::<ReadOnly<Grid>, _, _>("read_only_grid", |case| {
        (!HELD.contains(&case.sample().dtype)).then(|| "no such kind".into())
    }));
}
