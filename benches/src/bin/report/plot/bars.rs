//! A table as dots on a logarithmic axis, with the middle half of the samples as a line through each.

use dlbridge_benches::record::{Quartiles, Row, Table};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

use super::canvas::{Axis, BAND, GREY, INK, Plotted, RULE, colour, draw};
use crate::{names, text};

const WIDTH: i32 = 900;
const LEFT: i32 = 250;
/// Room for the labels of the dots.
const RIGHT: i32 = 220;
const HEAD: i32 = 64;
const LINE: i32 = 18;
const GAP: i32 = 12;

pub(super) fn plot(table: &Table) -> Plotted {
    let cases = names::cases(table);
    let height = HEAD + cases.len() as i32 * GAP + table.rows.len() as i32 * LINE + 16;
    let is_relative = table.reference.as_deref().is_some_and(|reference| reference != "floor");
    let value = |row: &Row| if is_relative { row.ratio.unwrap_or(row.nanos) } else { row.nanos };
    let values = table.rows.iter().map(value).flat_map(|it: Quartiles| [it.lower, it.upper]);
    let values: Vec<f64> = values.chain(is_relative.then_some(1.)).collect();
    let axis = Axis::over(values, (LEFT, WIDTH - RIGHT));
    let label = |value: f64| if is_relative { text::factor(value) } else { text::time(value) };

    let svg = draw(WIDTH, height, |canvas| {
        let unit = match &table.reference {
            Some(reference) if is_relative => format!("× {reference}"),
            _ => "time".to_owned(),
        };
        canvas.text(&table.title, (16, 22), 17, INK, HPos::Left);
        canvas.text(&format!("{unit}, less is better"), (WIDTH - 16, 22), 13, GREY, HPos::Right);
        for tick in axis.ticks() {
            let x = axis.at(tick);
            canvas.line(&[(x, HEAD - 6), (x, height - 10)], &RULE, 1);
            canvas.text(&short(&label(tick)), (x, HEAD - 16), 12, GREY, HPos::Center);
        }
        let mut y = HEAD;
        for (index, case) in cases.iter().enumerate() {
            let rows: Vec<&Row> = table.rows.iter().filter(|row| row.case == *case).collect();
            let bottom = y + GAP + rows.len() as i32 * LINE;
            if index % 2 == 0 {
                canvas.fill((8, y), (LEFT, bottom), &BAND);
            }
            canvas.text(case, (LEFT - 12, (y + bottom) / 2), 13, INK, HPos::Right);
            let mut line = y + GAP / 2 + LINE / 2;
            for row in rows {
                let order = contender_order(table, &row.contender);
                let (value, colour) = (value(row), colour(&row.contender, order));
                let [lower, median, upper] = [value.lower, value.median, value.upper].map(|value| axis.at(value));
                canvas.line(&[(LEFT, line), (median, line)], &colour.mix(0.35), 2);
                canvas.line(&[(lower, line), (upper.max(lower + 1), line)], &colour, 3);
                canvas.dot((median, line), 5, &colour);
                let name = format!("{}  {}", row.contender, label(value.median));
                canvas.text(&name, (upper.max(median) + 10, line), 12, colour, HPos::Left);
                line += LINE;
            }
            y = bottom;
        }
        if is_relative {
            let x = axis.at(1.);
            canvas.line(&[(x, HEAD - 6), (x, height - 10)], &INK, 1);
        }
    });
    Plotted { title: table.title.clone(), svg }
}

/// The position of a contender among those that are not dlbridge's.
fn contender_order(table: &Table, contender: &str) -> usize {
    let contenders = table.rows.iter().map(|row| row.contender.as_str());
    let others = names::distinct(contenders.filter(|name| !name.starts_with("dlbridge")));
    others.iter().position(|name| *name == contender).unwrap_or(0)
}

/// `100 ns`, not `100.00 ns`.
fn short(label: &str) -> String {
    label.replace(".00", "").replace(".0 ", " ").replace(".0×", "×")
}
