//! What the stacks of a folder export to each other.

use std::collections::BTreeMap;

use super::place::StackPlace;
use super::template::{StackExport, Template};
use crate::input::Import;
use crate::tree::Tree;

/// A template of a folder.
pub(super) struct FolderStack {
    /// Its path in the folder, without the end of its name.
    pub(super) label: String,
    pub(super) document: Tree,
    pub(super) place: StackPlace,
}

/// The exports of a region and account by name: other stacks of the place import them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FolderExports(Vec<(StackPlace, BTreeMap<String, StackExport>)>);

impl FolderStack {
    /// The template with what the other stacks export.
    pub(super) fn template<'a>(&'a self, input: &Import<'a>, exports: &FolderExports) -> Template<'a> {
        let mut template = Template::at_place(input, &self.document, self.place.clone());
        template.imports = exports.at(&self.place);
        template
    }
}

impl FolderExports {
    /// Those of all stacks.
    pub(super) fn of(input: &Import<'_>, stacks: &[FolderStack]) -> Self {
        let mut exports = Self::default();
        // An export can have the value of an import.
        for _ in stacks {
            let next = Self::with(input, stacks, &exports);
            if next == exports {
                break;
            }
            exports = next;
        }
        exports
    }

    /// Those of all stacks, as far as the known ones tell.
    fn with(input: &Import<'_>, stacks: &[FolderStack], known: &Self) -> Self {
        let mut exports = Self::default();
        for stack in stacks {
            for (name, export) in stack.template(input, known).exports() {
                exports.of_place(&stack.place).entry(name).or_insert(export);
            }
        }
        exports
    }

    fn of_place(&mut self, place: &StackPlace) -> &mut BTreeMap<String, StackExport> {
        let index = self.0.iter().position(|(one, _)| one == place);
        let index = index.unwrap_or_else(|| {
            self.0.push((place.clone(), BTreeMap::new()));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }

    fn at(&self, place: &StackPlace) -> BTreeMap<String, StackExport> {
        let found = self.0.iter().find(|(one, _)| one == place);
        found.map(|(_, exports)| exports.clone()).unwrap_or_default()
    }
}

impl Template<'_> {
    /// The names and values of the outputs that the stack exports.
    fn exports(&self) -> Vec<(String, StackExport)> {
        let outputs = self.document.get("Outputs").map(Tree::entries);
        let outputs = outputs.unwrap_or_default().iter();
        outputs.filter_map(|(_, output)| self.export(output)).collect()
    }

    fn export(&self, output: &Tree) -> Option<(String, StackExport)> {
        let name = self.text_of(output.at(&["Export", "Name"])?).ok()?;
        let value = output.get("Value")?;
        let holds = output.get("Condition").map(|name| self.condition(name));
        if !matches!(holds, None | Some(Ok(true))) {
            return None;
        }
        self.is_noting.set(true);
        let value = self.evaluate(value);
        self.is_noting.set(false);
        let notes = self.notes.take();
        let value = value.ok()?.without_lines();
        Some((name, StackExport { value, notes }))
    }
}
