//! One scenario with each version of its files, and whether these differ.

use std::sync::Arc;

use nodejoin_core::compare::{BlessedStates, ChangedPlace, ScriptInputs, changed_places};
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::plan::{OverlayFile, Plan};

/// One scenario with each version of its files.
#[derive(Debug, Clone)]
pub struct Pair {
    pub id: ScenarioId,
    /// What a derived scenario changes in the world of another one.
    pub world: Option<String>,
    /// `None` if the version does not have the scenario.
    pub old: Option<Plan>,
    pub new: Option<Plan>,
    /// What the files of the node accept and tell apart, for other worlds.
    pub inputs: ScriptInputs,
    /// States to compare with, in place of machines of the old version.
    pub blessed: Option<Arc<BlessedStates>>,
}

impl Pair {
    /// The probe of a version. Only a world has steps: those of scenarios are left out.
    pub(super) fn probe(&self, plan: &Plan) -> Plan {
        let then = self.world.as_ref().map(|_| plan.then.clone());
        Plan {
            then: then.unwrap_or_default(),
            is_traced: true,
            ..plan.probe()
        }
    }

    /// Where the versions differ.
    #[must_use]
    pub fn changed_places(&self) -> Vec<ChangedPlace> {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => changed_places(old, new, text),
            _ => Vec::new(),
        }
    }

    /// Whether the machines of both versions can differ.
    pub(super) fn can_differ(&self) -> bool {
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            return false;
        };
        self.blessed.is_some() || !has_same_files(&self.probe(old), &self.probe(new))
    }

    /// The scenario of which this is another world.
    pub(super) fn base(&self) -> Option<ScenarioId> {
        let world = self.world.as_ref()?;
        self.id.as_str().strip_suffix(&format!("@{world}"))?.parse().ok()
    }
}

/// Whether both versions give a node the same input. Names and positions of files do not reach the node, nor does what
/// the scenario expects.
pub(super) fn has_same_files(old: &Plan, new: &Plan) -> bool {
    let without_paths = |plan: &Plan| {
        let mut plan = plan.clone();
        plan.file.clear();
        plan.name.clear();
        plan.tags.clear();
        plan.sources = Default::default();
        let overlay = std::mem::take(&mut plan.image.overlay);
        (plan, overlay.iter().map(laid).collect::<Vec<_>>())
    };
    without_paths(old) == without_paths(new)
}

/// The content that a file of an overlay puts on the node; `None` if it puts none there, or is unreadable.
fn content(file: &OverlayFile) -> Option<Vec<u8>> {
    match &file.patched {
        Some(patched) => Some(patched.content.clone().into_bytes()),
        None if file.removed => None,
        None => std::fs::read(&file.from).ok(),
    }
}

/// The content of a text file of an overlay.
fn text(file: &OverlayFile) -> Option<String> {
    String::from_utf8(content(file)?).ok()
}

/// What a file of an overlay puts on the node; an unreadable file equals no other.
fn laid(file: &OverlayFile) -> (String, u32, bool, Option<Vec<u8>>, Option<String>) {
    let content = content(file);
    let unread = (content.is_none() && !file.removed).then(|| file.from.clone());
    (file.to.clone(), file.mode, file.removed, content, unread)
}
