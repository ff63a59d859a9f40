//! The structure of the source: the core's rooms are used by those above them only, no files import each other in
//! circles, what the documents name is there, and proofs name what they rest on, which is listed with its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// Below `crate`; empty for the root.
type ModulePath = Vec<String>;

/// One module in a file of its own.
#[derive(Default)]
struct Module {
    file: PathBuf,
    children: Vec<String>,
    /// What others reach through this module: the name, and the path that it stands for.
    exports: BTreeMap<String, Vec<String>>,
    /// Macros that are at the root of the crate, wherever they are defined.
    macros: Vec<String>,
    /// The paths that the module's own code names.
    names: Vec<Vec<String>>,
}

struct Source(BTreeMap<ModulePath, Module>);

impl Source {
    fn of(root: &Path) -> Self {
        let mut source = Self(BTreeMap::new());
        source.read(root.to_owned(), Vec::new());
        let defined = |(path, module): (&ModulePath, &Module)| {
            let place: Vec<String> = ["crate".to_owned()].into_iter().chain(path.iter().cloned()).collect();
            module.macros.iter().map(move |name| (name.clone(), place.clone())).collect::<Vec<_>>()
        };
        let macros: Vec<_> = source.0.iter().flat_map(defined).collect();
        source.0.get_mut(&Vec::new()).expect("the root").exports.extend(macros);
        source
    }

    fn read(&mut self, file: PathBuf, path: ModulePath) {
        let text = fs::read_to_string(&file).expect("a source file");
        let parsed = syn::parse_file(&text).expect("it compiles");
        let mut module = Module { file: file.clone(), ..Module::default() };
        module.visit_file(&parsed);
        let stem = file.file_stem().expect("a file").to_owned();
        let folder = file.parent().expect("a folder");
        let folder = match stem.to_str() {
            Some("lib" | "main" | "mod") => folder.to_owned(),
            _ => folder.join(stem),
        };
        for name in &module.children {
            let places = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
            let place = places.into_iter().find(|place| place.is_file()).expect("a module's file");
            self.read(place, path.iter().chain([name]).cloned().collect());
        }
        self.0.insert(path, module);
    }

    /// The module that a path in the code of `module` leads to, through re-exports. `None` for what is not of this
    /// crate.
    fn resolve(&self, module: &ModulePath, name: &[String]) -> Option<&ModulePath> {
        let (first, rest) = name.split_first()?;
        let (mut at, rest) = match first.as_str() {
            "crate" => (Vec::new(), rest),
            "self" => (module.clone(), rest),
            "super" => (module[..module.len().checked_sub(1)?].to_vec(), rest),
            child if self.0[module].children.iter().any(|known| known == child) => (module.clone(), name),
            _ => return None,
        };
        for (depth, segment) in rest.iter().enumerate() {
            if segment == "super" {
                at.pop()?;
            } else if self.0[&at].children.contains(segment) {
                at.push(segment.clone());
            } else if let Some(export) = self.0[&at].exports.get(segment) {
                let whole: Vec<String> = export.iter().chain(&rest[depth + 1..]).cloned().collect();
                let (door, _) = self.0.get_key_value(&at)?;
                return self.resolve(&at, &whole).or(Some(door));
            } else {
                break;
            }
        }
        self.0.get_key_value(&at).map(|(path, _)| path)
    }

    /// Which modules use which.
    fn uses(&self) -> BTreeMap<&ModulePath, BTreeSet<&ModulePath>> {
        let used = |path, module: &Module| {
            let found = module.names.iter().filter_map(|name| self.resolve(path, name));
            found.filter(|used| *used != path).collect::<BTreeSet<_>>()
        };
        self.0.iter().map(|(path, module)| (path, used(path, module))).collect()
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("test"))
    })
}

