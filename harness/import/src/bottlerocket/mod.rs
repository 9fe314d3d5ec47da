//! Checks settings of Bottlerocket, and reads what they state about the node.
//!
//! Bottlerocket rejects all of its user data for one unknown key: its API denies unknown fields, and
//! `early-boot-config` ends with the error. Each release has more keys than the one before it, so that not every key
//! that is unknown here is wrong.
//!
//! | module | content |
//! | --- | --- |
//! | `keys` | the settings, their types, and the fields of the kubelet that they set |
//! | `refusals` | a key that Bottlerocket does not have, and the line of what it rejects |
//! | `values` | values of the kubelet's settings that Bottlerocket rejects |
//! | `shapes` | the keys and types of all other settings |
//! | `traits` | what the settings state about node and cluster |
//! | `node_config` | the settings as a NodeConfig |

mod keys;
mod node_config;
mod refusals;
mod shapes;
mod traits;
mod values;

use self::keys::{KUBERNETES, SETTINGS};
use self::refusals::{OF_ECS, check_keys, invalid};
use crate::error::ImportError;

pub(crate) use node_config::{Translated, translated};
pub(crate) use refusals::is_misspelled;
pub(crate) use traits::describe;

/// Settings that do not let a host join a cluster.
const OF_HOSTS: [&str; 8] = [
    "aws", "dns", OF_ECS, "kernel", "metrics", "motd", "ntp", "updates",
];
/// What a node needs; EKS adds them in a managed node group.
const REQUIRED: &[&str] = &["api-server", "cluster-certificate", "cluster-name"];

/// Checks the keys, and returns problems: those that this program does not know, which newer releases may have.
/// `is_managed`: EKS adds what is missing.
///
/// # Errors
/// A misspelled key, or a value that Bottlerocket rejects.
pub(crate) fn check(text: &str, table: &toml::Table, is_managed: bool) -> Result<Vec<String>, ImportError> {
    let mut problems = Vec::new();
    let Some(settings) = table.get("settings").and_then(toml::Value::as_table) else {
        return Ok(vec![
            "there is no table `settings`: Bottlerocket rejects the user data".to_owned(),
        ]);
    };
    check_keys(text, "settings", settings, SETTINGS, &mut problems)?;
    for (key, shape) in shapes::TABLES {
        if let Some(value) = settings.get(*key) {
            shapes::check(text, &format!("settings.{key}"), value, *shape, &mut problems)?;
        }
    }
    let empty = toml::Table::new();
    let kubernetes = settings
        .get("kubernetes")
        .and_then(toml::Value::as_table)
        .unwrap_or(&empty);
    let known: Vec<&str> = KUBERNETES.iter().map(|key| key.name).collect();
    check_keys(text, "settings.kubernetes", kubernetes, &known, &mut problems)?;
    types(text, kubernetes)?;
    values::check(text, kubernetes)?;
    if !is_managed {
        complete(text, kubernetes)?;
    }
    Ok(problems)
}

/// A node without its cluster does not join. Settings with none of the keys are those of a managed node group, to which
/// EKS adds them.
fn complete(text: &str, kubernetes: &toml::Table) -> Result<(), ImportError> {
    let missing: Vec<&str> = missing(kubernetes);
    if missing.is_empty() || missing.len() == REQUIRED.len() {
        return Ok(());
    }
    let line = text
        .lines()
        .position(|line| line.trim_start().starts_with("[settings.kubernetes]"));
    Err(ImportError::Invalid {
        line: line.map(|index| index + 1),
        column: None,
        problem: format!("`settings.kubernetes` has no {}", missing.join(", ")),
        hint: "set api-server, cluster-certificate and cluster-name; EKS adds missing ones only in a managed node group without an AMI"
            .to_owned(),
    })
}

fn missing(kubernetes: &toml::Table) -> Vec<&'static str> {
    let is_missing = |key: &&str| !kubernetes.contains_key(*key);
    REQUIRED.iter().copied().filter(is_missing).collect()
}

/// Whether the settings name no cluster at all.
pub(crate) fn lacks_cluster(table: &toml::Table) -> bool {
    let kubernetes = table
        .get("settings")
        .and_then(|settings| settings.get("kubernetes")?.as_table());
    kubernetes.is_none_or(|kubernetes| missing(kubernetes).len() == REQUIRED.len())
}

/// Whether the settings are those of a host that is not a node: they have nothing of Kubernetes, and no container that
/// could add it.
pub(crate) fn is_of_another_host(table: &toml::Table) -> bool {
    let settings = table.get("settings").and_then(toml::Value::as_table);
    let is_of_host = |(key, value): (&String, &toml::Value)| match key.as_str() {
        "host-containers" => value.as_table().is_some_and(|containers| {
            let mut names = containers.keys();
            names.all(|name| ["admin", "control"].contains(&name.as_str()))
        }),
        key => OF_HOSTS.contains(&key),
    };
    settings.is_some_and(|settings| !settings.is_empty() && settings.iter().all(is_of_host))
}

fn types(text: &str, kubernetes: &toml::Table) -> Result<(), ImportError> {
    for (name, value) in kubernetes {
        let key = KUBERNETES.iter().find(|key| key.name == name);
        if let Some(key) = key.filter(|key| !key.kind.admits(value)) {
            let expected = key.kind.words();
            let problem = format!("invalid `settings.kubernetes.{name}`: expected {expected}");
            return Err(invalid(text, name, problem));
        }
    }
    Ok(())
}
