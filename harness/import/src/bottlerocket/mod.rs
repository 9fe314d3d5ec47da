//! Checks settings of Bottlerocket, and reads what they state about the node.
//!
//! Bottlerocket rejects all of its user data for one unknown key: its API denies unknown fields, and
//! `early-boot-config` ends with the error. Each release has more keys than the one before it, so that not every key
//! that is unknown here is wrong.
//!
//! | module | content |
//! | --- | --- |
//! | `keys` | the settings, their types, and the fields of the kubelet that they set |
//! | `node_config` | the settings as a NodeConfig |
//! | `shapes` | the keys and types of all other settings |

mod keys;
mod node_config;
mod shapes;

use nodejoin_core::vocabulary::nearest::nearest;

use self::keys::{KUBERNETES, SETTINGS};
use crate::error::ImportError;
use crate::machine::{ClusterTraits, Traits};
use crate::words::taint_of_text;

pub(crate) use node_config::{Translated, translated};

/// Settings that a variant for Kubernetes does not have.
const OF_ECS: &str = "ecs";
/// Settings that do not let a host join a cluster.
const OF_HOSTS: [&str; 8] = [
    "aws", "dns", OF_ECS, "kernel", "metrics", "motd", "ntp", "updates",
];
/// What a node needs; EKS adds them in a managed node group.
const REQUIRED: &[&str] = &["api-server", "cluster-certificate", "cluster-name"];

/// Checks the keys, and returns problems: those that this program does not know, which newer releases may have.
///
/// # Errors
/// A misspelled key, or a value of the wrong type.
pub(crate) fn check(text: &str, table: &toml::Table) -> Result<Vec<String>, ImportError> {
    let mut problems = Vec::new();
    let Some(settings) = table.get("settings").and_then(toml::Value::as_table) else {
        return Ok(vec![
            "there is no table `settings`: Bottlerocket rejects the user data".to_owned(),
        ]);
    };
    keys(text, "settings", settings, SETTINGS, &mut problems)?;
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
    keys(text, "settings.kubernetes", kubernetes, &known, &mut problems)?;
    types(text, kubernetes)?;
    complete(text, kubernetes)?;
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
        hint: "set api-server, cluster-certificate and cluster-name; in a managed node group without an AMI EKS adds all three"
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

fn keys(
    text: &str,
    path: &str,
    table: &toml::Table,
    known: &[&str],
    problems: &mut Vec<String>,
) -> Result<(), ImportError> {
    for key in table.keys().filter(|key| !known.contains(&key.as_str())) {
        if path == "settings" && key == OF_ECS {
            problems.push(format!(
                "`settings.{OF_ECS}` exists in variants of Bottlerocket for ECS only: one for Kubernetes rejects all of its user data, and the \
                 node does not join"
            ));
            continue;
        }
        match nearest(key, known.iter().copied()).filter(|meant| is_misspelled(key, meant)) {
            Some(meant) => {
                let problem = format!("unknown setting `{path}.{key}`; did you mean `{meant}`?");
                return Err(invalid(text, key, problem));
            }
            None => problems.push(format!(
                "nodejoin knows no setting `{path}.{key}`: if your release of Bottlerocket has none either, it rejects all of its user data, \
                 and the node does not join"
            )),
        }
    }
    Ok(())
}

/// Newer releases know more words: only one that differs in two letters or less is certainly wrong.
pub(crate) fn is_misspelled(word: &str, meant: &str) -> bool {
    strsim::levenshtein(&word.to_lowercase(), &meant.to_lowercase()) <= 2
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

fn invalid(text: &str, key: &str, problem: String) -> ImportError {
    let is_key = |line: &str| {
        let line = line.trim_start().trim_start_matches(['[', '"']);
        let rest = line
            .strip_prefix(key)
            .or_else(|| line.rsplit('.').next()?.strip_prefix(key));
        rest.is_some_and(|rest| {
            rest.trim_start_matches('"')
                .trim_start()
                .starts_with(['=', '.', ']'])
        })
    };
    let line = text
        .lines()
        .position(is_key)
        .or_else(|| text.lines().position(|line| line.contains(key)));
    ImportError::Invalid {
        line: line.map(|index| index + 1),
        column: None,
        problem,
        hint: "Bottlerocket rejects all of its user data for one invalid setting; correct the line"
            .to_owned(),
    }
}

/// The values of the cluster that a reader of manifests wrote into the settings, as the file states none. The endpoint
/// tells them from those of a cluster with the same name.
fn stand_in(kubernetes: &toml::Value, traits: &Traits) -> Vec<String> {
    let endpoint = kubernetes.get("api-server").and_then(toml::Value::as_str);
    let here = traits.region.as_deref().and_then(|region| region.parse().ok());
    let made = [ClusterTraits::stand_in(), ClusterTraits::stand_in_at(here)];
    let mut made = made
        .into_iter()
        .filter(|made| endpoint.is_some() && made.endpoint.as_deref() == endpoint);
    made.next().map_or(Vec::new(), |made| {
        let values = [made.name, made.endpoint, made.certificate_authority, made.dns_ip];
        values.into_iter().flatten().collect()
    })
}

/// Adds what the settings state about node and cluster.
pub(crate) fn describe(table: &toml::Table, traits: &mut Traits) {
    let Some(kubernetes) = table
        .get("settings")
        .and_then(|settings| settings.get("kubernetes"))
    else {
        return;
    };
    let stand_in = stand_in(kubernetes, traits);
    let text = |key: &str| {
        let value = kubernetes.get(key)?.as_str()?.to_owned();
        Some(value).filter(|value| !stand_in.contains(value))
    };
    let cluster = &mut traits.cluster;
    cluster.name = cluster.name.take().or_else(|| text("cluster-name"));
    cluster.endpoint = cluster.endpoint.take().or_else(|| text("api-server"));
    cluster.certificate_authority = cluster
        .certificate_authority
        .take()
        .or_else(|| text("cluster-certificate"));
    cluster.dns_ip = cluster.dns_ip.take().or_else(|| text("cluster-dns-ip"));
    let pods = kubernetes.get("max-pods").and_then(toml::Value::as_integer);
    traits.max_pods = pods.and_then(|pods| pods.try_into().ok()).or(traits.max_pods);
    let labels = kubernetes.get("node-labels").and_then(toml::Value::as_table);
    for (key, value) in labels.into_iter().flatten() {
        let value = value.as_str().unwrap_or_default().to_owned();
        traits.labels.entry(key.clone()).or_insert(value);
    }
    let taints = kubernetes.get("node-taints").and_then(toml::Value::as_table);
    for (key, value) in taints.into_iter().flatten() {
        let one = std::slice::from_ref(value);
        let values = value.as_array().map_or(one, Vec::as_slice);
        let values = values.iter().filter_map(toml::Value::as_str);
        let taints = values.filter_map(|value| taint_of_text(&format!("{key}={value}")));
        let new: Vec<_> = taints.filter(|taint| !traits.taints.contains(taint)).collect();
        traits.taints.extend(new);
    }
}
