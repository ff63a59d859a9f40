//! All routes of one size and layout as a grid: what is shared, what is copied, and how long it takes.

use dlbridge_benches::record::Table;
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

use super::canvas::{GREEN, GREY, INK, ORANGE, Plotted, RULE, draw};
use crate::{names, text};

const LEFT: i32 = 130;
const HEAD: i32 = 84;
const CELL: (i32, i32) = (88, 44);

pub(super) fn plot(table: &Table) -> Plotted {
    let pairs: Vec<(&str, &str)> = names::cases(table).iter().filter_map(|case| case.split_once(" → ")).collect();
    let (mut sources, mut targets): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
    sources.dedup();
    targets.sort_by_key(|target| ORDER.iter().position(|name| name == target));
    targets.dedup();
    let (width, height) = (LEFT + targets.len() as i32 * CELL.0 + 16, HEAD + sources.len() as i32 * CELL.1 + 44);

    let svg = draw(width, height, |canvas| {
        canvas.text(&format!("Routes: {}", table.title), (16, 22), 17, INK, HPos::Left);
        canvas.text("from ↓   to →", (16, HEAD - 18), 12, GREY, HPos::Left);
        for (column, target) in targets.iter().enumerate() {
            let x = LEFT + column as i32 * CELL.0 + CELL.0 / 2;
            canvas.text(target, (x, HEAD - 18), 12, INK, HPos::Center);
        }
        for (line, source) in sources.iter().enumerate() {
            let y = HEAD + line as i32 * CELL.1;
            canvas.text(source, (LEFT - 10, y + CELL.1 / 2), 13, INK, HPos::Right);
            for (column, target) in targets.iter().enumerate() {
                let x = LEFT + column as i32 * CELL.0;
                let case = format!("{source} → {target}");
                let row = |contender: &str| {
                    table
                        .rows
                        .iter()
                        .find(|row| row.case == case && row.contender == contender)
                        .map(|row| row.nanos.median)
                };
                let (nanos, colour) = match (row("share"), row("convert")) {
                    (Some(share), _) => (Some(share), GREEN),
                    (None, Some(copy)) => (Some(copy), ORANGE),
                    (None, None) => (None, RULE),
                };
                canvas.fill((x + 2, y + 2), (x + CELL.0 - 2, y + CELL.1 - 2), &colour.mix(0.16));
                let (middle, centre) = (x + CELL.0 / 2, y + CELL.1 / 2);
                let Some(nanos) = nanos else { continue };
                canvas.text(&text::time(nanos), (middle, centre - 8), 14, colour, HPos::Center);
                if let Some(today) = row("today") {
                    canvas.text(&format!("today {}", text::time(today)), (middle, centre + 10), 11, GREY, HPos::Center);
                }
            }
        }
        let y = height - 22;
        for (x, colour, name) in
            [(LEFT, GREEN, "shared: the same memory"), (LEFT + 230, ORANGE, "one copy, by convert")]
        {
            canvas.fill((x, y - 7), (x + 14, y + 7), &colour.mix(0.35));
            canvas.text(name, (x + 22, y), 12, INK, HPos::Left);
        }
    });
    Plotted { title: format!("{}, every pair", table.title), svg }
}

/// The order of the columns, which is that of the table in the README.
const ORDER: &[&str] =
    &["Vec", "Array", "ArcArray", "Owned", "ArrayView", "candle", "tch", "ReadOnly<tch>", "burn", "arrow"];
