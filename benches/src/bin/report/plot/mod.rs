//! The plots, as SVG.

mod bars;
mod canvas;
mod grid;
mod lines;

pub(crate) use canvas::Plotted;
use dlbridge_benches::record::Table;

/// The plot of a table with few cases.
pub(crate) fn of_table(table: &Table) -> Plotted {
    bars::plot(table)
}

/// The plots of the tables of all routes: time against size, and a grid for each layout of the middle size.
pub(crate) fn of_routes(tables: &[Table]) -> Vec<Plotted> {
    let grids = tables.iter().filter(|table| table.title.starts_with("1M f32")).map(grid::plot);
    [lines::plot(tables)].into_iter().chain(grids).collect()
}
