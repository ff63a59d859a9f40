//! Time against size for every shared route, for memcpy, and for the way without dlbridge.

use dlbridge_benches::record::Table;
use plotters::style::text_anchor::HPos;
use plotters::style::{Color, RGBColor};

use super::canvas::{Axis, GREEN, GREY, INK, ORANGE, Plotted, RULE, draw};
use crate::text;

const WIDTH: i32 = 900;
const HEIGHT: i32 = 460;
const SIDES: (i32, i32) = (80, 660);
const HEAD: i32 = 56;
const FOOT: i32 = 410;

const SIZES: [(&str, f64); 3] = [("1K", 1024.), ("1M", 1048576.), ("64M", 67108864.)];

/// The times of one case at all sizes.
struct Line {
    points: Vec<(f64, f64)>,
    colour: RGBColor,
    is_thick: bool,
}

pub(super) fn plot(tables: &[Table]) -> Plotted {
    let shared = lines(tables, "f32, contiguous", "share", GREEN, |_| true);
    let today = lines(tables, "f32, contiguous", "today", ORANGE, |case| case.starts_with("candle → "));
    let mut memcpy = lines(tables, "f32, contiguous", "memcpy", INK, |_| true);
    memcpy.iter_mut().for_each(|line| line.is_thick = true);
    let count = shared.len();
    let all: Vec<Line> = shared.into_iter().chain(today).chain(memcpy).collect();
    let nanos = || all.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let (across, up) = (Axis::over([1000., 1e8], SIDES), Axis::over(nanos(), (FOOT, HEAD)));

    let svg = draw(WIDTH, HEIGHT, |canvas| {
        canvas.text("Time against size: shared, copied, and as it is done today", (16, 22), 17, INK, HPos::Left);
        for tick in up.ticks() {
            let y = up.at(tick);
            canvas.line(&[(SIDES.0, y), (SIDES.1, y)], &RULE, 1);
            let label = text::time(tick).replace(".00", "").replace(".0 ", " ");
            canvas.text(&label, (SIDES.0 - 10, y), 12, GREY, HPos::Right);
        }
        for (name, size) in SIZES {
            canvas.text(name, (across.at(size), FOOT + 18), 12, GREY, HPos::Center);
        }
        canvas.text("float32 elements", ((SIDES.0 + SIDES.1) / 2, FOOT + 38), 12, GREY, HPos::Center);
        for line in &all {
            let points: Vec<(i32, i32)> =
                line.points.iter().map(|(size, nanos)| (across.at(*size), up.at(*nanos))).collect();
            let (opacity, width) = if line.is_thick { (1., 3) } else { (0.55, 1) };
            canvas.line(&points, &line.colour.mix(opacity), width);
            points.into_iter().for_each(|point| canvas.dot(point, 3, &line.colour.mix(0.7)));
        }
        let names = [
            (GREEN, format!("share: {count} routes")),
            (INK, "memcpy of as many bytes".to_owned()),
            (ORANGE, "today, from candle".to_owned()),
        ];
        for (index, (colour, name)) in names.into_iter().enumerate() {
            let y = HEAD + 20 + 24 * index as i32;
            canvas.line(&[(SIDES.1 + 24, y), (SIDES.1 + 48, y)], &colour, 3);
            canvas.text(&name, (SIDES.1 + 56, y), 13, INK, HPos::Left);
        }
    });
    Plotted { title: "Time against size".to_owned(), svg }
}

fn lines(tables: &[Table], kind: &str, contender: &str, colour: RGBColor, filter: impl Fn(&str) -> bool) -> Vec<Line> {
    let mut cases: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for table in tables.iter().filter(|table| table.title.ends_with(kind)) {
        let size =
            SIZES.iter().find(|(name, _)| table.title.split(' ').any(|word| word == *name)).map_or(0., |it| it.1);
        for row in table.rows.iter().filter(|row| row.contender == contender && filter(&row.case)) {
            let point = (size, row.nanos.median);
            match cases.iter_mut().find(|(case, _)| *case == row.case) {
                Some((_, points)) => points.push(point),
                None => cases.push((&row.case, vec![point])),
            }
        }
    }
    // Only cases that were measured at every size are drawn.
    cases.retain(|(_, points)| points.len() == SIZES.len());
    cases.into_iter().map(|(_, points)| Line { points, colour, is_thick: false }).collect()
}
