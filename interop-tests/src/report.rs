//! The matrix as something to look at: what became of every square, counted, as tables, as data and as a heat map.

mod heat_map;
mod tables;

use std::collections::BTreeMap;

use dlbridge::Route;
use serde::Serialize;

pub use tables::markdown;

use crate::peer::PEERS;
use crate::trial::Cell;

/// One square, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Square {
    /// The element type, by its name.
    pub dtype: String,
    /// The layout, by its name.
    pub layout: &'static str,
    /// The framework type that it comes from.
    pub source: &'static str,
    /// The framework type that it goes to.
    pub target: &'static str,
    /// What `convert` does.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What becomes of a tensor on its way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "outcome", content = "why", rename_all = "snake_case")]
pub enum Outcome {
    /// The same memory.
    Shared,
    /// One copy, for this reason.
    Copied(String),
    /// Refused, with this error.
    Impossible(String),
}

impl From<Route> for Outcome {
    fn from(route: Route) -> Self {
        match route {
            Route::Shared => Self::Shared,
            Route::Copied(reason) => Self::Copied(reason.to_string()),
            Route::Impossible(error) => Self::Impossible(error.to_string()),
        }
    }
}

/// How many squares had which outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The same memory.
    pub shared: usize,
    /// One copy.
    pub copied: usize,
    /// Refused as promised.
    pub impossible: usize,
}

impl Counts {
    fn of<'a>(squares: impl Iterator<Item = &'a Square>) -> Self {
        squares.fold(Self::default(), |mut counts, square| {
            *match square.outcome {
                Outcome::Shared => &mut counts.shared,
                Outcome::Copied(_) => &mut counts.copied,
                Outcome::Impossible(_) => &mut counts.impossible,
            } += 1;
            counts
        })
    }

    /// All of them.
    pub fn total(self) -> usize {
        self.shared + self.copied + self.impossible
    }
}

/// All squares of a build.
pub struct Report {
    squares: Vec<Square>,
    sources: Vec<&'static str>,
    targets: Vec<&'static str>,
}

impl Report {
    /// Puts the squares into the order of `cells`, in which trials that run side by side do not end.
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

    /// What the library announces for every square of this build; the tests see that it holds.
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

/// Each once, in the order in which they come first.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut found, item| {
        if !found.contains(&item) {
            found.push(item);
        }
        found
    })
}
