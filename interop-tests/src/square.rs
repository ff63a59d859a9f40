//! The outcome of one square of the matrix, and counts of outcomes. A square is a sample, a source type and a target
//! type.

use dlbridge::Route;
use serde::Serialize;

/// One square and its outcome.
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

/// What `convert` does with a tensor.
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
    pub(crate) fn of<'a>(squares: impl Iterator<Item = &'a Square>) -> Self {
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
