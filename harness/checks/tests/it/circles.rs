//! No two files of a crate use each other, directly or through others: each file stands above those that it uses.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_checks::files;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItem, Item, ItemUse, Path, UseTree, Visibility};

use crate::graph::{Graph, reaches};
use crate::ratchet::assert_at_most;

/// Files that take part in a circle, by crate.
const MAXIMUM: &[(&str, usize)] = &[];
/// Imports of an import that are followed: more lead nowhere.
const DEPTH: usize = 8;

/// A module with a file of its own, as the names that lead to it.
type Module = Vec<String>;

/// The product code of a crate.
#[derive(Default)]
struct Crate {
    sources: BTreeMap<Module, Source>,
}

/// What one file names of its crate.
#[derive(Default)]
struct Source {
    /// The file, below `src/`.
    file: String,
    /// Imported names, with their paths.
    imports: BTreeMap<String, Vec<String>>,
    /// Paths, of imports too, except those that are for others alone.
    paths: Vec<Vec<String>>,
    /// Names without a path.
    words: BTreeSet<String>,
}

impl Source {
    fn of(file: &str, text: &str) -> Self {
        let mut source = Self {
            file: file.to_owned(),
            ..Self::default()
        };
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        source.visit_file(&parsed);
        source
    }

    fn add_tree(&mut self, tree: &UseTree, mut path: Vec<String>, is_for_others: bool) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.add_tree(&part.tree, path, is_for_others);
            }
            UseTree::Name(name) => self.add_import(&name.ident, path, &name.ident, is_for_others),
            UseTree::Rename(name) => self.add_import(&name.rename, path, &name.ident, is_for_others),
            UseTree::Glob(_) => self.paths.extend((!is_for_others).then_some(path)),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, path.clone(), is_for_others);
                }
            }
        }
    }

    fn add_import(&mut self, name: &Ident, mut path: Vec<String>, last: &Ident, is_for_others: bool) {
        if last != "self" {
            path.push(last.to_string());
        }
        let name = match name == "self" {
            true => path.last().cloned().unwrap_or_default(),
            false => name.to_string(),
        };
        if !is_for_others {
            self.paths.push(path.clone());
        }
        self.imports.insert(name, path);
    }

    /// The paths that the file itself uses.
    fn used(&self) -> impl Iterator<Item = &Vec<String>> {
        let imports = self.words.iter().filter_map(|word| self.imports.get(word));
        self.paths.iter().chain(imports)
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<Path>()
                .is_ok_and(|path| path.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(function) if is_test(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_for_others = !matches!(item.vis, Visibility::Inherited);
        self.add_tree(&item.tree, Vec::new(), is_for_others);
    }

    // `pub(in crate::a)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast Path) {
        let segments = path.segments.iter();
        let words: Vec<String> = segments.map(|segment| segment.ident.to_string()).collect();
        match &words[..] {
            [word] => {
                self.words.insert(word.clone());
            }
            _ => self.paths.push(words),
        }
        visit::visit_path(self, path);
    }
}

impl Crate {
    /// A path from the root of the crate; `None` if it leads out of it.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let child: Vec<String> = module.iter().chain([first]).cloned().collect();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let (_, parent) = module.split_last()?;
                match rest.first().map(String::as_str) {
                    Some("super") => self.absolute(&parent.to_vec(), rest),
                    _ => Some([parent, rest].concat()),
                }
            }
            _ if self.sources.contains_key(&child) => Some([module, path].concat()),
            _ => None,
        }
    }

    /// The file that defines what a path from the root names.
    fn definition(&self, path: &[String], depth: usize) -> Option<&Module> {
        let lengths = (0..=path.len()).rev();
        let mut modules = lengths.filter_map(|length| self.sources.get_key_value(&path[..length]));
        let (module, source) = modules.next()?;
        let rest = &path[module.len()..];
        let import = rest.first().and_then(|name| source.imports.get(name));
        match import.and_then(|import| self.absolute(module, import)) {
            Some(import) if depth < DEPTH && import != path => {
                self.definition(&[&import, &rest[1..]].concat(), depth + 1)
            }
            _ => Some(module),
        }
    }

    fn graph(&self) -> Graph {
        let uses = |module: &Module, source: &Source| -> BTreeSet<String> {
            let paths = source.used().filter_map(|path| self.absolute(module, path));
            let modules: Vec<Module> = paths
                .filter_map(|path| self.definition(&path, 0).cloned())
                .filter(|used| used != module)
                .collect();
            modules
                .iter()
                .map(|used| self.sources[used].file.clone())
                .collect()
        };
        let files = self.sources.iter();
        files
            .map(|(module, source)| (source.file.clone(), uses(module, source)))
            .collect()
    }
}

/// The crates with what their files name.
fn crates() -> BTreeMap<String, Crate> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let Some((package, below)) = file.path.split_once("/src/") else {
            continue;
        };
        let is_test = below.split('/').any(|part| part == "tests" || part == "tests.rs");
        if is_test || below.starts_with("testing") {
            continue;
        }
        let mut module: Module = below
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        if module.last().is_some_and(|last| last == "mod") || ["lib.rs", "main.rs"].contains(&below) {
            module.pop();
        }
        let found = crates.entry(package.to_owned()).or_default();
        // A program beside the library of its crate has a root of its own.
        if below != "main.rs" || !found.sources.contains_key(&module) {
            found.sources.insert(module, Source::of(below, &file.text));
        }
    }
    crates
}

#[test]
fn files_of_a_crate_use_each_other_in_one_direction() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (package, sources) in crates() {
        let graph = sources.graph();
        for (file, uses) in &graph {
            let back: Vec<&str> = uses
                .iter()
                .map(String::as_str)
                .filter(|next| reaches(&graph, next, file))
                .collect();
            if !back.is_empty() {
                let circle = format!("{file} uses {}, which lead back to it", back.join(", "));
                found.entry(package.clone()).or_default().push(circle);
            }
        }
    }
    assert_at_most("files in a circle", &found, MAXIMUM);
}

#[test]
fn a_circle_is_found_through_imports_of_a_folder() {
    let texts = [
        ("lib.rs", "mod a;\n"),
        ("a/mod.rs", "mod b;\nmod c;\npub use b::B;\n"),
        (
            "a/b.rs",
            "pub struct B(super::c::C);\n#[cfg(test)]\nmod tests { use super::super::A; }\n",
        ),
        ("a/c.rs", "use super::B;\npub struct C(Box<B>);\n"),
    ];
    let sources = texts.map(|(file, text)| {
        let module = match file {
            "lib.rs" => Vec::new(),
            "a/mod.rs" => vec!["a".to_owned()],
            file => file
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect(),
        };
        (module, Source::of(file, text))
    });
    let graph = Crate {
        sources: BTreeMap::from(sources),
    }
    .graph();
    assert_eq!(graph["a/b.rs"], BTreeSet::from(["a/c.rs".to_owned()]));
    assert_eq!(graph["a/c.rs"], BTreeSet::from(["a/b.rs".to_owned()]));
    assert!(reaches(&graph, "a/b.rs", "a/b.rs") && !reaches(&graph, "a/mod.rs", "a/mod.rs"));
}
