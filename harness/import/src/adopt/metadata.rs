//! The options of the instance's metadata, and who decides on tokens where the file does not.

use nodejoin_core::plan::Tokens;

use super::ami::{self, AmiFiles};
use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use super::yaml_text::YamlText;
use crate::machine::{AmiFamily, Machine, StartedBy};

/// The metadata path that instances of an Auto Scaling group have.
const LIFECYCLE_STATE: &str = "autoscaling/target-lifecycle-state";
/// What a request without a token gets.
const WITHOUT_TOKEN: &str = "the user data requests metadata without a token, and gets an error";
const OPTIONAL: &str = "add `--with 'instance: { metadata: { tokens: optional } }'` if";

pub(super) fn metadata(machine: &Machine, stated: &Stated, report: &mut Vec<AdoptionLine>) -> YamlText {
    let traits = &machine.traits;
    let tokens = tokens(machine, stated, report).map(|tokens| match tokens {
        Tokens::Required => "required",
        Tokens::Optional => "optional",
    });
    if let Some(limit) = traits.hop_limit {
        line(
            report,
            AdoptionKind::Adopted,
            format!("metadata hop limit {limit}"),
        );
    }
    let is_read = stated.text.contains(LIFECYCLE_STATE);
    if is_read {
        let text = format!("`{LIFECYCLE_STATE}` is InService, as of an instance that is not in a warm pool");
        line(report, AdoptionKind::Chosen, text);
    }
    YamlText::map([
        ("lifecycle_state", is_read.then(|| YamlText::text("InService"))),
        ("tokens", tokens.map(YamlText::text)),
        ("enabled", traits.http_endpoint.map(YamlText::plain)),
        ("instance_tags", traits.metadata_tags.map(YamlText::plain)),
        ("hop_limit", traits.hop_limit.map(YamlText::plain)),
    ])
}

/// What the file states about tokens, else what EC2 does without EKS. `None`: the default of a scenario, which requires
/// them.
fn tokens(machine: &Machine, stated: &Stated, report: &mut Vec<AdoptionLine>) -> Option<Tokens> {
    if let Some(tokens) = machine.traits.http_tokens {
        let word = match tokens {
            Tokens::Required => "required",
            Tokens::Optional => "optional",
        };
        line(report, AdoptionKind::Adopted, format!("metadata tokens {word}"));
        return Some(tokens);
    }
    let is_without_eks = is_without_eks(machine);
    if is_without_eks && is_al2(machine, stated) {
        let text = "metadata tokens optional, the default of EC2: neither the file nor AMIs for Amazon Linux 2 require them; \
                    add `--with 'instance: { metadata: { tokens: required } }'` if the account does";
        line(report, AdoptionKind::Chosen, text);
        return Some(Tokens::Optional);
    }
    if reads_without_token(&stated.text) {
        let is_without_template = is_without_eks || is_for_kubeadm(machine, stated);
        let (why, unless) = match (is_without_template, is_al2023(machine, stated)) {
            (false, _) => (
                "which the launch templates of EKS require",
                "the launch template does not require them",
            ),
            (true, true) => (
                "which AMIs for AL2023 require where the file does not state it",
                "the AMI does not require them",
            ),
            (true, false) => (
                "because the file does not state whether its AMI requires them",
                "neither the AMI nor the account requires them",
            ),
        };
        let text = format!("metadata tokens required, {why}: {WITHOUT_TOKEN}; {OPTIONAL} {unless}");
        line(report, AdoptionKind::Chosen, text);
    }
    None
}

/// Whether the machine has an AMI of its own, and no node group of the file starts it: EKS sets nothing.
fn is_without_eks(machine: &Machine) -> bool {
    let is_of_ec2 = machine.traits.ami_id.is_some() || machine.started_by == StartedBy::ScalingGroups;
    is_of_ec2 && machine.managed.is_none() && machine.started_by != StartedBy::NodeGroup
}

/// Whether the user data joins by kubeadm, which no launch template of EKS does.
fn is_for_kubeadm(machine: &Machine, stated: &Stated) -> bool {
    let choice = ami::choose(machine, stated);
    choice.is_ok_and(|choice| choice.files.contains(&AmiFiles::Kubeadm))
}

/// Whether the AMI is one for Amazon Linux 2, by the file or by the choice for the trial.
fn is_al2(machine: &Machine, stated: &Stated) -> bool {
    let is_chosen = || ami::choose(machine, stated).is_ok_and(|choice| choice.is_al2());
    match machine.traits.ami_family {
        Some(AmiFamily::Al2) => true,
        None | Some(AmiFamily::Custom) => {
            let is_called = stated.text.contains("/etc/eks/bootstrap.sh");
            (is_called || is_chosen()) && !is_al2023(machine, stated)
        }
        Some(_) => false,
    }
}

fn is_al2023(machine: &Machine, stated: &Stated) -> bool {
    let text = String::from_utf8_lossy(machine.user_data.as_deref().unwrap_or_default());
    machine.traits.ami_family == Some(AmiFamily::Al2023)
        || stated.configs.is_any
        || stated.text.contains("nodeadm init")
        || text.contains("node.eks.aws")
}

/// Whether a text requests metadata and never names the header with the token.
fn reads_without_token(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("169.254.169.254/latest/meta-data") && !text.contains("x-aws-ec2-metadata-token")
}
