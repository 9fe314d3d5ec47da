//! The role of the instance, and how the cluster lets it in.

use nodejoin_core::plan::aws::AuthenticationMode;

use super::bootstrap_call::BootstrapCall;
use super::file_name::file_name;
use super::refused_entries::note_refused_entries;
use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use super::stated_mapping::StatedMapping;
use super::yaml_text::YamlText;
use crate::eks::is_bottlerocket;
use crate::machine::{AmiFamily, Machine, StartedBy, Traits};
use crate::role_rights::{DESCRIBE_CLUSTER, DESCRIBE_INSTANCES};

/// The name of a session of an instance's role is the instance id.
const BY_INSTANCE_ID: &str = "system:node:{{SessionName}}";
/// The longest name of a role.
const ROLE_LENGTH: usize = 64;
const ROLE_SUFFIX: &str = "-NodeInstanceRole";

/// Role and mapping. Without a role of the file and without a reason to name one, the scenario derives both.
#[derive(Debug, Default)]
pub(crate) struct NodeAccess {
    /// Path and name of the role.
    pub(crate) role: Option<String>,
    pub(crate) access_entries: Option<YamlText>,
    pub(crate) aws_auth: Option<YamlText>,
}

impl NodeAccess {
    pub(crate) fn of(machine: &Machine, stated: &Stated, report: &mut Vec<AdoptionLine>) -> Self {
        let traits = &machine.traits;
        let mode = traits.cluster.authentication_mode;
        let stated_role = role(traits);
        if let Some(role) = &stated_role {
            line(report, AdoptionKind::Adopted, format!("role {role}"));
        }
        let is_mapped_by_default = !stated.is_named_by_instance_id && mode != Some(AuthenticationMode::Api);
        note_profile(machine, stated, report);
        note_rights(machine, stated, report);
        note_refused_entries(&traits.cluster, report);
        let mapping = stated_role
            .as_deref()
            .and_then(|role| StatedMapping::of(machine, role));
        if let Some(mapping) = mapping {
            mapping.report(report);
            return Self {
                access_entries: Some(mapping.access_entries()),
                aws_auth: mapping.aws_auth(),
                role: stated_role,
            };
        }
        if is_mapped_by_default {
            return Self {
                role: stated_role,
                ..Self::default()
            };
        }
        let role = stated_role.unwrap_or_else(|| stand_in(machine));
        if stated.is_named_by_instance_id {
            report_name(&role, mode, report);
        } else {
            report_entry(machine, &role, report);
        }
        Self::mapped(role, stated.is_named_by_instance_id, mode)
    }

    fn mapped(role: String, is_by_instance_id: bool, mode: Option<AuthenticationMode>) -> Self {
        let row = |key, value: &str| {
            YamlText::List(vec![YamlText::map([
                ("role", Some(YamlText::text(&role))),
                (key, Some(YamlText::text(value))),
            ])])
        };
        let is_in_config_map = mode == Some(AuthenticationMode::ConfigMap);
        let entry_type = if is_by_instance_id { "EC2" } else { "EC2_LINUX" };
        Self {
            access_entries: (!is_in_config_map).then(|| row("type", entry_type)),
            aws_auth: is_in_config_map.then(|| row("username", BY_INSTANCE_ID)),
            role: Some(role),
        }
    }
}

/// The file cannot say how its cluster maps the role: the run maps it as the node needs it.
fn report_name(role: &str, mode: Option<AuthenticationMode>, report: &mut Vec<AdoptionLine>) {
    let mapping = match mode {
        Some(AuthenticationMode::ConfigMap) => {
            format!("a row of aws-auth with the user name `{BY_INSTANCE_ID}`")
        }
        _ => "an access entry of type EC2".to_owned(),
    };
    let text = format!(
        "{mapping} for the role {role}: with `InstanceIdNodeName` the node's name is its instance id, and the real cluster \
         must let the role in under that name too"
    );
    line(report, AdoptionKind::Chosen, text);
}

/// EKS itself creates the entry for a managed node group.
fn report_entry(machine: &Machine, role: &str, report: &mut Vec<AdoptionLine>) {
    let is_of_group = machine.managed.is_some() || machine.started_by == StartedBy::NodeGroup;
    if is_of_group || !machine.traits.cluster.access.entries.is_empty() {
        return;
    }
    let text = format!(
        "an access entry of type EC2_LINUX for the role {role}: the file states none, and with the authentication mode API the real \
         cluster lets the nodes in only with one"
    );
    line(report, AdoptionKind::Chosen, text);
}

