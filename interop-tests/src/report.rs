//! Reports of the matrix: the outcomes of all squares, counted, as tables, as JSON and as a heat map.

mod heat_map;
mod markdown;
mod tables;

use std::collections::BTreeMap;

pub use crate::square::{Counts, Outcome, Square};
pub use markdown::markdown;

use crate::peer::PEERS;
use crate::trial::Cell;

/// All squares of a build.
pub struct Report {
    squares: Vec<Square>,
    sources: Vec<&'static str>,
    targets: Vec<&'static str>,
}

impl Report {
    /// Puts the squares into the order of `cells`: trials that run at the same time end in any order.
    pub fn new(squares: impl IntoIterator<Item = (Cell, Outcome)>, cells: &[Cell]) -> Self {
        let mut found: BTreeMap<String, Outcome> =
            squares.into_iter().map(|(cell, outcome)| (cell.to_string(), outcome)).collect();
        let squares: Vec<Square> =
            cells.iter().filter_map(|cell| Some(cell.square(found.remove(&cell.to_string())?))).collect();
        let among = |names: &dyn Fn(&Square) -> &'static str| {
            PEERS.iter().map(|peer| peer.name()).filter(|name| squares.iter().any(|it| names(it) == *name)).collect()
        };
        let (sources, targets) = (among(&|square| square.source), among(&|square| square.target));
        Self { squares, sources, targets }
    }

    /// What the library announces for every square of this build. The tests prove that it is true.
    pub fn announced(cells: &[Cell]) -> Self {
        Self::new(cells.iter().map(|cell| (*cell, cell.announced().into())), cells)
    }

    /// All squares, counted.
    pub fn counts(&self) -> Counts {
        Counts::of(self.squares.iter())
    }

    /// All squares, as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.squares).expect("strings only")
    }

    fn pair(&self, source: &str, target: &str) -> impl Iterator<Item = &Square> + Clone {
        self.squares.iter().filter(move |square| square.source == source && square.target == target)
    }
}

/// The distinct items, in the order in which they first appear.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut found, item| {
        if !found.contains(&item) {
            found.push(item);
        }
        found
    })
}
