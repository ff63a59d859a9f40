//! Pages of the repository whose text the tests produce. The tests compare the text, so that no page can be stale, and
//! write it if they are asked to.

use std::error::Error;
use std::fs;
use std::path::Path;

/// The part of a page that the tests produce.
#[derive(Clone, Copy, Debug)]
pub enum Section {
    /// All of it.
    Whole,
    /// What stands between the comments `<!-- name: begin -->` and `<!-- name: end -->`.
    Named(&'static str),
}

/// Checks that a section of a page is `text`. If the environment variable `DLBRIDGE_BLESS` is set, writes it there.
///
/// # Errors
/// The page is stale, or cannot be read or written.
pub fn publish(page: &str, section: Section, text: &str) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let is_blessed = std::env::var_os("DLBRIDGE_BLESS").is_some();
    let old = match fs::read_to_string(&path) {
        Err(_) if is_blessed && matches!(section, Section::Whole) => String::new(),
        other => other.map_err(|error| format!("{page}: {error}"))?,
    };
    let (start, stop) = match section {
        Section::Whole => (0, old.len()),
        Section::Named(name) => {
            let missing = || format!("{page} lacks the comments of section `{name}`");
            let begin = format!("<!-- {name}: begin -->\n");
            let start = old.find(&begin).ok_or_else(missing)? + begin.len();
            (start, start + old[start..].find(&format!("<!-- {name}: end -->")).ok_or_else(missing)?)
        }
    };
    if old[start..stop] == *text {
        return Ok(());
    }
    if !is_blessed {
        return Err(format!("{page} is stale (section {section:?}): run this test again with DLBRIDGE_BLESS=1").into());
    }
    fs::write(&path, [&old[..start], text, &old[stop..]].concat())?;
    Ok(())
}
