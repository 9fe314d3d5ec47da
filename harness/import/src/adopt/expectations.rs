//! What the node must have, derived from flags and traits. What cannot be read is left out: a wrong expectation is
//! worse than none.

use nodejoin_core::plan::instance_type::DEFAULT_INSTANCE_TYPE;
use nodejoin_core::vocabulary::ec2_type::ec2_type;

use super::cel::NoPods;
use super::dns_addresses::usable;
use super::kubelet_flags::PodsPerCore;
use super::lost_flags::LostFlags;
use super::max_pods::{self, Interfaces};
use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use super::yaml_text::YamlText;
use crate::machine::{LaterBy, Machine, Taint};

/// The taint without which Karpenter ends a Node, from its API v1 on.
const UNREGISTERED: &str = "karpenter.sh/unregistered";

/// The key `expect` of the scenario.
pub(crate) fn expectations(
    machine: &Machine,
    stated: &Stated,
    lost: &LostFlags,
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
    let by_expression = pods_by_expression(machine, stated, report);
    let pods = flags.max_pods.or(by_expression).or(traits.max_pods);
    let pods = pods.and_then(|pods| by_processors(pods, machine, stated));
    labels.extend(lost.wanted.labels.clone());
    let lost_taints = lost
        .wanted
        .taints
        .iter()
        .filter(|taint| !traits.taints.contains(taint));
    taints.extend(lost_taints.cloned());
    // A later flag that a command writes takes precedence: which one counts is not known.
    let has_another = stated
        .flags_elsewhere
        .iter()
        .any(|flag| flag.starts_with("--max-pods="));
    let pods = lost.wanted.max_pods.or(pods.filter(|_| !has_another));
    for (key, value) in &labels {
        let reason = without_effect(lost.wanted.labels.contains_key(key));
        line(
            report,
            AdoptionKind::Expected,
            format!("label {key}={value}{reason}"),
        );
    }
    for taint in &taints {
        let reason = without_effect(lost.wanted.taints.contains(taint));
        line(
            report,
            AdoptionKind::Expected,
            format!("taint {} when the node registers{reason}", text_of(taint)),
        );
    }
    if let Some(pods) = pods {
        let reason = without_effect(lost.wanted.max_pods.is_some());
        line(
            report,
            AdoptionKind::Expected,
            format!("capacity for {pods} pods{reason}"),
        );
    }
    let addresses = usable(&stated.dns);
    let dns = format!("cluster DNS {} in the kubelet", addresses.join(","));
    match (addresses.is_empty(), is_ipv6) {
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
            LaterBy::Karpenter if traits.taints.iter().any(|taint| taint.key == UNREGISTERED) => {
                "Karpenter gives it to a Node that registers with the taint karpenter.sh/unregistered, because the user data starts \
                 the kubelet itself"
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
    for flag in &stated.flags_elsewhere {
        if !lost.has(flag) {
            let why = match is_written(&stated.text, flag) {
                true => "the user data writes it into a file",
                false if stated.calls.iter().any(|call| call.is_open) => {
                    "a call of bootstrap.sh has arguments that are known in a run only"
                }
                false => "no call of bootstrap.sh and no NodeConfig passes it",
            };
            let text = format!("`{flag}`: {why}, and only a run shows whether the kubelet gets it");
            line(report, AdoptionKind::NotChecked, text);
        } else if !lost.wants(flag) {
            let text = format!("`{flag}` has no effect: nothing reads it where it stands (see the notes)");
            line(report, AdoptionKind::NotChecked, text);
        }
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
    let dns = YamlText::texts(addresses.iter().filter(|_| !is_ipv6).cloned());
    let kubelet = YamlText::map([("config", Some(YamlText::map([("clusterDNS", Some(dns))])))]);
    YamlText::map([
        ("phase", Some(YamlText::text("ready"))),
        ("node", Some(node)),
        ("kubelet", Some(kubelet)),
    ])
}

/// Whether a command that writes files has the text.
fn is_written(text: &str, flag: &str) -> bool {
    let writes = ["sed ", "tee ", "perl ", "jq ", ">"];
    let mut lines = text.lines().filter(|line| line.contains(flag));
    lines.any(|line| writes.iter().any(|word| line.contains(word)))
}

/// What a line of the report adds about flags that nothing reads.
fn without_effect(is_lost: bool) -> &'static str {
    match is_lost {
        true => ": has no effect where it stands (see the notes); the check fails without it",
        false => "",
    }
}

/// The number of pods if `podsPerCore` limits it further. The kubelet prefers its flag to its configuration. `None`:
/// only a run shows the limit.
fn by_processors(pods: u32, machine: &Machine, stated: &Stated) -> Option<u32> {
    let of_config = stated.configs.pods_per_core.map(PodsPerCore::Number);
    let per_core = match stated.flags.pods_per_core.or(of_config) {
        None | Some(PodsPerCore::Number(0)) => return Some(pods),
        Some(PodsPerCore::Number(per_core)) => per_core,
        Some(PodsPerCore::Unknown) => return None,
    };
    let instance_type = machine.traits.instance_type.as_deref();
    let known = ec2_type(instance_type.unwrap_or(DEFAULT_INSTANCE_TYPE));
    let limit = known.map(|known| per_core.saturating_mul(known.vcpus));
    Some(limit.map_or(pods, |limit| pods.min(limit)))
}

/// The pods that nodeadm computes from the expression in a NodeConfig.
fn pods_by_expression(machine: &Machine, stated: &Stated, report: &mut Vec<AdoptionLine>) -> Option<u32> {
    let expression = stated.configs.max_pods_expression.as_deref()?;
    let instance_type = machine.traits.instance_type.as_deref();
    let instance_type = instance_type.unwrap_or(DEFAULT_INSTANCE_TYPE);
    let what = format!("`maxPodsExpression: {expression}`");
    if let Some(pods) = stated.flags.max_pods {
        let text = format!(
            "{what} has no effect on the capacity: the kubelet's own setting of {pods} pods takes precedence; nodeadm only \
             reserves memory by it"
        );
        line(report, AdoptionKind::Note, text);
        return None;
    }
    let not_checked = |why: String| format!("the capacity for pods by {what}: {why}");
    let Some(of) = interfaces(instance_type) else {
        let why = format!("nodejoin does not know the network interfaces of {instance_type}");
        line(report, AdoptionKind::NotChecked, not_checked(why));
        return None;
    };
    match max_pods::evaluated(expression, of) {
        Ok(pods) => {
            let text = format!("{pods} pods on {instance_type} by {what}");
            line(report, AdoptionKind::Chosen, text);
            Some(pods)
        }
        Err(NoPods::Rejected(error)) => {
            let text = format!(
                "nodeadm cannot evaluate {what} and takes the standard number of {instance_type}: {error}{}",
                advice(&error)
            );
            line(report, AdoptionKind::Note, text);
            of.standard().try_into().ok()
        }
        Err(NoPods::NotEvaluated(part)) => {
            let why = format!(
                "nodejoin's stand-in of nodeadm does not evaluate {part} and ends; a nodeadm of your own, such as in `--image`, \
                 evaluates it"
            );
            line(report, AdoptionKind::NotChecked, not_checked(why));
            None
        }
    }
}

fn interfaces(instance_type: &str) -> Option<Interfaces> {
    let known = ec2_type(instance_type)?;
    Some(Interfaces {
        interfaces: *known.cards.get(known.default_card)?,
        addresses: known.ipv4_addresses,
    })
}

/// What to write instead of frequent mistakes.
fn advice(error: &str) -> &'static str {
    if error.contains("(int, double)") || error.contains("(double, int)") {
        return "; CEL does not mix integers and fractions: write `max_pods * 8 / 10`, or `int(double(max_pods) * 0.8)`";
    }
    let unknown = ["min", "max", "math"].map(|name| format!("undeclared reference to '{name}'"));
    match unknown.iter().any(|unknown| error == unknown) {
        true => "; nodeadm has no such function: write `max_pods < 30 ? max_pods : 30`",
        false => "",
    }
}

/// The taint as expectations write it: without `=` if it has no value.
fn text_of(taint: &Taint) -> String {
    if taint.value.is_empty() {
        format!("{}:{}", taint.key, taint.effect)
    } else {
        taint.to_string()
    }
}
