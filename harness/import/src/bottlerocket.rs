//! Checks settings of Bottlerocket, and reads what they state about the node.
//!
//! Bottlerocket rejects all of its user data for one unknown key.

use nodejoin_core::vocabulary::nearest::nearest;

use crate::error::ImportError;
use crate::machine::Traits;
use crate::words::taint_of_text;

/// Keys of `settings`.
const SETTINGS: &[&str] = &[
    "autoscaling",
    "aws",
    "boot",
    "bootstrap-commands",
    "bootstrap-containers",
    "cloudformation",
    "container-registry",
    "container-runtime",
    "container-runtime-plugins",
    "dns",
    "host-containers",
    "kernel",
    "kubelet-device-plugins",
    "kubernetes",
    "metrics",
    "motd",
    "network",
    "ntp",
    "oci-defaults",
    "oci-hooks",
    "pki",
    "updates",
];
/// Keys of `settings.kubernetes`.
const KUBERNETES: &[&str] = &[
    "allowed-unsafe-sysctls",
    "api-server",
    "authentication-mode",
    "bootstrap-token",
    "cloud-provider",
    "cluster-certificate",
    "cluster-dns-ip",
    "cluster-domain",
    "cluster-name",
    "container-log-max-files",
    "container-log-max-size",
    "cpu-cfs-quota-enforced",
    "cpu-manager-policy",
    "cpu-manager-policy-options",
    "cpu-manager-reconcile-period",
    "credential-providers",
    "device-ownership-from-security-context",
    "event-burst",
    "event-qps",
    "eviction-hard",
    "eviction-max-pod-grace-period",
    "eviction-soft",
    "eviction-soft-grace-period",
    "hostname-override",
    "hostname-override-source",
    "ids-per-pod",
    "image-gc-high-threshold-percent",
    "image-gc-low-threshold-percent",
    "kube-api-burst",
    "kube-api-qps",
    "kube-reserved",
    "log-level",
    "max-pods",
    "memory-manager-policy",
    "memory-manager-reserved-memory",
    "node-ip",
    "node-labels",
    "node-taints",
    "pod-infra-container-image",
    "pod-pids-limit",
    "provider-id",
    "registry-burst",
    "registry-qps",
    "reserved-cpus",
    "seccomp-default",
    "server-certificate",
    "server-key",
    "server-tls-bootstrap",
    "shutdown-grace-period",
    "shutdown-grace-period-for-critical-pods",
    "single-process-oom-kill",
    "standalone-mode",
    "static-pods",
    "system-reserved",
    "topology-manager-policy",
    "topology-manager-scope",
];
/// What a node needs; EKS adds them in a managed node group.
const REQUIRED: &[&str] = &["api-server", "cluster-certificate", "cluster-name"];

/// Checks the keys, and returns notes about those that are missing or that this program does not know.
///
/// # Errors
/// A misspelled key, or a value of the wrong type.
pub(crate) fn check(text: &str, table: &toml::Table) -> Result<Vec<String>, ImportError> {
    let mut notes = Vec::new();
    let Some(settings) = table.get("settings").and_then(toml::Value::as_table) else {
        return Ok(vec!["there is no table `settings`".to_owned()]);
    };
    keys(text, "settings", settings, SETTINGS, &mut notes)?;
    let empty = toml::Table::new();
    let kubernetes = settings
        .get("kubernetes")
        .and_then(toml::Value::as_table)
        .unwrap_or(&empty);
    keys(text, "settings.kubernetes", kubernetes, KUBERNETES, &mut notes)?;
    types(text, kubernetes)?;
    let missing: Vec<&str> = REQUIRED
        .iter()
        .copied()
        .filter(|key| !kubernetes.contains_key(*key))
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "`settings.kubernetes` has no {}: only EKS adds them, in a managed node group without an AMI",
            missing.join(", ")
        ));
    }
    Ok(notes)
}

fn keys(
    text: &str,
    path: &str,
    table: &toml::Table,
    known: &[&str],
    notes: &mut Vec<String>,
) -> Result<(), ImportError> {
    for key in table.keys().filter(|key| !known.contains(&key.as_str())) {
        match nearest(key, known.iter().copied()).filter(|meant| is_misspelled(key, meant)) {
            Some(meant) => {
                let problem = format!("unknown setting `{path}.{key}`; did you mean `{meant}`?");
                return Err(invalid(text, key, problem));
            }
            None => notes.push(format!("nodejoin does not know the setting `{path}.{key}`")),
        }
    }
    Ok(())
}

/// Newer releases know more words: only one that differs in two letters or less is certainly wrong.
pub(crate) fn is_misspelled(word: &str, meant: &str) -> bool {
    strsim::levenshtein(&word.to_lowercase(), &meant.to_lowercase()) <= 2
}

fn types(text: &str, kubernetes: &toml::Table) -> Result<(), ImportError> {
    let is_text_or_list = |value: &toml::Value| value.is_str() || value.is_array();
    let all_of = |value: &toml::Value, is_valid: fn(&toml::Value) -> bool| {
        value.as_table().is_some_and(|table| table.values().all(is_valid))
    };
    for (key, value) in kubernetes {
        let (is_valid, expected) = match key.as_str() {
            "api-server" | "cluster-certificate" | "cluster-name" | "node-ip" => (value.is_str(), "text"),
            "cluster-dns-ip" => (is_text_or_list(value), "an address or a list of addresses"),
            "max-pods" => (value.is_integer(), "a number"),
            "node-labels" => (all_of(value, toml::Value::is_str), "a table of texts"),
            "node-taints" => (
                all_of(value, |value| value.is_str() || value.is_array()),
                "a table of texts or lists",
            ),
            _ => (true, ""),
        };
        if !is_valid {
            let problem = format!("invalid `settings.kubernetes.{key}`: expected {expected}");
            return Err(invalid(text, key, problem));
        }
    }
    Ok(())
}

fn invalid(text: &str, key: &str, problem: String) -> ImportError {
    let line = text.lines().position(|line| line.contains(key));
    ImportError::Invalid {
        line: line.map(|index| index + 1),
        column: None,
        problem,
        hint: "Bottlerocket rejects all of its user data for one invalid setting; correct the line"
            .to_owned(),
    }
}

/// Adds what the settings state about node and cluster.
pub(crate) fn describe(table: &toml::Table, traits: &mut Traits) {
    let Some(kubernetes) = table
        .get("settings")
        .and_then(|settings| settings.get("kubernetes"))
    else {
        return;
    };
    let text = |key: &str| kubernetes.get(key)?.as_str().map(str::to_owned);
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
