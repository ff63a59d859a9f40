//! Tables of Markdown.

/// A table of Markdown with this header and these rows.
pub fn markdown<S: AsRef<str>>(header: &[S], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(header.len()));
    let rows = rows.into_iter().map(|row| line(row.iter().map(String::as_str).collect()));
    [line(header.iter().map(S::as_ref).collect()), rule].into_iter().chain(rows).collect()
}
