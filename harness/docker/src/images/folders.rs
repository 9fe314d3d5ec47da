//! The folders of recipes below fixtures/images.

use nodejoin_core::plan::ImagePlan;

use crate::images::recipe::Recipe;
use crate::images::{control_plane, external, programs};

/// The folders of all recipes.
pub(crate) fn all() -> Vec<String> {
    let nodes = Recipe::nodes().into_iter().map(|name| format!("nodes/{name}"));
    [programs::FOLDER, external::TOOLBOX]
        .into_iter()
        .chain(control_plane::recipes())
        .map(str::to_owned)
        .chain(nodes)
        .collect()
}

/// The folders of the recipes that every run needs.
pub(crate) fn of_every_run() -> impl Iterator<Item = String> {
    all().into_iter().filter(|folder| {
        ![programs::FOLDER, external::TOOLBOX].contains(&folder.as_str())
            && !control_plane::is_on_demand(folder)
            && !is_on_demand_node(folder)
    })
}

/// Whether a recipe folder is that of a node image that only scenarios which name it need.
fn is_on_demand_node(folder: &str) -> bool {
    folder
        .strip_prefix("nodes/")
        .is_some_and(|name| name != ImagePlan::DEFAULT)
}
