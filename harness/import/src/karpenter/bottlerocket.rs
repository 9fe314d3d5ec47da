//! The settings of Bottlerocket: those of the class, and Karpenter's, which win.

use super::kubelet;
use super::node_class::NodeClass;
use super::node_options::NodeOptions;
use crate::error::ImportError;
use crate::machine::{ClusterTraits, Taint};
use crate::source_lines::of_user_data;
use crate::text::settings;
use crate::toml_table::{set_labels, set_taints, subtable};

/// Makes one file system of the instance's own disks, and moves the folders of pods and images to it.
const STORAGE: &[&[&str]] = &[
    &["apiclient", "ephemeral-storage", "init"],
    &[
        "apiclient",
        "ephemeral-storage",
        "bind",
        "--dirs",
        "/var/lib/containerd",
        "/var/lib/kubelet",
        "/var/log/pods",
    ],
];

/// Merges the settings key by key; taints are replaced as a whole. Settings of the class without effect become notes.
pub(super) fn merged(
    class: &NodeClass<'_>,
    text: &str,
    options: &NodeOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<String, ImportError> {
    let mut table = settings(text).map_err(|error| {
        let problem = format!(
            "{} `{}` has invalid settings of Bottlerocket: {}",
            class.kind,
            class.name,
            error.problem()
        );
        let hint = match text.trim_start().starts_with("#!") {
            true => error.hint(),
            false => "correct the TOML in `spec.userData`".to_owned(),
        };
        let located = ImportError::Invalid {
            line: error.line(),
            column: None,
            problem,
            hint,
        };
        of_user_data(located, text)
    })?;
    let kubernetes = subtable(subtable(&mut table, "settings"), "kubernetes");
    notes.extend(replaced(kubernetes, options));
    cluster(kubernetes, &options.cluster);
    if let Some(max_pods) = options.max_pods {
        kubernetes.insert("max-pods".to_owned(), i64::from(max_pods).into());
    }
    if let Some(own) = options.kubelet {
        kubelet::set(kubernetes, own);
    }
    set_labels(kubernetes, &options.labels);
    kubernetes.remove("node-taints");
    let taints: &[Taint] = &options.taints;
    set_taints(kubernetes, taints);
    if options.is_raid0 {
        let bootstrap = subtable(subtable(&mut table, "settings"), "bootstrap-commands");
        let command = subtable(bootstrap, "000-mount-instance-storage");
        let commands: toml::Value = STORAGE
            .iter()
            .map(|words| toml::Value::from(words.to_vec()))
            .collect::<Vec<_>>()
            .into();
        command.insert("commands".to_owned(), commands);
        command.insert("mode".to_owned(), "always".into());
        command.insert("essential".to_owned(), true.into());
    }
    Ok(table.to_string())
}

/// Names the settings of the class in whose place Karpenter writes its own.
fn replaced(kubernetes: &toml::Table, options: &NodeOptions<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let taints = kubernetes.get("node-taints").and_then(toml::Value::as_table);
    let taints: Vec<&str> = taints
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .collect();
    let is_of_pool = |key: &&str| options.taints.iter().any(|taint| taint.key == *key);
    if !taints.iter().all(is_of_pool) {
        notes.push(format!(
            "`settings.kubernetes.node-taints` of `spec.userData` has no effect: Karpenter writes the taints of the pool in its place; \
             state them there ({})",
            taints.join(", ")
        ));
    }
    let pods = kubernetes.get("max-pods").and_then(toml::Value::as_integer);
    if let Some(pods) = pods.filter(|pods| options.max_pods.map(i64::from) != Some(*pods)) {
        let own = options
            .max_pods
            .map_or_else(|| "the number of the type".to_owned(), |own| own.to_string());
        notes.push(format!(
            "`settings.kubernetes.max-pods = {pods}` of `spec.userData` has no effect: Karpenter writes {own} in its place{}",
            options.advice_about_pods()
        ));
    }
    // The setting can be a list, too.
    let dns = kubernetes.get("cluster-dns-ip");
    if let Some(dns) = dns.filter(|dns| dns.as_str() != options.cluster.dns_ip.as_deref()) {
        notes.push(format!(
            "`settings.kubernetes.cluster-dns-ip = {dns}` of `spec.userData` has no effect: in its place Karpenter writes {}{}",
            options.named_dns(),
            options.advice_about_dns()
        ));
    }
    notes
}

fn cluster(kubernetes: &mut toml::Table, cluster: &ClusterTraits) {
    let values = [
        ("cluster-name", &cluster.name),
        ("api-server", &cluster.endpoint),
        ("cluster-certificate", &cluster.certificate_authority),
        ("cluster-dns-ip", &cluster.dns_ip),
    ];
    for (key, value) in values {
        if let Some(value) = value {
            kubernetes.insert(key.to_owned(), value.as_str().into());
        }
    }
}
