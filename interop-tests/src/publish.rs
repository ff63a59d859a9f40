//! Pages that say what the tests have seen: written when asked to, and otherwise compared, so that they cannot be stale.

use std::error::Error;
use std::fs;
use std::path::Path;

/// Which part of a page is what the tests have seen.
#[derive(Clone, Copy, Debug)]
pub enum Section {
    /// All of it.
    Whole,
    /// What stands between the comments `<!-- name: begin -->` and `<!-- name: end -->`.
    Named(&'static str),
}

/// Sees that a page of the repository says `text`; with `DLBRIDGE_BLESS` set, writes it there.
///
/// # Errors
/// That the page is stale, or cannot be read or written.
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
