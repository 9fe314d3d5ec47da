//! What nodeadm makes of a NodeConfig.

use serde_json::Value;

use super::Finding;
use super::facts::{Evidence, Facts};
use crate::diagnosis::Cause;
use crate::input::problem::nearest;
use crate::observation::phase::Phase;
use crate::observation::phases::is_of_nodeadm;
use crate::observation::{JournalLine, Millis};
use crate::user_data;

/// nodeadm ends with an error about its configuration. What is wrong with one document of several it only warns of.
pub(super) fn node_config_invalid(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, line, error) = told(facts, FATAL).next()?;
    if !is_about_config(&error) {
        return None;
    }
    let before = told(facts, "Encountered error in config provider").last();
    let because = match before {
        Some((.., warned)) if error.contains(NO_CONFIG) => {
            format!("nodeadm cannot read the NodeConfig: {warned}")
        }
        _ => format!("nodeadm cannot use the NodeConfig: {error}"),
    };
    facts.final_(
        Cause::NodeConfigInvalid,
        because,
        &Evidence::journal(at, line),
        remedy(facts, &error),
    )
}

/// nodeadm ends with another error than those that rules before this one know.
pub(super) fn failed(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, line, error) = told(facts, FATAL).next()?;
    facts.final_(
        Cause::ScriptFailed,
        format!("nodeadm ended with an error before it started the kubelet: {error}"),
        &Evidence::journal(at, line),
        "see the lines before it in the journal of nodeadm's units".to_owned(),
    )
}

fn is_about_config(error: &str) -> bool {
    // Where the metadata service does not answer that says nothing of what stands in the user data, unless there is none.
    CONFIG.iter().any(|word| error.contains(word)) && (!error.contains("ec2imds") || error.contains("404"))
}

fn remedy(facts: &Facts<'_>, error: &str) -> String {
    if let Some((wrong, right)) = misnamed(facts) {
        return format!("write `{right}` for `{wrong}`: nodeadm passes over fields that it does not know");
    }
    if error.contains(MISSING) {
        return "give name, apiServerEndpoint, certificateAuthority and cidr under `spec.cluster`: nodeadm asks EKS for none of them"
            .to_owned();
    }
    if !has_node_config(facts) {
        return "put a NodeConfig into the user data, alone or as a part of type `application/node.eks.aws`: this AMI has no \
                bootstrap.sh, and a script of the user data comes too late to be one"
            .to_owned();
    }
    "see `nodeadm config check` in the node: YAML of kind NodeConfig, `apiVersion: node.eks.aws/v1alpha1`, with the CA in base64 as \
     DescribeCluster gives it"
        .to_owned()
}

/// Lines of nodeadm's log with this message, and the error that each has in its JSON.
fn told<'a>(
    facts: &Facts<'a>,
    message: &'static str,
) -> impl Iterator<Item = (Millis, &'a JournalLine, String)> {
    let lines = facts
        .journal()
        .filter(|(_, line)| is_of_nodeadm(line) && !line.by_systemd);
    lines.filter_map(move |(at, line)| {
        let (_, fields) = line.message.split_once(message)?;
        let fields: Value = serde_json::from_str(fields.trim()).ok()?;
        Some((at, line, fields.get("error")?.as_str()?.to_owned()))
    })
}

/// A key of the user data's NodeConfig that is none, and the one that is most like it.
fn misnamed(facts: &Facts<'_>) -> Option<(String, &'static str)> {
    node_configs(facts).iter().find_map(|config| {
        let spec = &config["spec"];
        let at = [
            (spec, SPEC),
            (&spec["cluster"], CLUSTER),
            (&spec["kubelet"], KUBELET),
        ];
        at.into_iter().find_map(|(object, known)| {
            let keys = object.as_object()?.keys();
            let mut strange = keys.filter(|key| !known.contains(&key.as_str()));
            strange.find_map(|key| Some((key.clone(), nearest(key, known.iter().copied())?)))
        })
    })
}

/// Whether the user data has what means to be a NodeConfig.
fn has_node_config(facts: &Facts<'_>) -> bool {
    texts(facts).iter().any(|text| text.contains("node.eks.aws/"))
}

/// The NodeConfigs of the user data that can be read at all.
fn node_configs(facts: &Facts<'_>) -> Vec<Value> {
    let texts = texts(facts);
    let found = texts.iter().filter(|text| text.contains("NodeConfig"));
    found.filter_map(|text| serde_yaml::from_str(text).ok()).collect()
}

/// The parts of the user data as texts.
fn texts(facts: &Facts<'_>) -> Vec<String> {
    let parts = facts
        .user_data()
        .map_or(Vec::new(), |bytes| user_data::parse(&bytes).parts);
    parts
        .iter()
        .map(|part| String::from_utf8_lossy(&part.content).into_owned())
        .collect()
}

/// The message of nodeadm's last line where it fails.
const FATAL: &str = "Command failed";
const NO_CONFIG: &str = "no config in chain";

/// Errors about the configuration; others are of AWS' services, of which other rules know more.
const CONFIG: [&str; 5] = [
    NO_CONFIG,
    MISSING,
    "cluster ID must be provided",
    "node config",
    "config provider at index",
];
const MISSING: &str = "is missing in cluster configuration";

const SPEC: &[&str] = &["cluster", "containerd", "featureGates", "instance", "kubelet"];
const CLUSTER: &[&str] = &[
    "apiServerEndpoint",
    "certificateAuthority",
    "cidr",
    "enableOutpost",
    "id",
    "name",
];
const KUBELET: &[&str] = &["config", "flags", "maxPodsExpression"];
