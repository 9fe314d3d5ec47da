//! What a scenario needs of a control plane that not every cluster has: one of the user's own may not be tied to the harness.

use std::fmt;

use nodejoin_core::plan::Plan;

/// Something that a control plane of the harness's own always has, and a cluster of the user's may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The API server asks the harness's authenticator whose a token is.
    Tokens,
    /// The API server sends its audit events to the harness.
    Audit,
    /// The API server reaches kubelets on the run's network.
    Kubelets,
    /// Bootstrap tokens, or a rule by which client certificates of nodes are approved.
    ClientCertificates,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tokens => "an API server that asks nodejoin's authenticator about tokens",
            Self::Audit => "the API server's audit events",
            Self::Kubelets => "an API server that reaches the node's kubelet",
            Self::ClientCertificates => "client certificates for nodes, by bootstrap tokens or on an Outpost",
        })
    }
}

/// Something that a control plane lacks, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// What.
    pub need: Need,
    /// Why, and what to do about it.
    pub why: String,
}

impl Lack {
    /// Of control planes on which nothing is made ready for nodes that ask for one.
    pub(crate) fn of_client_certificates() -> Self {
        Self {
            need: Need::ClientCertificates,
            why: "nodejoin sees to them on `local` and `kind` only".to_owned(),
        }
    }
}

/// Why a scenario cannot be told passed or failed on a control plane that lacks these; `None` where it can.
#[must_use]
pub fn lacking(plan: &Plan, lacks: &[Lack]) -> Option<String> {
    let needs = needs(plan);
    let lack = lacks.iter().find(|lack| needs.contains(&lack.need))?;
    Some(format!(
        "the scenario needs {}, and this control plane has it not: {}",
        lack.need, lack.why
    ))
}

/// What this scenario needs. Every node shows a token, and a join that must fail is told from others by who refused what.
#[must_use]
pub fn needs(plan: &Plan) -> Vec<Need> {
    let expect = &plan.expect;
    let logged = expect.diagnosis.is_some()
        || expect.authentication.is_some()
        || expect
            .node
            .as_ref()
            .is_some_and(|node| !node.labels_at_creation.is_empty() || !node.taints_at_creation.is_empty())
        || expect
            .certificates
            .iter()
            .flatten()
            .any(|certificate| certificate.decided_by.is_some());
    let asked = plan.pod.is_some()
        || expect.pod.is_some()
        || expect
            .kubelet
            .as_ref()
            .is_some_and(|kubelet| !kubelet.config.is_empty());
    let by_certificate = !plan.cluster.bootstrap_tokens.is_empty() || plan.cluster.eks.outpost.is_some();
    [
        (true, Need::Tokens),
        (logged, Need::Audit),
        (asked, Need::Kubelets),
        (by_certificate, Need::ClientCertificates),
    ]
    .into_iter()
    .filter_map(|(is_needed, need)| is_needed.then_some(need))
    .collect()
}

#[cfg(test)]
mod tests {
    use nodejoin_core::input::files::Disk;
    use nodejoin_core::scenario;

    use super::*;

    fn plan(expect: &str) -> Plan {
        let text = format!("name: x\nuser_data: '#!/bin/sh'\n{expect}\n");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.yaml");
        std::fs::write(&file, text).unwrap();
        scenario::load(&file, folder.path(), &Disk::with_variables([])).unwrap()
    }

    #[test]
    fn every_scenario_needs_tokens_and_some_need_more() {
        for (expect, wanted) in [
            ("expect: { phase: ready }", &[Need::Tokens][..]),
            (
                "expect: { phase: kubelet-started, diagnosis: role-not-mapped }",
                &[Need::Tokens, Need::Audit],
            ),
            (
                "expect: { phase: ready, node: { labels_at_creation: { a: b } } }",
                &[Need::Tokens, Need::Audit],
            ),
            (
                "expect: { phase: ready, certificates: [{ signer: kubernetes.io/kubelet-serving, decided_by: x }] }",
                &[Need::Tokens, Need::Audit],
            ),
            (
                "expect: { phase: ready, kubelet: { config: { maxPods: 29 } } }",
                &[Need::Tokens, Need::Kubelets],
            ),
            (
                "cluster: { bootstrap_tokens: [{}] }",
                &[Need::Tokens, Need::ClientCertificates],
            ),
        ] {
            assert_eq!(needs(&plan(expect)), wanted, "{expect}");
        }
    }

    #[test]
    fn what_is_lacked_and_needed_is_a_reason_and_what_is_not_needed_is_none() {
        let plan = plan("expect: { phase: ready }");
        let lack = |need| Lack {
            need,
            why: "no flag".to_owned(),
        };
        assert_eq!(lacking(&plan, &[lack(Need::Audit), lack(Need::Kubelets)]), None);
        assert_eq!(lacking(&plan, &[]), None);
        assert_eq!(
            lacking(&plan, &[lack(Need::Tokens)]).unwrap(),
            "the scenario needs an API server that asks nodejoin's authenticator about tokens, and this control plane has it \
             not: no flag"
        );
    }
}
