//! Settings of Bottlerocket as a NodeConfig: a container cannot boot Bottlerocket, and runs its settings on the kubelet
//! of an AL2023 node.

use std::net::Ipv6Addr;

use serde_json::{Map, Value, json};

use super::keys::{KUBERNETES, ValueKind};
use super::traits::{describe, unknown_taints};
use crate::error::ImportError;
use crate::machine::Traits;
use crate::words::{joined_labels, joined_taints};

/// Settings that have no part in a join, or whose value nodejoin's node determines itself.
const WITHOUT_EFFECT: [&str; 2] = ["cloud-provider", "authentication-mode"];

/// The service network, which settings do not state: it follows from the cluster.
const SERVICE_CIDR: &str = "{{ cluster.service_ipv4_cidr }}";
/// The bits of an address in the IPv6 service network of a cluster, whose size EKS chooses.
const OF_SERVICE: u128 = 0xf_ffff;

/// A NodeConfig, and the settings that it does not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Translated {
    pub(crate) node_config: String,
    /// Paths of settings that do not run, such as `settings.host-containers`.
    pub(crate) not_run: Vec<String>,
}

/// Translates settings.
///
/// # Errors
/// The settings start a kubelet that does not join. `content` is their text, for the line.
pub(crate) fn translated(content: &str, table: &toml::Table) -> Result<Translated, ImportError> {
    let empty = toml::Table::new();
    let settings = table
        .get("settings")
        .and_then(toml::Value::as_table)
        .unwrap_or(&empty);
    let kubernetes = settings
        .get("kubernetes")
        .and_then(toml::Value::as_table)
        .unwrap_or(&empty);
    check_joins(content, kubernetes)?;
    let mut traits = Traits::default();
    describe(table, &mut traits);
    let mut config = Map::new();
    let mut not_run: Vec<String> = settings
        .keys()
        .filter(|key| *key != "kubernetes")
        .map(|key| format!("settings.{key}"))
        .collect();
    for (name, value) in kubernetes {
        let key = KUBERNETES.iter().find(|key| key.name == name);
        match key.and_then(|key| Some((key.field?, key.kind))) {
            Some((field, kind)) => {
                config.insert(field.to_owned(), value_of(value, kind));
            }
            None if is_read(name) => {}
            None => not_run.push(format!("settings.kubernetes.{name}")),
        }
    }
    let text = |key: &str| kubernetes.get(key).and_then(toml::Value::as_str);
    let node_config = json!({
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": text("cluster-name"),
                "apiServerEndpoint": text("api-server"),
                "certificateAuthority": text("cluster-certificate"),
                "cidr": service_cidr(kubernetes),
            },
            "kubelet": { "config": config, "flags": flags(&traits, kubernetes) },
        },
    });
    Ok(Translated {
        node_config: format!("{node_config:#}\n"),
        not_run,
    })
}

/// The service network. Bottlerocket gives a node with an IPv6 address of DNS an IPv6 address, as nodeadm does for an
/// IPv6 network.
fn service_cidr(kubernetes: &toml::Table) -> String {
    let first = match kubernetes.get("cluster-dns-ip") {
        Some(toml::Value::Array(addresses)) => addresses.first(),
        other => other,
    };
    let address = first.and_then(toml::Value::as_str);
    match address.and_then(|address| address.parse::<Ipv6Addr>().ok()) {
        Some(address) => {
            let network = Ipv6Addr::from(u128::from(address) & !OF_SERVICE);
            format!("{network}/{}", OF_SERVICE.leading_zeros())
        }
        None => SERVICE_CIDR.to_owned(),
    }
}

/// Whether a setting without a field of the kubelet is part of the NodeConfig.
fn is_read(name: &str) -> bool {
    const CLUSTER: [&str; 3] = ["api-server", "cluster-certificate", "cluster-name"];
    const FLAGS: [&str; 5] = [
        "node-labels",
        "node-taints",
        "hostname-override",
        "node-ip",
        "log-level",
    ];
    CLUSTER.contains(&name) || FLAGS.contains(&name) || WITHOUT_EFFECT.contains(&name)
}

/// A kubelet in standalone mode has no API server, and one with TLS bootstrapping no identity of EKS.
fn check_joins(content: &str, kubernetes: &toml::Table) -> Result<(), ImportError> {
    let standalone = kubernetes.get("standalone-mode").and_then(toml::Value::as_bool) == Some(true);
    let mode = kubernetes
        .get("authentication-mode")
        .and_then(toml::Value::as_str);
    let (key, problem) = match (standalone, mode) {
        (true, _) => (
            "standalone-mode",
            "`standalone-mode = true` starts a kubelet that joins no cluster",
        ),
        (false, Some("tls")) => (
            "authentication-mode",
            "`authentication-mode = \"tls\"` joins with a bootstrap token, which EKS does not accept",
        ),
        _ => return Ok(()),
    };
    let line = content
        .lines()
        .position(|line| line.trim_start().starts_with(key));
    Err(ImportError::Invalid {
        line: line.map(|index| index + 1),
        column: None,
        problem: problem.to_owned(),
        hint: "remove the setting to try a node of EKS".to_owned(),
    })
}

