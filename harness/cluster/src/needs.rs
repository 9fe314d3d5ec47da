//! What a scenario needs that not every control plane provides: a user's cluster may lack the wiring.

use std::fmt;

use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::Expect;

/// A capability that a user's cluster may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The API server calls the harness's authenticator for tokens.
    Tokens,
    /// The API server sends its audit events to the harness.
    Audit,
    /// The API server reaches kubelets on the run's network.
    Kubelets,
    /// Bootstrap tokens, or approval of nodes' client certificates.
    ClientCertificates,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tokens => "token review by nodejoin's authenticator",
            Self::Audit => "audit events of the API server",
            Self::Kubelets => "connections from the API server to kubelets",
            Self::ClientCertificates => {
                "client certificates for nodes, with bootstrap tokens or on an Outpost"
            }
        })
    }
}

/// A capability that a control plane lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    pub need: Need,
    /// The reason, and what the user can do.
    pub why: String,
}

impl Lack {
    /// For control planes without kubeadm's objects. `providers` lists the others.
    pub(crate) fn client_certificates(providers: &str) -> Self {
        Self {
            need: Need::ClientCertificates,
            why: format!("only the control planes {providers} do"),
        }
    }

    /// For API servers that nodejoin does not start.
    pub(crate) fn kubelets() -> Self {
        Self {
            need: Need::Kubelets,
            why: "an API server that nodejoin does not start is not on the network of its nodes".to_owned(),
        }
    }
}

/// Why a control plane with these lacks cannot judge a scenario; `None` if it can.
#[must_use]
pub fn lacking(plan: &Plan, lacks: &[Lack]) -> Option<String> {
    let needs = needs(plan);
    let lack = lacks.iter().find(|lack| needs.contains(&lack.need))?;
    Some(format!(
        "this control plane does not provide {}: {}",
        lack.need, lack.why
    ))
}

/// Whether a check reads the audit log.
fn is_in_the_audit_log(expect: &Expect) -> bool {
    let node = expect.node.as_ref();
    let certificates = expect.certificates.iter().flatten();
    expect.diagnosis.is_some()
        || expect.authentication.is_some()
        || node.is_some_and(|node| !node.labels_at_creation.is_empty() || !node.taints_at_creation.is_empty())
        || certificates
            .into_iter()
            .any(|certificate| certificate.decided_by.is_some())
}

/// Whether a check reads something from a kubelet through the API server.
fn calls_kubelets(expect: &Expect) -> bool {
    let kubelet = expect.kubelet.as_ref();
    expect.pod.is_some() || kubelet.is_some_and(|kubelet| !kubelet.config.is_empty())
}

/// What a scenario needs. Every node presents a token, and diagnosing a failed join needs the rejections in the audit
/// log.
#[must_use]
pub fn needs(plan: &Plan) -> Vec<Need> {
    let any = |is_so: fn(&Expect) -> bool| plan.expect.with_alternatives().any(is_so);
    let logged = any(is_in_the_audit_log);
    let calls_kubelet = plan.pod.is_some() || any(calls_kubelets);
    let by_certificate = !plan.cluster.bootstrap_tokens.is_empty() || plan.cluster.eks.outpost.is_some();
    [
        (true, Need::Tokens),
        (logged, Need::Audit),
        (calls_kubelet, Need::Kubelets),
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
        for (expect, expected) in [
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
            assert_eq!(needs(&plan(expect)), expected, "{expect}");
        }
    }

    #[test]
    fn a_lack_is_a_reason_only_if_the_scenario_needs_it() {
        let plan = plan("expect: { phase: ready }");
        let lack = |need| Lack {
            need,
            why: "no flag".to_owned(),
        };
        assert_eq!(lacking(&plan, &[lack(Need::Audit), lack(Need::Kubelets)]), None);
        assert_eq!(lacking(&plan, &[]), None);
        assert_eq!(
            lacking(&plan, &[lack(Need::Tokens)]).unwrap(),
            "this control plane does not provide token review by nodejoin's authenticator: no flag"
        );
    }
}