fn note_profile(machine: &Machine, stated: &Stated, report: &mut Vec<AdoptionLine>) {
    let traits = &machine.traits;
    if traits.is_without_profile && needs_role(machine, stated) {
        let text = "the instances have no instance profile, and so no credentials: EKS accepts no token of them, and they cannot describe \
                    the cluster; name a profile with the role of the nodes. The instance of the run has a role nevertheless";
        line(report, AdoptionKind::Problem, text);
    }
    if let Some(profile) = traits
        .instance_profile
        .as_ref()
        .filter(|arn| arn.contains(":role/"))
    {
        let text = format!(
            "EC2 starts no instance: the instance profile has the ARN of a role, {profile}; name an instance profile with that role"
        );
        line(report, AdoptionKind::Problem, text);
        return;
    }
    if let (None, Some(profile)) = (role(traits), &traits.instance_profile) {
        let text = format!(
            "the file names the instance profile {profile} and not its role: the cluster lets the run's role in"
        );
        line(report, AdoptionKind::Note, text);
    }
}

/// What the role lacks. An AMI with a NodeConfig does not describe the cluster.
fn note_rights(machine: &Machine, stated: &Stated, report: &mut Vec<AdoptionLine>) {
    let traits = &machine.traits;
    let role = role(traits).unwrap_or_else(|| "of the instances".to_owned());
    if traits.role_rights.trusts_ec2 == Some(false) {
        let text = format!(
            "EC2 cannot assume the role {role}, and an instance with it has no credentials: its trust policy does not name the service \
             ec2.amazonaws.com"
        );
        let refusal = match machine.started_by {
            StartedBy::NodeGroup => "; EKS creates no node group with it",
            StartedBy::ScalingGroups | StartedBy::Unknown => "",
        };
        line(report, AdoptionKind::Problem, text + refusal);
    }
    let has = |call: &BootstrapCall, flag: &str| call.values.contains_key(flag);
    let mut calls = stated.calls.iter();
    let describes = calls.any(|call| !has(call, "--apiserver-endpoint") || !has(call, "--b64-cluster-ca"));
    let policies = traits.role_rights.policies_without(DESCRIBE_CLUSTER);
    // Another file or stack may attach more: this is not a mistake of the file.
    if let Some(policies) = policies.filter(|_| describes) {
        let text = format!(
            "this file attaches no policy to the role {role} that allows eks:DescribeCluster, only {}, and bootstrap.sh needs that right \
             without `--apiserver-endpoint` and `--b64-cluster-ca`: attach AmazonEKSWorkerNodePolicy, unless something outside of the file \
             does",
            policies.join(", ")
        );
        line(report, AdoptionKind::Note, text);
    }
    let policies = traits.role_rights.policies_without(DESCRIBE_INSTANCES);
    if let Some(policies) = policies.filter(|_| describes_instances(machine, stated)) {
        let text = format!(
            "this file attaches no policy to the role {role} that allows {DESCRIBE_INSTANCES}, only {}, and nodeadm needs that right unless \
             the feature gate `InstanceIdNodeName` is on: attach AmazonEKSWorkerNodePolicy, unless something outside of the file does",
            policies.join(", ")
        );
        line(report, AdoptionKind::Note, text);
    }
}

/// Whether nodeadm looks up the name of the node.
fn describes_instances(machine: &Machine, stated: &Stated) -> bool {
    let has_nodeadm = match machine.traits.ami_family {
        Some(AmiFamily::Al2023) => true,
        None => stated.calls.is_empty(),
        Some(_) => false,
    };
    has_nodeadm && stated.configs.is_any && !stated.is_named_by_instance_id && !is_bottlerocket(machine)
}

/// Whether nodes of the user data join with credentials of AWS, and get them from the instance.
fn needs_role(machine: &Machine, stated: &Stated) -> bool {
    let joins_eks = !stated.calls.is_empty() || stated.configs.is_any || is_bottlerocket(machine);
    let has_keys = stated.text.to_ascii_lowercase().contains("aws_access_key_id");
    joins_eks && stated.kubeadm.is_none() && !has_keys
}

/// Path and name of the role.
fn role(traits: &Traits) -> Option<String> {
    let role = traits.role.as_ref()?;
    let role = role.split_once(":role/").map_or(role.as_str(), |(_, path)| path);
    // A name that is not filled in is not one: IAM has none with these signs.
    (!role.is_empty() && !role.contains(['$', '<', '{'])).then(|| role.to_owned())
}

/// A mapping other than the default one must name a role.
fn stand_in(machine: &Machine) -> String {
    let mut name = file_name(&machine.name);
    name.truncate(ROLE_LENGTH - ROLE_SUFFIX.len());
    name + ROLE_SUFFIX
}