impl Visit<'_> for Module {
    fn visit_item(&mut self, item: &Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if is_test(attributes) {
            return;
        }
        if let Item::Macro(item) = item {
            let is_exported = item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
            self.macros.extend(item.ident.iter().filter(|_| is_exported).map(ToString::to_string));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &ItemMod) {
        match item.content {
            // A module within the file: what it names counts as named by the file.
            Some(_) => visit::visit_item_mod(self, item),
            None => self.children.push(item.ident.to_string()),
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        for (name, path) in paths {
            match item.vis {
                Visibility::Inherited => self.names.push(path),
                _ => _ = self.exports.insert(name, path),
            }
        }
    }

    /// `pub(crate)` names no module that is used.
    fn visit_visibility(&mut self, _: &Visibility) {}

    fn visit_path(&mut self, path: &syn::Path) {
        self.names.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

/// The paths of a `use`, each with the name that it is used by.
fn flatten(tree: &UseTree, before: &mut Vec<String>, paths: &mut Vec<(String, Vec<String>)>) {
    let mut end = |name: String, last: String| {
        let path = before.iter().cloned().chain([last].into_iter().filter(|last| last != "self")).collect();
        paths.push((name, path));
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, paths);
            before.pop();
        }
        UseTree::Name(name) => end(name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(name) => end(name.rename.to_string(), name.ident.to_string()),
        UseTree::Glob(_) => end("*".to_owned(), "self".to_owned()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, paths)),
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// All files below `folder`, but for those in folders of one of the names in `passed_over`.
fn files(folder: &Path, passed_over: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !entry.is_dir() {
            found.push(entry);
        } else if !passed_over.contains(&name) && !name.starts_with('.') {
            found.extend(files(&entry, passed_over));
        }
    }
    found
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

/// All source files but those of tests.
fn sources() -> Vec<PathBuf> {
    files(workspace(), &["target", "tests"]).into_iter().filter(|file| is_rust(file)).collect()
}

/// The roots of all crates, libraries and programs, but for tests.
fn roots() -> Vec<PathBuf> {
    sources().into_iter().filter(|file| file.ends_with("lib.rs") || file.ends_with("main.rs")).collect()
}

#[test]
fn no_files_import_each_other_in_circles() {
    /// Goes wherever `at` leads, and says the circle that it meets.
    fn walk<'a>(
        at: &'a ModulePath,
        uses: &BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>,
        way: &mut Vec<&'a ModulePath>,
        done: &mut BTreeSet<&'a ModulePath>,
    ) -> Option<String> {
        if let Some(start) = way.iter().position(|before| *before == at) {
            let circle: Vec<String> = way[start..].iter().map(|path| path.join("::")).collect();
            return Some(circle.join(" → "));
        }
        if !done.insert(at) {
            return None;
        }
        way.push(at);
        let circle = uses[at].iter().find_map(|next| walk(next, uses, way, done));
        way.pop();
        circle
    }
    let roots = roots();
    assert!(roots.len() > 12, "the search found only {roots:?}");
    let circles = roots.iter().filter_map(|root| {
        let source = Source::of(root);
        let uses = source.uses();
        let mut done = BTreeSet::new();
        let circle = uses.keys().find_map(|path| walk(path, &uses, &mut Vec::new(), &mut done))?;
        Some(format!("{}: {circle}", root.display()))
    });
    assert_eq!(circles.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_room_of_the_core_uses_those_below_it_only() {
    let source = Source::of(&workspace().join("core/src/lib.rs"));
    let rooms = &source.0[&Vec::new()].children;
    assert_eq!(*rooms, ["sys", "types", "error", "layout", "copy", "tensor", "adopting", "bridge", "guide"]);
    let floor = |path: &ModulePath| rooms.iter().position(|room| Some(room) == path.first());
    let mut arrows = 0;
    for (path, uses) in source.uses() {
        let Some(own) = floor(path) else { continue }; // The root re-exports all of them.
        for used in uses {
            let file = source.0[path].file.display();
            let theirs = floor(used).unwrap_or_else(|| panic!("{file} uses the root: name the room"));
            assert!(theirs <= own, "{file} uses {}, which is above it", used.join("::"));
            arrows += usize::from(theirs < own);
        }
    }
    assert!(arrows > 40, "{arrows} arrows between rooms: the search has lost some");
}

#[test]
fn what_the_documents_name_is_there() {
    for document in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(workspace().join(document)).expect("a document");
        let linked = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let quoted = text.split('`').skip(1).step_by(2).filter(|code| {
            code.contains("/")
                && (code.ends_with(".rs") || code.ends_with(".md") || code.ends_with(".sh") || code.ends_with("/"))
        });
        let mut named = 0;
        for name in linked.chain(quoted).filter(|name| !name.contains(':') && !name.contains(' ') && !name.is_empty()) {
            assert!(workspace().join(name).exists(), "{document} names {name}");
            named += 1;
        }
        assert!(named > 0, "{document} names no file");
    }
}

/// The comment on a line, if there is one.
fn comment(line: &str) -> Option<&str> {
    Some(line.split_once("//")?.1.trim_start_matches(['/', '!']).trim_start())
}

/// Where the comments of a source file cite an invariant or a promise by its number in a list.
fn numbered_citations(source: &str) -> Vec<String> {
    fn is_number(word: &str) -> bool {
        word.parse::<u8>().is_ok_and(|number| (1..10).contains(&number))
    }
    fn without_number(comment: &str) -> &str {
        match comment.split_once(". ") {
            Some((number, item)) if is_number(number) => item, // The number of an item itself is no citation.
            _ => comment,
        }
    }
    let lists = ["invariant", "invariants", "promise", "promises", "clause", "clauses", "axiom", "axioms"];
    let cites = |pair: &&[&str]| {
        let word = pair[1].trim_end_matches(['.', ',', ':', ';']);
        let is_in_brackets = word.strip_prefix('(').and_then(|word| word.strip_suffix(')')).is_some_and(is_number);
        is_in_brackets || is_number(word) && lists.contains(&pair[0].to_lowercase().as_str())
    };
    // A comment may break between any two words.
    let comments = source.lines().filter_map(comment).map(without_number);
    let words: Vec<&str> = comments.flat_map(str::split_whitespace).collect();
    words.windows(2).filter(cites).map(|pair| pair.join(" ")).collect()
}

#[test]
fn no_proof_cites_a_number() {
    let proofs =
        "// SAFETY: (1), and invariants\n// (2) and 3; promise 4 of `new`.\nf(1); // Clause 5\n/// 6. *name*: it";
    assert_eq!(numbered_citations(proofs), ["SAFETY: (1),", "invariants (2)", "promise 4", "Clause 5"]);
    let sources = sources();
    assert!(sources.len() > 100, "the search found only {sources:?}");
    for file in sources {
        let text = fs::read_to_string(&file).expect("a source file");
        assert_eq!(numbered_citations(&text), [""; 0], "{}", file.display());
    }
}

/// What the formatter leaves as it is.
#[test]
fn comments_end_at_column_120() {
    for file in sources() {
        let text = fs::read_to_string(&file).expect("a source file");
        let is_long =
            |line: &&str| line.chars().count() > 120 && line.trim_start().starts_with("//") && !line.contains("| ");
        assert_eq!(text.lines().find(is_long), None, "{}", file.display());
    }
}

/// One row of an adapter's table "What the proofs rest on".
struct Axiom {
    name: String,
    /// What the column of the tests has in quotes: tests, and files with tests or assertions.
    tests: Vec<String>,
}

/// The axioms in the documentation of an adapter.
fn axioms(source: &str) -> Vec<Axiom> {
    let (_, section) = source.split_once("//! # What the proofs rest on\n").expect("a list of axioms");
    let lines = section.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let rows = lines.take_while(|line| !line.starts_with("# ")).filter(|line| line.starts_with("| *"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let [name, _, _, tests] = cells[..] else { panic!("no axiom, claim, place and tests: {row}") };
        let quoted = tests.split('`').skip(1).step_by(2).map(str::to_owned);
        Axiom { name: name.trim_matches('*').to_owned(), tests: quoted.collect() }
    })
    .collect()
}

/// The names of the axioms that comments cite: "axiom *name*", "axioms *one*, *two* and *three*".
fn cited_axioms(source: &str) -> BTreeSet<String> {
    let comments = source.lines().filter_map(comment).filter(|comment| !comment.starts_with('|'));
    // A comment may break between any two words.
    let words: Vec<&str> = comments.flat_map(str::split_whitespace).collect();
    let text = words.join(" ").to_lowercase();
    let mut cited = BTreeSet::new();
    for rest in text.split("axiom").skip(1) {
        let mut rest = rest.strip_prefix('s').unwrap_or(rest);
        while let Some((name, after)) = rest.strip_prefix(" *").and_then(|rest| rest.split_once('*')) {
            cited.insert(name.to_owned());
            rest = after.strip_prefix(" and").or(after.strip_prefix(',')).unwrap_or("");
        }
    }
    cited
}

/// The names of all tests in the workspace, in Rust and in Python.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let is_python = |file: &Path| file.extension().is_some_and(|extension| extension == "py");
    for file in files(workspace(), &["target"]).into_iter().filter(|file| is_rust(file) || is_python(file)) {
        let text = fs::read_to_string(&file).expect("a source file");
        let is_other_attribute = |line: &&str| line.starts_with("#[") && *line != "#[test]";
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !is_other_attribute(line)).collect();
        let rust = lines.windows(2).filter(|pair| pair[0] == "#[test]").filter_map(|pair| pair[1].strip_prefix("fn "));
        let python = lines.iter().filter_map(|line| line.strip_prefix("def ")).filter(|name| name.starts_with("test_"));
        found.extend(rust.chain(python).filter_map(|rest| rest.split('(').next()).map(str::to_owned));
    }
    found
}

#[test]
fn every_axiom_is_listed_with_tests_and_used() {
    let example = "// SAFETY: axioms *a*, *b c* and\n// *d*; axiom\n/// *e* (not *f*)\n//! | axiom *g* |\nx * y * z";
    assert_eq!(cited_axioms(example).into_iter().collect::<Vec<_>>(), ["a", "b c", "d", "e"]);
    let tests = tests();
    assert!(tests.len() > 300, "the search found only {tests:?}");
    let adapters = fs::read_dir(workspace().join("adapters")).expect("a folder");
    let adapters = adapters.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    for adapter in adapters {
        let at = adapter.display();
        let sources = files(&adapter.join("src"), &[]);
        let text: String = sources.iter().map(|file| fs::read_to_string(file).expect("a source file")).collect();
        let axioms = axioms(&text);
        for Axiom { name, tests: named } in &axioms {
            for test in named {
                let is_there = match test.contains('.') {
                    true => files(&adapter, &["target"]).iter().any(|file| file.ends_with(test)),
                    false => tests.contains(test),
                };
                assert!(is_there, "{at}: axiom *{name}* names {test}, which is no test");
            }
        }
        let listed: BTreeSet<String> = axioms.into_iter().map(|axiom| axiom.name).collect();
        assert_eq!(cited_axioms(&text), listed, "{at} cites axioms that it does not list, or lists some for nothing");
    }
}