fn flags(traits: &Traits, kubernetes: &toml::Table) -> Vec<String> {
    let mut flags = Vec::new();
    if !traits.labels.is_empty() {
        flags.push(format!("--node-labels={}", joined_labels(&traits.labels)));
    }
    let known = Some(joined_taints(&traits.taints)).filter(|taints| !taints.is_empty());
    let taints: Vec<String> = known.into_iter().chain(unknown_taints(kubernetes)).collect();
    if !taints.is_empty() {
        flags.push(format!("--register-with-taints={}", taints.join(",")));
    }
    for (name, flag) in [("hostname-override", "hostname-override"), ("node-ip", "node-ip")] {
        let value = kubernetes.get(name).and_then(toml::Value::as_str);
        flags.extend(value.map(|value| format!("--{flag}={value}")));
    }
    let level = kubernetes.get("log-level").and_then(toml::Value::as_integer);
    flags.extend(level.map(|level| format!("--v={level}")));
    flags
}

fn value_of(value: &toml::Value, kind: ValueKind) -> Value {
    let json = serde_json::to_value(value).unwrap_or_default();
    match (kind, &json) {
        (ValueKind::Addresses, Value::String(_)) => json!([json]),
        (ValueKind::Percent, Value::String(text)) => text.parse::<u8>().map_or(json.clone(), Value::from),
        _ => json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = "[settings]\nmotd = \"x\"\n[settings.kubernetes]\napi-server = \"https://x\"\ncluster-certificate = \"Q0E=\"\ncluster-name = \"demo\"\n\
        cluster-dns-ip = \"10.100.0.10\"\nmax-pods = 1_5\nimage-gc-high-threshold-percent = \"80\"\ncloud-provider = \"aws\"\nstatic-pods = {}\nlog-level = 3\n\
        [settings.kubernetes.node-labels]\na = \"b\"\n[settings.kubernetes.node-taints]\nk = [\"v:NoSchedule\", \":NoExecute\"]\n\
        [settings.kubernetes.eviction-hard]\n\"memory.available\" = \"12%\"\n[settings.host-containers.admin]\nenabled = true\n";

    #[test]
    fn settings_become_fields_and_flags_of_the_kubelet() {
        let found = translated(SETTINGS, &toml::from_str(SETTINGS).unwrap()).unwrap();
        let config: Value = serde_json::from_str(&found.node_config).unwrap();
        assert_eq!(
            config["spec"],
            json!({
                "cluster": {
                    "name": "demo",
                    "apiServerEndpoint": "https://x",
                    "certificateAuthority": "Q0E=",
                    "cidr": "{{ cluster.service_ipv4_cidr }}",
                },
                "kubelet": {
                    "config": {
                        "clusterDNS": ["10.100.0.10"],
                        "maxPods": 15,
                        "imageGCHighThresholdPercent": 80,
                        "evictionHard": { "memory.available": "12%" },
                    },
                    "flags": ["--node-labels=a=b", "--register-with-taints=k=v:NoSchedule,k:NoExecute", "--v=3"],
                },
            })
        );
        assert_eq!(
            found.not_run,
            [
                "settings.host-containers",
                "settings.motd",
                "settings.kubernetes.static-pods"
            ]
        );
    }

    #[test]
    fn an_ipv6_address_of_dns_makes_the_network_one_of_ipv6() {
        for (setting, cidr) in [
            ("\"fd30:1c53:5f8a::a\"", "fd30:1c53:5f8a::/108"),
            ("[\"fd30:1c53:5f8a::a\", \"10.100.0.10\"]", "fd30:1c53:5f8a::/108"),
            ("[\"10.100.0.10\", \"fd30:1c53:5f8a::a\"]", SERVICE_CIDR),
            ("\"10.100.0.10\"", SERVICE_CIDR),
        ] {
            let text = format!("[settings.kubernetes]\ncluster-dns-ip = {setting}\n");
            let found = translated(&text, &toml::from_str(&text).unwrap()).unwrap();
            let config: Value = serde_json::from_str(&found.node_config).unwrap();
            assert_eq!(config["spec"]["cluster"]["cidr"], cidr, "{setting}");
        }
    }

    #[test]
    fn the_kubelet_gets_a_taint_that_it_refuses() {
        let text = "[settings.kubernetes.node-taints]\na = \"b:NoSchedule\"\ngpu = [\"true:Schedule\", \":Execute\"]\n";
        let found = translated(text, &toml::from_str(text).unwrap()).unwrap();
        let config: Value = serde_json::from_str(&found.node_config).unwrap();
        assert_eq!(
            config["spec"]["kubelet"]["flags"],
            json!(["--register-with-taints=a=b:NoSchedule,gpu=true:Schedule,gpu:Execute"])
        );
    }

    #[test]
    fn a_kubelet_that_joins_no_cluster_of_eks_is_refused_with_its_line() {
        for (setting, words) in [
            (
                "standalone-mode = true",
                "line 2: `standalone-mode = true` starts a kubelet",
            ),
            (
                "authentication-mode = \"tls\"",
                "line 2: `authentication-mode = \"tls\"` joins with a bootstrap token",
            ),
        ] {
            let text = format!("[settings.kubernetes]\n{setting}\n");
            let error = translated(&text, &toml::from_str(&text).unwrap()).unwrap_err();
            assert!(error.to_string().starts_with(words), "{error}");
        }
    }
}
