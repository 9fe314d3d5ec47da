//! The role of the instance, and how the cluster lets it in.

use nodejoin_core::plan::aws::AuthenticationMode;

use super::file_name::file_name;
use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use super::yaml_text::YamlText;
use crate::machine::{Machine, Traits};

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
        note_profile(traits, report);
        if is_mapped_by_default {
            return Self {
                role: stated_role,
                ..Self::default()
            };
        }
        let role = stated_role.unwrap_or_else(|| stand_in(machine));
        if stated.is_named_by_instance_id {
            report_name(&role, mode, report);
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

fn note_profile(traits: &Traits, report: &mut Vec<AdoptionLine>) {
    if let (None, Some(profile)) = (role(traits), &traits.instance_profile) {
        let text = format!(
            "the file names the instance profile {profile} and not its role: the cluster lets the run's role in"
        );
        line(report, AdoptionKind::Note, text);
    }
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
