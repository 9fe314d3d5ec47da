//! Errors of nodeadm, most of them about the NodeConfig.

use serde_json::Value;

use super::facts::{Evidence, Facts, between, is_of_user_data};
use super::types::Finding;
use crate::observation::phases::is_of_nodeadm;
use crate::observation::{JournalLine, Millis};
use crate::user_data::{self, Part};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::phase::Phase;

/// The message of nodeadm's last line when it fails.
const FATAL: &str = "Command failed";

/// How errors about fields name nodejoin's own nodeadm.
const STAND_IN: &str = "nodejoin's stand-in of nodeadm";

const NO_CONFIG: &str = "no config in chain";

/// Errors about the configuration. Other rules recognize errors of AWS services.
const CONFIG: [&str; 5] = [
    NO_CONFIG,
    MISSING,
    "cluster ID must be provided",
    "node config",
    "config provider at index",
];

const MISSING: &str = "is missing in cluster configuration";

/// The type of a part with a NodeConfig.
const MEDIA_TYPE: &str = "application/node.eks.aws";

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

/// The NodeConfig has a field that only the released nodeadm reads.
pub(super) fn unsupported(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, line, error) = fatal(facts).filter(|(.., error)| error.contains(STAND_IN))?;
    facts.final_(
        Cause::HarnessLimit,
        format!("a limit of nodejoin, not an error of the NodeConfig: {error}"),
        &Evidence::journal(at, line),
        "remove the field for the test, or use the released nodeadm: `--overlay fixtures/overlays/nodeadm-released/overlay.yaml` \
         of nodejoin's repository"
            .to_owned(),
    )
}

/// nodeadm exits with an error about its configuration. It only warns about a fault in one document of several.
pub(super) fn node_config_invalid(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, line, error) = fatal(facts)?;
    if !is_about_config(&error) {
        return None;
    }
    let before = errors(facts, "Encountered error in config provider").last();
    let (because, error) = match before {
        Some((.., warned)) if error.contains(NO_CONFIG) => {
            (format!("nodeadm cannot read the NodeConfig: {warned}"), warned)
        }
        _ => (format!("nodeadm cannot use the NodeConfig: {error}"), error),
    };
    facts.final_(
        Cause::NodeConfigInvalid,
        because,
        &Evidence::journal(at, line),
        remedy(facts, &error),
    )
}

/// nodeadm exits with an error that no rule before recognizes.
pub(super) fn failed(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, line, error) = fatal(facts)?;
    facts.final_(
        Cause::ScriptFailed,
        format!("nodeadm ended with an error before it started the kubelet: {error}"),
        &Evidence::journal(at, line),
        "read the lines before it in the journal of nodeadm's units".to_owned(),
    )
}

/// The error that nodeadm ended with, before it started the kubelet.
pub(super) fn last_error(facts: &Facts<'_>) -> Option<String> {
    fatal(facts).map(|(.., error)| error)
}

/// The error that nodeadm ended with. If the user data calls nodeadm itself, errors of nodeadm's units have no effect.
fn fatal<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a JournalLine, String)> {
    let first = errors(facts, FATAL).next()?;
    if !is_called_by_script(facts) {
        return Some(first);
    }
    errors(facts, FATAL).find(|(_, line, _)| !is_of_nodeadm(line))
}

/// Whether the user data calls nodeadm itself.
pub(super) fn is_called_by_script(facts: &Facts<'_>) -> bool {
    let is_script = |part: &Part| part.mime != MEDIA_TYPE;
    let calls = |part: &Part| String::from_utf8_lossy(&part.content).contains("nodeadm init");
    parts(facts).iter().any(|part| is_script(part) && calls(part))
}

fn is_about_config(error: &str) -> bool {
    // An error of the metadata service says nothing about the user data, unless there is none (404).
    CONFIG.iter().any(|word| error.contains(word)) && (!error.contains("ec2imds") || error.contains("404"))
}

