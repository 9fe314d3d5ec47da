//! The properties of a scenario that can explain why it shows a difference and others do not.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::plan::aws::IpFamily;
use crate::plan::instance_type::has_nvidia_gpu;
use crate::plan::{LifeCycle, Plan, Tokens};
use crate::user_data;

/// Properties of a scenario, as a report names them: `IPv6`, `region cn-north-1`, `--use-max-pods in the user data`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScenarioTraits(BTreeSet<String>);

/// Zones of a region have its name and a letter.
fn is_in_local_zone(plan: &Plan) -> bool {
    let letter = plan.instance.availability_zone.strip_prefix(plan.region.as_str());
    letter.is_some_and(|letter| letter.len() > 1)
}

impl ScenarioTraits {
    /// The properties of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut traits = BTreeSet::new();
        let mut add = |holds: bool, name: String| {
            if holds {
                traits.insert(name);
            }
        };
        let (instance, cluster) = (&plan.instance, &plan.cluster);
        let flow = plan.id.as_str().split_once('/').map_or("", |(flow, _)| flow);
        add(!flow.is_empty(), format!("scenarios of {flow}/"));
        add(cluster.eks.ip_family == IpFamily::Ipv6, "IPv6".to_owned());
        add(true, format!("partition {}", plan.region.partition()));
        add(true, format!("region {}", plan.region));
        add(true, format!("instance type {}", instance.instance_type));
        add(
            has_nvidia_gpu(&instance.instance_type),
            "an NVIDIA GPU".to_owned(),
        );
        add(is_in_local_zone(plan), "a local zone".to_owned());
        add(
            instance.network.named_after_requests > 0,
            "a name that EC2 learns late".to_owned(),
        );
        add(
            instance.life_cycle == LifeCycle::Spot,
            "a Spot Instance".to_owned(),
        );
        add(
            cluster.eks.outpost.is_some(),
            "a local cluster on an Outpost".to_owned(),
        );
        let services = cluster.service_ipv4_cidr.as_deref().unwrap_or("none");
        add(true, format!("service CIDR {services}"));
        add(true, format!("VPC {}", instance.vpc_cidrs.join(", ")));
        add(
            instance.vpc_cidrs.len() > 1,
            "several CIDRs of the VPC".to_owned(),
        );
        add(
            instance.host_name != instance.private_dns_name,
            "a host name that is not the private DNS name".to_owned(),
        );
        add(
            !instance.network.interfaces.is_empty(),
            "several network interfaces".to_owned(),
        );
        add(!instance.metadata.enabled, "no metadata service".to_owned());
        add(
            instance.metadata.tokens != Tokens::Required,
            "metadata without tokens".to_owned(),
        );
        add(plan.role.is_none(), "no role".to_owned());
        for step in &plan.then {
            add(true, format!("the step {}", step.action.word()));
        }
        if let Some(version) = &plan.probed_kubelet {
            add(true, format!("a kubelet of {version}"));
        }
        for fault in &plan.faults {
            let about = fault.operation.as_ref().or(fault.path.as_ref());
            let about = about.map(|about| format!(" {about}")).unwrap_or_default();
            add(true, format!("a fault of {}{about}", fault.service.word()));
        }
        for fault in &plan.dns_faults {
            let name = fault.name.as_deref().unwrap_or("every name");
            add(true, format!("a DNS fault of {name}"));
        }
        for flag in flags(plan) {
            add(true, format!("{flag} in the user data"));
        }
        Self(traits)
    }

    /// The trait, or the pair of traits, that all scenarios which show a difference have and no other scenario has.
    /// `None` if all scenarios show it, or if no such traits exist.
    #[must_use]
    pub fn only_with(showing: &[&Self], others: &[&Self]) -> Option<String> {
        if others.is_empty() {
            return None;
        }
        let first = showing.first()?;
        let common: Vec<&String> = first
            .0
            .iter()
            .filter(|name| showing.iter().all(|traits| traits.0.contains(*name)))
            .collect();
        let is_only = |names: &[&String]| {
            !others
                .iter()
                .any(|traits| names.iter().all(|name| traits.0.contains(*name)))
        };
        if let Some(name) = common.iter().find(|name| is_only(&[name])) {
            return Some((*name).clone());
        }
        let pairs = common
            .iter()
            .enumerate()
            .flat_map(|(index, first)| common[index + 1..].iter().map(move |second| [*first, *second]));
        pairs
            .into_iter()
            .find(|pair| is_only(pair))
            .map(|[first, second]| format!("{first}, and {second}"))
    }

    #[cfg(test)]
    pub(super) fn from_names(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (*name).to_owned()).collect())
    }
}

/// Long flags in the user data, without their values.
pub(super) fn flags(plan: &Plan) -> BTreeSet<String> {
    let bytes = plan
        .user_data
        .as_ref()
        .and_then(|user_data| STANDARD.decode(&user_data.base64).ok())
        .and_then(|bytes| user_data::unpacked(&bytes).map(|bytes| bytes.to_vec()));
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = text.unwrap_or_default();
    let is_of_flag = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words = text.split(|c: char| c.is_whitespace() || "'\"=,;`()".contains(c));
    words
        .filter(|word| {
            let name = word.strip_prefix("--").unwrap_or_default();
            name.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_of_flag)
        })
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, user_data_of};

    fn only_with(showing: &[&[&str]], others: &[&[&str]]) -> Option<String> {
        let traits = |all: &[&[&str]]| -> Vec<ScenarioTraits> {
            all.iter()
                .map(|names| ScenarioTraits::from_names(names))
                .collect()
        };
        let (showing, others) = (traits(showing), traits(others));
        ScenarioTraits::only_with(
            &showing.iter().collect::<Vec<_>>(),
            &others.iter().collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_trait_that_only_the_showing_scenarios_have_explains_them() {
        assert_eq!(
            only_with(&[&["IPv6", "a"], &["IPv6", "b"]], &[&["a"], &["b"]]).as_deref(),
            Some("IPv6")
        );
        assert_eq!(only_with(&[&["a"], &["b"]], &[&["c"]]), None);
    }

    #[test]
    fn two_traits_together_explain_what_one_does_not() {
        assert_eq!(
            only_with(&[&["IPv6", "region cn"]], &[&["IPv6"], &["region cn"]]).as_deref(),
            Some("IPv6, and region cn")
        );
    }

    #[test]
    fn what_all_scenarios_show_needs_no_explanation() {
        assert_eq!(only_with(&[&["a"]], &[]), None);
    }

    #[test]
    fn flags_of_the_user_data_are_traits() {
        let mut plan = plan();
        let text = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --use-max-pods false --kubelet-extra-args '--max-pods=29' -- --\n";
        plan.user_data = Some(user_data_of(text));
        let found: Vec<String> = flags(&plan).into_iter().collect();
        assert_eq!(found, ["--kubelet-extra-args", "--max-pods", "--use-max-pods"]);
    }
}
