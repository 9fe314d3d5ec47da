//! What the node must have, derived from flags and traits. What cannot be read is left out: a wrong expectation is
//! worse than none.

use super::stated::Stated;
use super::trial::{AdoptionKind, AdoptionLine, line};
use super::yaml_text::YamlText;
use crate::machine::{LaterBy, Machine, Taint};

/// The key `expect` of the scenario.
pub(crate) fn expectations(
    machine: &Machine,
    stated: &Stated,
    is_ipv6: bool,
    report: &mut Vec<AdoptionLine>,
) -> YamlText {
    let (traits, flags) = (&machine.traits, &stated.flags);
    let mut labels = traits.labels.clone();
    // eksctl writes them into a file, which the command that replaces its script need not read.
    let are_passed = stated.passes_arguments();
    let is_given = |key: &String| are_passed || !traits.later_labels.contains_key(key);
    labels.extend(flags.labels.clone().into_iter().filter(|(key, _)| is_given(key)));
    let mut taints = traits.taints.clone();
    let is_new = |taint: &&Taint| {
        !traits.taints.contains(taint) && (are_passed || !traits.later_taints.contains(taint))
    };
    taints.extend(flags.taints.iter().filter(is_new).cloned());
    let pods = flags.max_pods.or(traits.max_pods);
    for (key, value) in &labels {
        line(report, AdoptionKind::Expected, format!("label {key}={value}"));
    }
    for taint in &taints {
        line(
            report,
            AdoptionKind::Expected,
            format!("taint {} when the node registers", text_of(taint)),
        );
    }
    if let Some(pods) = pods {
        line(
            report,
            AdoptionKind::Expected,
            format!("capacity for {pods} pods"),
        );
    }
    let dns = format!("cluster DNS {} in the kubelet", stated.dns.join(","));
    match (stated.dns.is_empty(), is_ipv6) {
        (true, _) => {}
        (false, false) => line(report, AdoptionKind::Expected, dns),
        // The kubelet's configuration is read through the API server.
        (false, true) => {
            let why =
                "the API server does not reach the IPv6 address of a node (deviation `ipv6-on-loopback`)";
            line(report, AdoptionKind::NotChecked, format!("{dns}: {why}"));
        }
    }
    let later_labels = traits.later_labels.iter();
    let later_labels = later_labels
        .filter(|(key, _)| !labels.contains_key(*key))
        .map(|(key, value)| format!("label {key}={value}"));
    let later_taints = traits.later_taints.iter();
    let later_taints = later_taints
        .filter(|taint| !taints.contains(taint))
        .map(|taint| format!("taint {}", text_of(taint)));
    for what in later_labels.chain(later_taints) {
        let why = match traits.later_by {
            LaterBy::Eks => {
                "EKS gives it to the Node after the join, because the launch template of the group names an AMI"
            }
            LaterBy::Karpenter => {
                "Karpenter gives it to the Node after the join, because the user data starts the kubelet itself"
            }
        };
        line(report, AdoptionKind::NotChecked, format!("{what}: {why}"));
    }
    for unclear in &flags.unclear {
        line(report, AdoptionKind::NotChecked, unclear);
    }
    let labels = labels
        .into_iter()
        .map(|(key, value)| (key, YamlText::text(&value)));
    let node = YamlText::map([
        ("labels", Some(YamlText::Map(labels.collect()))),
        (
            "taints_at_creation",
            Some(YamlText::texts(taints.iter().map(text_of))),
        ),
        (
            "capacity",
            pods.map(|pods| YamlText::map([("pods", Some(YamlText::plain(pods)))])),
        ),
    ]);
    let dns = YamlText::texts(stated.dns.iter().filter(|_| !is_ipv6).cloned());
    let kubelet = YamlText::map([("config", Some(YamlText::map([("clusterDNS", Some(dns))])))]);
    YamlText::map([
        ("phase", Some(YamlText::text("ready"))),
        ("node", Some(node)),
        ("kubelet", Some(kubelet)),
    ])
}

/// The taint as expectations write it: without `=` if it has no value.
fn text_of(taint: &Taint) -> String {
    if taint.value.is_empty() {
        format!("{}:{}", taint.key, taint.effect)
    } else {
        taint.to_string()
    }
}