fn remedy(facts: &Facts<'_>, error: &str) -> String {
    if error.contains("malformed MIME header") {
        return "insert an empty line after the headers of each MIME part: nodeadm requires it, cloud-init does not"
            .to_owned();
    }
    if error.contains("multipart: ") || error.contains("unexpected EOF") {
        return "separate the MIME parts with the boundary that the first header names, and end the last one with \
                `--BOUNDARY--`: nodeadm requires it, cloud-init does not"
            .to_owned();
    }
    if parts(facts)
        .iter()
        .any(|part| part.mime == MEDIA_TYPE && part.content.starts_with(b"#!"))
    {
        return "write a NodeConfig into the part of type `application/node.eks.aws`, which is a script: eksctl puts \
                `overrideBootstrapCommand` there for AL2023, and `preBootstrapCommands` into parts that run"
            .to_owned();
    }
    if let Some((wrong, right)) = misnamed(facts) {
        return format!("write `{right}` instead of `{wrong}`: nodeadm ignores unknown fields");
    }
    if let Some(part) = mistyped(facts) {
        return format!(
            "declare {} as `{MEDIA_TYPE}`: nodeadm does not read a NodeConfig in a part of type `{}`",
            part.name, part.mime
        );
    }
    if error.contains(MISSING) {
        return "set name, apiServerEndpoint, certificateAuthority and cidr in `spec.cluster`: nodeadm does not read them from EKS"
            .to_owned();
    }
    if [
        "expected <block end>",
        "mapping values are not allowed",
        "did not find expected",
        "error converting YAML",
    ]
    .iter()
    .any(|words| error.contains(words))
    {
        return "correct the YAML of the NodeConfig: fields of one level have the same indentation, in blanks and not in tabs \
                (the lines of the message count from the start of its MIME part)"
            .to_owned();
    }
    if let Some(field) = between(error, "cannot unmarshal ", &['"', '\n']) {
        let (given, rest) = field.split_once(" into Go struct field ").unwrap_or((field, ""));
        let (field, needed) = rest.split_once(" of type ").unwrap_or((rest, "another type"));
        let field = field.split_once('.').map_or(field, |(_, path)| path);
        let needed = needed.split(" (").next().unwrap_or(needed);
        return format!("give `{field}` a value of type {needed}: it has a {given}");
    }
    if !has_node_config(facts) {
        return "put a NodeConfig into the user data, alone or as a part of type `application/node.eks.aws`: this AMI has no \
                bootstrap.sh, and scripts of the user data run too late to replace it"
            .to_owned();
    }
    "run `nodeadm config check` in the node: it expects YAML of kind NodeConfig, `apiVersion: node.eks.aws/v1alpha1`, with the CA in \
     base64 as DescribeCluster returns it"
        .to_owned()
}

/// Lines of nodeadm's log with this message, each with the error in its JSON.
fn errors<'a>(
    facts: &Facts<'a>,
    message: &'static str,
) -> impl Iterator<Item = (Millis, &'a JournalLine, String)> {
    let is_by_nodeadm =
        |line: &JournalLine| !line.by_systemd && (is_of_nodeadm(line) || is_of_user_data(line));
    let lines = facts.journal().filter(move |(_, line)| is_by_nodeadm(line));
    lines.filter_map(move |(at, line)| {
        let (_, fields) = line.message.split_once(message)?;
        let fields: Value = serde_json::from_str(fields.trim()).ok()?;
        Some((at, line, fields.get("error")?.as_str()?.to_owned()))
    })
}

/// An unknown key of the NodeConfig in the user data, and the most similar known key.
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
            let mut unknown = keys.filter(|key| !known.contains(&key.as_str()));
            unknown.find_map(|key| Some((key.clone(), nearest(key, known.iter().copied())?)))
        })
    })
}

/// A part with a NodeConfig whose type is another one.
fn mistyped(facts: &Facts<'_>) -> Option<Part> {
    let is_config =
        |part: &Part| String::from_utf8_lossy(&part.content).contains("apiVersion: node.eks.aws/");
    let has_other_type = |part: &Part| part.mime.starts_with("application/") && part.mime != MEDIA_TYPE;
    let mut parts = parts(facts).into_iter();
    parts.find(|part| is_config(part) && has_other_type(part))
}

/// Whether the user data contains a NodeConfig, valid or not.
fn has_node_config(facts: &Facts<'_>) -> bool {
    texts(facts).iter().any(|text| text.contains("node.eks.aws/"))
}

/// The NodeConfigs in the user data that can be parsed.
fn node_configs(facts: &Facts<'_>) -> Vec<Value> {
    let texts = texts(facts);
    let found = texts.iter().filter(|text| text.contains("NodeConfig"));
    found.filter_map(|text| serde_yaml::from_str(text).ok()).collect()
}

fn parts(facts: &Facts<'_>) -> Vec<Part> {
    let bytes = facts.user_data();
    bytes.map_or(Vec::new(), |bytes| user_data::parse(&bytes).parts)
}

/// The parts of the user data as text.
fn texts(facts: &Facts<'_>) -> Vec<String> {
    parts(facts)
        .iter()
        .map(|part| String::from_utf8_lossy(&part.content).into_owned())
        .collect()
}
