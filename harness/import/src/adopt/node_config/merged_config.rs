//! What NodeConfigs lack together: nodeadm and the kubelet check them after nodeadm has merged all of them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::cluster_fields::required;
use super::types::{CONFIG, is_open};
use crate::source_lines::SourceLines;
use crate::tree::Tree;

/// The folder whose NodeConfigs nodeadm merges with those of the user data.
const FOLDER: &str = "/etc/eks/nodeadm.d";
/// The field that can be empty.
const AUTHORITY: &str = "certificateAuthority";

/// Fields of the documents that nodeadm reads.
#[derive(Debug, Default)]
pub(super) struct MergedConfig {
    /// Whether a document has a certificate authority, also an empty one.
    has_authority: bool,
    /// The strategy for the disks of the instance store.
    pub(super) local_storage: Option<String>,
    /// The signals of soft evictions, and those with a grace period.
    soft_evictions: BTreeSet<String>,
    grace_periods: BTreeSet<String>,
}

/// The merged fields of the cluster, and where a message finds them.
pub(super) struct MergedCluster<'a> {
    pub(super) values: [(&'static str, Option<&'a str>); 4],
    /// The text of the user data.
    pub(super) text: &'a str,
    pub(super) lines: &'a SourceLines<'a>,
}

impl MergedConfig {
    pub(super) fn add(&mut self, document: &Tree) {
        let config = CONFIG.split('.').collect::<Vec<_>>();
        let signals = |field: &'static str| {
            let path = [&config[..], &[field]].concat();
            let entries = document.at(&path).map(Tree::entries).unwrap_or_default();
            // The kubelet ignores these thresholds.
            let is_signal = |(_, value): &&(String, Tree)| {
                let text = value.text().unwrap_or_default();
                !["", "0%", "100%"].contains(&text) && !is_open(text)
            };
            let signals = entries.iter().filter(is_signal);
            signals.map(|(signal, _)| signal.clone()).collect::<Vec<_>>()
        };
        self.soft_evictions.extend(signals("evictionSoft"));
        let grace = [&config[..], &["evictionSoftGracePeriod"]].concat();
        let grace = document.at(&grace).map(Tree::entries).unwrap_or_default();
        self.grace_periods
            .extend(grace.iter().map(|(signal, _)| signal.clone()));
        self.has_authority |= document.at(&["spec", "cluster", AUTHORITY]).is_some();
        let storage = document.text_at(&["spec", "instance", "localStorage", "strategy"]);
        self.local_storage = storage.or(self.local_storage.take());
    }

    /// A sentence for the cluster without a field, if nodeadm reads these documents alone.
    pub(super) fn missing_fields(&self, cluster: &MergedCluster<'_>) -> Option<String> {
        let values = &cluster.values;
        let has = |name: &str| {
            let is_stated = values
                .iter()
                .any(|(known, value)| *known == name && value.is_some());
            is_stated || (name == AUTHORITY && self.has_authority)
        };
        let missing: Vec<_> = required().filter(|(name, _)| !has(name)).collect();
        let (_, error) = missing.first()?;
        let fields: Vec<String> = missing
            .iter()
            .map(|(name, _)| format!("`spec.cluster.{name}`"))
            .collect();
        let of_group = match missing.len() == values.len() {
            true => {
                "; EKS adds them only to a MIME message of a managed node group whose launch template names no AMI"
            }
            false => "",
        };
        Some(format!(
            "no NodeConfig of the user data has {}: nodeadm ends with `{error}`, unless a file in {FOLDER} adds it{of_group}",
            fields.join(", ")
        ))
    }

    /// A sentence for each other mistake. `flags` are those of the kubelet.
    pub(super) fn mistakes(&self, cluster: &MergedCluster<'_>, flags: &[String]) -> Vec<String> {
        let cidr = cluster.values.iter().find(|(name, _)| *name == "cidr");
        let cidr = cidr.and_then(|(_, value)| *value);
        let cidr = cidr.filter(|cidr| !is_open(cidr) && !is_network(cidr));
        let network = cidr.map(|cidr| {
            let at = cluster.place("cidr", cidr);
            format!(
                "`spec.cluster.cidr`{at} is `{cidr}`, and a network such as `172.20.0.0/16` is expected: nodeadm ends with `{cidr} is not a \
                 valid IP Address`"
            )
        });
        let has_flag = flags.iter().any(|flag| flag.contains("--eviction-soft"));
        let without = self.soft_evictions.difference(&self.grace_periods);
        let evictions = without.filter(|_| !has_flag).map(|signal| {
            let at = cluster.place(signal, "");
            format!(
                "`{CONFIG}.evictionSoft` has `{signal}`{at}, and `evictionSoftGracePeriod` does not: the kubelet exits with `grace period \
                 must be specified for the soft eviction threshold {signal}`"
            )
        });
        network.into_iter().chain(evictions).collect()
    }
}

