//! Finds the containers of runs by their labels, for commands that enter them.

use std::collections::HashMap;

use bollard::query_parameters::ListContainersOptionsBuilder;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::labels;

/// A container of a run, of this or another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledContainer {
    pub run: String,
    pub name: String,
    pub id: String,
    pub is_running: bool,
}

/// The containers of all runs with this role, in the order of their names.
///
/// # Errors
/// When the engine does not list its containers.
pub async fn containers_of_role(engine: &Engine, role: &str) -> Result<Vec<LabelledContainer>, DockerError> {
    let label = format!("{}={role}", labels::ROLE);
    let filter = HashMap::from([("label", vec![labels::RUN.to_owned(), label])]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filter)
        .build();
    let listed = engine.docker().list_containers(Some(options)).await;
    let listed = listed.map_err(DockerError::engine("list containers", "the engine"))?;
    let mut found: Vec<LabelledContainer> = listed
        .into_iter()
        .filter_map(|one| {
            let name = one.names?.first()?.trim_start_matches('/').to_owned();
            Some(LabelledContainer {
                run: one.labels?.remove(labels::RUN)?,
                name,
                id: one.id?,
                is_running: one.state.is_some_and(|state| state.to_string() == "running"),
            })
        })
        .collect();
    found.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(found)
}
