//! The report as an HTML page: the rendered Markdown with a style sheet.

use pulldown_cmark::{Options, Parser, html};

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>dlbridge: benches</title>
<style>
  body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #1d2430; background: #fff; }
  h1, h2, h3 { line-height: 1.2; margin-top: 2.2rem; }
  h2 { border-bottom: 1px solid #d8dde6; padding-bottom: .3rem; }
  table { border-collapse: collapse; margin: 1rem 0; font-size: .86rem; display: block; overflow-x: auto; }
  th, td { border: 1px solid #d8dde6; padding: .3rem .6rem; }
  th { background: #f3f5f9; }
  tr:nth-child(even) td { background: #fafbfd; }
  sub { color: #68728a; font-size: .76rem; vertical-align: baseline; }
  img { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
  code { background: #f3f5f9; padding: .1em .3em; border-radius: 3px; }
  pre code { display: block; padding: .8rem; }
  summary { cursor: pointer; color: #1f5fbf; }
</style>
";

/// The whole page.
pub(crate) fn html(markdown: &str) -> String {
    let mut page = HEAD.to_owned();
    html::push_html(&mut page, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    page
}