impl MergedCluster<'_> {
    /// The line with a key and its value, such as ` (line 3)`.
    fn place(&self, key: &str, value: &str) -> String {
        let is_line = |line: &str| line.contains(key) && line.contains(value);
        let number = self.text.lines().position(is_line).map(|index| index + 1);
        let place = number.and_then(|number| self.lines.known_place(self.text, number));
        place.map(|place| format!(" ({place})")).unwrap_or_default()
    }
}

/// Whether Go takes a text for a network (`net.ParseCIDR`).
fn is_network(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
    is_number && length.parse::<u32>().is_ok_and(|length| length <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    fn merged(documents: &[&str]) -> MergedConfig {
        let mut merged = MergedConfig::default();
        for text in documents {
            merged.add(&yaml(text).unwrap().remove(0));
        }
        merged
    }

    fn cluster<'a>(values: [Option<&'a str>; 4], lines: &'a SourceLines<'a>) -> MergedCluster<'a> {
        let [name, endpoint, authority, cidr] = values;
        MergedCluster {
            values: [
                ("name", name),
                ("apiServerEndpoint", endpoint),
                (AUTHORITY, authority),
                ("cidr", cidr),
            ],
            text: "",
            lines,
        }
    }

    #[test]
    fn a_cluster_without_a_field_is_named() {
        let lines = SourceLines::default();
        let missing = |documents: &[&str], values| {
            let missing = merged(documents).missing_fields(&cluster(values, &lines));
            missing.unwrap_or_default()
        };
        let some = Some("x");
        let note = "no NodeConfig of the user data has `spec.cluster.certificateAuthority`: nodeadm ends with `Certificate authority is \
                    missing in cluster configuration`, unless a file in /etc/eks/nodeadm.d adds it";
        let null = "spec: { cluster: { certificateAuthority: null } }\n";
        assert_eq!(missing(&[null], [some, some, None, some]), note);
        // An empty one is not missing.
        let empty = "spec: { cluster: { certificateAuthority: \"\" } }\n";
        assert_eq!(missing(&[empty], [some, some, None, some]), "");
        assert_eq!(missing(&[], [some; 4]), "");
        let all = missing(&[], [None; 4]);
        assert!(
            all.contains("`spec.cluster.cidr`: nodeadm ends with `Name is missing")
                && all.contains("EKS adds them"),
            "{all}"
        );
    }

    #[test]
    fn a_wrong_network_is_named() {
        let lines = SourceLines::default();
        let of =
            |cidr| MergedConfig::default().mistakes(&cluster([None, None, None, Some(cidr)], &lines), &[]);
        for wrong in [
            "172.20.0.0",
            "10.100.0.0/33",
            "10.100.0/16",
            "x/8",
            "10.0.0.0/",
            "fd00::/129",
        ] {
            let found = of(wrong);
            assert!(
                found.len() == 1 && found[0].contains("and a network such as"),
                "{wrong}: {found:?}"
            );
        }
        for right in [
            "172.20.0.0/16",
            "172.20.0.1/16",
            "fd30:1c53:5f8a::/108",
            "$CIDR",
            "{{ cluster.cidr }}",
        ] {
            assert_eq!(of(right), [""; 0], "{right}");
        }
    }

    #[test]
    fn a_soft_eviction_needs_a_grace_period_in_any_document() {
        let lines = SourceLines::default();
        let of = |documents: &[&str], flags: &[String]| {
            merged(documents).mistakes(&cluster([Some("x"), Some("x"), Some("x"), None], &lines), flags)
        };
        let soft = "spec: { kubelet: { config: { evictionSoft: { memory.available: 500Mi, nodefs.available: 0% } } } }\n";
        let grace = "spec: { kubelet: { config: { evictionSoftGracePeriod: { memory.available: 1m } } } }\n";
        assert_eq!(
            of(&[soft], &[]),
            [
                "`spec.kubelet.config.evictionSoft` has `memory.available`, and `evictionSoftGracePeriod` does not: the kubelet exits with \
                 `grace period must be specified for the soft eviction threshold memory.available`"
            ]
        );
        assert_eq!(of(&[soft, grace], &[]), [""; 0]);
        let flag = "--eviction-soft-grace-period=memory.available=1m".to_owned();
        assert_eq!(of(&[soft], &[flag]), [""; 0]);
    }
}
