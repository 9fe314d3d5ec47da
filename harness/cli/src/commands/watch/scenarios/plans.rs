//! The plans of the watched scenarios, as the command line changes them, and the problems of their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::plan::{Overlay, Plan};
use nodejoin_core::scenario;

use super::WatchedScenarios;
use crate::commands::preflight;

impl WatchedScenarios {
    /// The plans of these files, and the problems of all files by the file or the reason that has them.
    pub(crate) fn plans(
        &self,
        of: &BTreeSet<PathBuf>,
    ) -> (Vec<(PathBuf, Plan)>, BTreeMap<String, ScenarioError>) {
        let mut problems = BTreeMap::new();
        let overlay = match &self.shared.loaded {
            Ok((_, overlay)) => overlay,
            Err(error) => {
                problems.insert(String::new(), error.clone());
                return (Vec::new(), problems);
            }
        };
        let loaded: Vec<&Plan> = self
            .scenarios
            .values()
            .filter_map(|file| file.loaded.as_ref().ok())
            .flatten()
            .collect();
        for problem in scenario::duplicates(&loaded) {
            let error = problems.entry(problem.file.clone());
            error
                .or_insert_with(|| ScenarioError { problems: Vec::new() })
                .problems
                .push(problem);
        }
        let mut plans = Vec::new();
        for (path, file) in &self.scenarios {
            match &file.loaded {
                Ok(found) => {
                    for plan in found {
                        if problems.contains_key(&plan.file) {
                            continue;
                        }
                        match self.complete(plan.clone(), overlay) {
                            Ok(plan) if of.contains(path) => {
                                plans.extend(plan.map(|plan| (path.clone(), plan)));
                            }
                            Ok(_) => {}
                            Err(error) => drop(problems.insert(plan.file.clone(), error)),
                        }
                    }
                }
                Err(error) => drop(problems.insert(path.display().to_string(), error.clone())),
            }
        }
        (plans, problems)
    }

    /// The plan as the command line changes it; `None` if that does not select it.
    fn complete(&self, mut plan: Plan, overlay: &Overlay) -> Result<Option<Plan>, ScenarioError> {
        if self
            .selection
            .filter
            .as_ref()
            .is_some_and(|filter| !filter.selects(&plan))
        {
            return Ok(None);
        }
        plan.add_overlay(overlay);
        if self.selection.strict {
            plan.require_clean();
        }
        let mut plan = [plan];
        preflight::replace_image(&mut plan, self.selection.image.as_deref())?;
        preflight::images(&plan)?;
        let [plan] = plan;
        Ok(Some(plan))
    }
}
