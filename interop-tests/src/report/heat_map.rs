//! The matrix as a picture: a tile for each pair of types, with a column for each layout and a row for each element
//! type.

use svg::Document;
use svg::node::element::path::Data;
use svg::node::element::{Group, Path, Rectangle, Style, Text, Title};

use super::{Counts, Outcome, Report, Square, distinct};

/// Width and height of one square in a tile.
const SQUARE: (usize, usize) = (6, 3);
/// The gap between tiles.
const GAP: usize = 8;
/// The margins, on the left for the names of sources, and on top for the names of targets and the legend.
const MARGIN: (usize, usize) = (130, 120);

const STYLE: &str = "text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 17px; font-weight: 600 } \
    .shared { fill: #1a9850 } .copied { fill: #fdae61 } .impossible { fill: #b2abd2 } .tile { fill: #eaeef2 } \
    .paper { fill: #ffffff }";

const LEGEND: [(&str, &str); 4] = [
    ("shared", "the same memory"),
    ("copied", "one copy"),
    ("impossible", "refused, with the reason"),
    ("tile", "no such tensor in the source"),
];

impl Report {
    /// A heat map, as SVG.
    pub fn heat_map(&self) -> String {
        let dtypes = distinct(self.squares.iter().map(|square| square.dtype.as_str()));
        let layouts = distinct(self.squares.iter().map(|square| square.layout));
        let place = |square: &Square| {
            let column = layouts.iter().position(|it| *it == square.layout).expect("one of them");
            let row = dtypes.iter().position(|it| *it == square.dtype).expect("one of them");
            (column, row)
        };
        let tile = (layouts.len() * SQUARE.0, dtypes.len() * SQUARE.1);
        let at = |column: usize, row: usize| (MARGIN.0 + column * (tile.0 + GAP), MARGIN.1 + row * (tile.1 + GAP));
        let (width, height) = at(self.targets.len(), self.sources.len());

        let mut document = Document::new()
            .set("viewBox", (0, 0, width, height))
            .set("width", width)
            .set("height", height)
            .add(Style::new(STYLE))
            .add(Rectangle::new().set("class", "paper").set("width", width).set("height", height))
            .add(Text::new("From every framework type to every other").set("class", "title").set("x", 12).set("y", 28));
        for (index, (class, text)) in LEGEND.into_iter().enumerate() {
            let x = 12 + 190 * index;
            let sample =
                Rectangle::new().set("class", class).set("x", x).set("y", 43).set("width", 14).set("height", 14);
            document = document.add(sample).add(Text::new(text).set("x", x + 20).set("y", 55));
        }
        let axes = format!(
            "In each tile: {} layouts from left to right, {} element types from top to bottom.",
            layouts.len(),
            dtypes.len()
        );
        document = document.add(Text::new(axes).set("x", 12).set("y", 78));
        for (column, target) in self.targets.iter().enumerate() {
            let x = at(column, 0).0;
            document = document.add(Text::new(*target).set("x", x).set("y", MARGIN.1 - 10));
        }
        for (row, source) in self.sources.iter().enumerate() {
            let y = at(0, row).1 + tile.1 / 2 + 4;
            let name = Text::new(*source).set("text-anchor", "end").set("x", MARGIN.0 - 10).set("y", y);
            document = document.add(name);
            for (column, target) in self.targets.iter().enumerate() {
                let squares = self.pair(source, target);
                let Counts { shared, copied, impossible } = Counts::of(squares.clone());
                let title = format!("{source} → {target}: {shared} shared, {copied} one copy, {impossible} impossible");
                let corner = at(column, row);
                let paper = Rectangle::new().set("class", "tile").set("width", tile.0).set("height", tile.1);
                let group = Group::new()
                    .set("transform", format!("translate({} {})", corner.0, corner.1))
                    .add(Title::new(title))
                    .add(paper);
                document = document.add(paths(squares, place).into_iter().fold(group, Group::add));
            }
        }
        format!("{document}\n")
    }
}

fn class_of(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Shared => "shared",
        Outcome::Copied(_) => "copied",
        Outcome::Impossible(_) => "impossible",
    }
}

/// One path for each outcome: the squares of a row that stand side by side are drawn as one.
fn paths<'a>(
    squares: impl Iterator<Item = &'a Square> + Clone,
    place: impl Fn(&Square) -> (usize, usize),
) -> Vec<Path> {
    LEGEND
        .into_iter()
        .filter_map(|(class, _)| {
            let mut places: Vec<(usize, usize)> =
                squares.clone().filter(|square| class_of(&square.outcome) == class).map(&place).collect();
            places.sort_by_key(|(column, row)| (*row, *column));
            let runs = places.chunk_by(|left, right| left.1 == right.1 && left.0 + 1 == right.0);
            let data = runs.fold(Data::new(), |data, run| {
                let ((column, row), width) = (run[0], run.len() * SQUARE.0);
                let corner = (column * SQUARE.0, row * SQUARE.1);
                data.move_to(corner)
                    .horizontal_line_by(width)
                    .vertical_line_by(SQUARE.1)
                    .horizontal_line_to(corner.0)
                    .close()
            });
            (!places.is_empty()).then(|| Path::new().set("class", class).set("d", data))
        })
        .collect()
}
