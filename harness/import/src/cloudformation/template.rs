//! A template with the values of its parameters.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::place::StackPlace;
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::ClusterTraits;
use crate::tree::{Tree, TreeValue};

/// Functions inside functions, and conditions that use conditions.
const DEPTH: usize = 100;
/// Evaluated values of one template. Real templates stay far below; conditions that use each other many times do not.
const STEPS: usize = 200_000;

/// A template that is being evaluated.
pub(super) struct Template<'a> {
    pub(super) document: &'a Tree,
    /// Values of parameters, attributes and exports by the user.
    pub(super) set: &'a BTreeMap<String, String>,
    /// What the cluster of a template returns, if the template does not state it.
    pub(super) cluster: ClusterTraits,
    pub(super) notes: RefCell<Vec<String>>,
    /// What `${!NAME}` became: a text for a shell.
    pub(super) literals: RefCell<BTreeSet<String>>,
    /// Whether notes are taken: only stand-ins in user data matter.
    pub(super) is_noting: Cell<bool>,
    /// Values that the user data of all machines needs, by name.
    pub(super) missing: RefCell<BTreeMap<String, UnstatedValue>>,
    /// Whether the evaluation only searches for them.
    pub(super) is_collecting: Cell<bool>,
    /// Whether the evaluation only reads the name of an AMI.
    pub(super) is_naming: Cell<bool>,
    /// Whether the evaluation is inside `Fn::Base64`.
    pub(super) is_in_base64: Cell<bool>,
    /// Region and account that the file states outside of its parameters.
    pub(super) place: StackPlace,
    /// What other stacks of its folder export, by name.
    pub(super) imports: BTreeMap<String, StackExport>,
    /// Mistakes that concern all of its machines.
    pub(super) problems: RefCell<Vec<String>>,
    depth: Cell<usize>,
    steps: Cell<usize>,
}

/// A value that only CloudFormation knows.
#[derive(Debug)]
pub(super) struct UnstatedValue {
    /// Such as `parameter`, behind which its name follows; empty for the attribute of a resource.
    pub(super) kind: &'static str,
    /// The first line that needs it.
    pub(super) line: Option<usize>,
}

/// The value of an output that a stack exports.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StackExport {
    /// Without lines: they are those of another file.
    pub(super) value: Tree,
    /// Say which parts of it stand for values that only AWS knows.
    pub(super) notes: Vec<String>,
}

impl<'a> Template<'a> {
    pub(super) fn of(input: &Import<'a>, document: &'a Tree) -> Self {
        Self::at_place(input, document, StackPlace::default())
    }

    /// The template at a place that its folder states, with the rest of the place from its texts.
    pub(super) fn at_place(input: &Import<'a>, document: &'a Tree, stated: StackPlace) -> Self {
        let place = StackPlace {
            region: stated.region.or_else(|| StackPlace::of_texts(document).region),
            account: stated.account,
        };
        let region = input.set.get("AWS::Region").or(place.region.as_ref());
        let stand_in = ClusterTraits::stand_in_at(region.and_then(|region| region.parse().ok()));
        Self {
            document,
            set: input.set,
            cluster: input.cluster.clone().or(&stand_in),
            notes: RefCell::default(),
            literals: RefCell::default(),
            is_noting: Cell::new(false),
            missing: RefCell::default(),
            is_collecting: Cell::new(false),
            is_naming: Cell::new(false),
            is_in_base64: Cell::new(false),
            place,
            imports: BTreeMap::new(),
            problems: RefCell::default(),
            depth: Cell::new(0),
            steps: Cell::new(0),
        }
    }

    pub(super) fn resources(&self) -> &'a [(String, Tree)] {
        self.document
            .get("Resources")
            .map(Tree::entries)
            .unwrap_or_default()
    }

    pub(super) fn resource(&self, name: &str) -> Option<&'a Tree> {
        self.document.at(&["Resources", name])
    }

    /// Runs one level of the evaluation.
    ///
    /// # Errors
    /// Values that contain themselves, or far too many of them.
    pub(super) fn nested<T>(
        &self,
        tree: &Tree,
        evaluate: impl FnOnce() -> Result<T, ImportError>,
    ) -> Result<T, ImportError> {
        self.steps.set(self.steps.get() + 1);
        if self.depth.get() >= DEPTH || self.steps.get() > STEPS {
            return Err(invalid(
                tree,
                "the functions are nested too deep, or refer to themselves".to_owned(),
                "remove the circle; CloudFormation rejects it, too",
            ));
        }
        self.depth.set(self.depth.get() + 1);
        let result = evaluate();
        self.depth.set(self.depth.get() - 1);
        result
    }

    pub(super) fn note(&self, note: String) {
        let mut notes = self.notes.borrow_mut();
        if self.is_noting.get() && !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// Whether a document is a template.
pub(crate) fn is_template(document: &Tree) -> bool {
    let resources = document.get("Resources").map(Tree::entries).unwrap_or_default();
    let is_of_aws = |resource: &Tree| {
        resource
            .text_at(&["Type"])
            .is_some_and(|kind| kind.starts_with("AWS::") || kind.starts_with("Custom::"))
    };
    let has_loop = resources.iter().any(|(id, _)| id.starts_with("Fn::ForEach"));
    document.get("AWSTemplateFormatVersion").is_some()
        || has_loop
        || resources.iter().any(|(_, resource)| is_of_aws(resource))
}

/// A text at the place of a value.
pub(super) fn text(origin: &Tree, text: impl Into<String>) -> Tree {
    at(
        origin,
        TreeValue::Scalar {
            text: text.into(),
            is_plain: false,
        },
    )
}

pub(super) fn at(origin: &Tree, value: TreeValue) -> Tree {
    Tree {
        line: origin.line,
        column: origin.column,
        value,
    }
}

/// What `AWS::NoValue` leaves.
pub(super) fn nothing(origin: &Tree) -> Tree {
    at(
        origin,
        TreeValue::Scalar {
            text: "null".to_owned(),
            is_plain: true,
        },
    )
}

pub(super) fn invalid(origin: &Tree, problem: String, hint: impl Into<String>) -> ImportError {
    ImportError::Invalid {
        line: origin.line(),
        column: origin.line().map(|_| origin.column),
        problem,
        hint: hint.into(),
    }
}
