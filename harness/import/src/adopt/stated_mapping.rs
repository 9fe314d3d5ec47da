//! How access entries and `aws-auth` of the file let the role of a machine in, or keep it out.

use nodejoin_core::plan::access_entry::AccessEntryType;
use nodejoin_core::plan::aws::AuthenticationMode;

use super::report::{AdoptionKind, AdoptionLine, line};
use super::yaml_text::YamlText;
use crate::cluster_access::{AwsAuthRow, NODES, StatedEntry, role_name};
use crate::machine::{Machine, StartedBy};

/// How the user name of a node begins.
const USER_OF_NODES: &str = "system:node:";

/// The access of a machine's role to its cluster, as the file states it.
#[derive(Debug)]
pub(super) struct StatedMapping<'a> {
    role: &'a str,
    /// The account of the machine, if the file states one.
    account: Option<&'a str>,
    mode: Option<AuthenticationMode>,
    entries: &'a [StatedEntry],
    rows: Option<&'a [AwsAuthRow]>,
    effect: MappingEffect<'a>,
}

/// What EKS does with the role.
#[derive(Debug, Clone, Copy)]
enum MappingEffect<'a> {
    Entry(AccessEntryType),
    Row(&'a AwsAuthRow),
    /// Neither an entry nor a row is for the role.
    Refused,
}

impl<'a> StatedMapping<'a> {
    /// `None`: the file does not state it. EKS itself lets the role of a managed node group in.
    pub(super) fn of(machine: &'a Machine, role: &'a str) -> Option<Self> {
        let traits = &machine.traits;
        let is_stated = |account: &&str| !traits.stand_ins.contains_key(&format!("account {account}"));
        let account = traits.account.as_deref().filter(is_stated);
        let cluster = &traits.cluster;
        let (access, mode) = (&cluster.access, cluster.authentication_mode);
        let is_of_group = machine.managed.is_some() || machine.started_by == StartedBy::NodeGroup;
        let may_be_own = |group: &Option<String>| {
            let group = group.as_deref();
            group.is_none_or(|group| is_role(group, role, account))
        };
        if is_of_group || access.group_roles.iter().any(may_be_own) {
            return None;
        }
        let has_entries = mode.map_or(!access.entries.is_empty(), AuthenticationMode::has_entries);
        let entries = match has_entries {
            true => access.entries.as_slice(),
            false => &[],
        };
        let rows = access.rows();
        Some(Self {
            role,
            account,
            mode,
            entries,
            rows,
            effect: effect(mode, has_entries, (entries, rows), (role, account))?,
        })
    }

    /// The value of `access_entries`: entries that a scenario can have.
    pub(super) fn access_entries(&self) -> YamlText {
        let entry = |entry: &StatedEntry| {
            let (principal, entry_type) = (entry.own_principal()?, entry.entry_type?);
            let (key, principal) = self.named(principal, "principal_arn");
            // EKS has no such entry for a role of another account.
            let is_possible = key == "role" || entry_type == AccessEntryType::Standard;
            is_possible.then(|| {
                let entry_type = YamlText::text(entry_type.word());
                YamlText::map([(key, Some(principal)), ("type", Some(entry_type))])
            })
        };
        YamlText::List(self.entries.iter().filter_map(entry).collect())
    }

    /// The value of `aws_auth`.
    pub(super) fn aws_auth(&self) -> Option<YamlText> {
        let is_unused = self.mode == Some(AuthenticationMode::Api);
        let Some(rows) = self.rows.filter(|rows| !rows.is_empty()) else {
            return (is_unused || self.rows.is_some()).then(|| YamlText::plain("[]"));
        };
        let row = |row: &AwsAuthRow| {
            let (key, role) = self.named(&row.role_arn, "rolearn");
            let groups = match row.groups.is_empty() {
                true => YamlText::plain("[]"),
                false => YamlText::texts(row.groups.iter().cloned()),
            };
            let username = YamlText::text(&row.username);
            YamlText::map([
                (key, Some(role)),
                ("username", Some(username)),
                ("groups", Some(groups)),
            ])
        };
        Some(YamlText::List(rows.iter().map(row).collect()))
    }

    /// A role of the machine's account by its name, anything else by its ARN.
    fn named(&self, arn: &str, arn_key: &'static str) -> (&'static str, YamlText) {
        let is_own = self.account.is_none_or(|own| account_of(arn) == Some(own));
        match arn.split_once(":role/").filter(|_| is_own) {
            Some((_, path)) => ("role", YamlText::text(path)),
            None if !arn.starts_with("arn:") && arn_key == "principal_arn" => ("role", YamlText::text(arn)),
            None => (arn_key, YamlText::text(arn)),
        }
    }

    /// Reports what is adopted, and why it keeps nodes out.
    pub(super) fn report(&self, report: &mut Vec<AdoptionLine>) {
        let role = self.role;
        let adopted = match self.effect {
            MappingEffect::Entry(entry_type) => {
                format!("access entry of type {} for the role {role}", entry_type.word())
            }
            MappingEffect::Row(_) => format!("row of aws-auth for the role {role}"),
            MappingEffect::Refused => format!("the access that the file states, without the role {role}"),
        };
        line(report, AdoptionKind::Adopted, adopted);
        if let Some(problem) = self.problem() {
            line(report, AdoptionKind::Problem, problem);
        }
    }

    fn problem(&self) -> Option<String> {
        let role = self.role;
        match self.effect {
            MappingEffect::Entry(AccessEntryType::Standard) => Some(format!(
                "the access entry of the role {role} has the type STANDARD, which does not give nodes the group {NODES}: delete \
                 it and create one of type EC2_LINUX"
            )),
            MappingEffect::Entry(_) => None,
            MappingEffect::Row(row) => problem_of_row(row, role),
            MappingEffect::Refused => Some(self.refusal()),
        }
    }

    fn refusal(&self) -> String {
        let role = self.role;
        let entry = format!("access_entries: [{{ role: {role}, type: EC2_LINUX }}]");
        let name = role_name(role).unwrap_or(role);
        let row = format!("aws_auth: [{{ role: {name} }}]");
        let (what, remedy, key) = match (self.entries.is_empty(), self.mode) {
            (true, _) => (
                "the aws-auth of the file has no row",
                format!("add one with the group {NODES}"),
                row,
            ),
            (false, Some(AuthenticationMode::Api)) => (
                "the authentication mode is API, and the file has no access entry",
                "add one of type EC2_LINUX".to_owned(),
                entry,
            ),
            (false, _) => (
                "the file has neither an access entry nor a row of aws-auth",
                "add an access entry of type EC2_LINUX".to_owned(),
                entry,
            ),
        };
        format!(
            "{what} for the role {role}: EKS refuses its nodes; {remedy}, or try `--with 'cluster: {{ {key} }}'` if something outside \
             of the file adds it"
        )
    }
}

/// Which of the stated rights takes effect. An access entry takes precedence over a row. `has_entries`: whether the
/// cluster uses access entries.
fn effect<'a>(
    mode: Option<AuthenticationMode>,
    has_entries: bool,
    (entries, rows): (&'a [StatedEntry], Option<&'a [AwsAuthRow]>),
    (role, account): (&str, Option<&str>),
) -> Option<MappingEffect<'a>> {
    let is_own = |principal: &str| is_role(principal, role, account);
    let is_of_role = |entry: &&StatedEntry| entry.own_principal().is_some_and(is_own);
    if let Some(entry) = entries.iter().find(is_of_role) {
        return entry.entry_type.map(MappingEffect::Entry);
    }
    if entries.iter().any(|entry| entry.own_principal().is_none()) {
        return None;
    }
    let uses_rows = mode != Some(AuthenticationMode::Api);
    let used = rows.filter(|_| uses_rows).unwrap_or_default().iter();
    let own: Vec<&AwsAuthRow> = used.filter(|row| is_own(&row.role_arn)).collect();
    // The last of several rows for a role takes effect, and one with its path has none.
    let mut from_last = own.iter().rev().copied();
    let row = from_last.find(|row| !has_path(&row.role_arn));
    if let Some(row) = row.or_else(|| own.last().copied()) {
        return Some(MappingEffect::Row(row));
    }
    let is_whole = (!has_entries || !entries.is_empty()) && (!uses_rows || rows.is_some());
    is_whole.then_some(MappingEffect::Refused)
}

fn problem_of_row(row: &AwsAuthRow, role: &str) -> Option<String> {
    let begin = format!("the row of aws-auth for the role {role}");
    let arn = &row.role_arn;
    if has_path(arn) {
        let without = arn.split_once(":role/").zip(role_name(arn));
        let without = without.map(|((before, _), name)| format!("{before}:role/{name}"));
        return Some(format!(
            "{begin} has the path of the role, and EKS compares it with an ARN without the path: write {}",
            without.unwrap_or_default()
        ));
    }
    if !row.groups.iter().any(|group| group == NODES) {
        return Some(format!(
            "{begin} lacks the group {NODES}, without which a node cannot register: add it"
        ));
    }
    (!row.username.starts_with(USER_OF_NODES)).then(|| {
        format!(
            "{begin} has the user name `{}`, and only one that begins with `{USER_OF_NODES}` can register a node: write \
             `{USER_OF_NODES}{{{{EC2PrivateDNSName}}}}`",
            row.username
        )
    })
}

fn has_path(arn: &str) -> bool {
    arn.split_once(":role/")
        .is_some_and(|(_, name)| name.contains('/'))
}

/// Whether a principal is the role with this path and name. EKS compares names without paths.
fn is_role(principal: &str, role: &str, account: Option<&str>) -> bool {
    let is_elsewhere = account
        .zip(account_of(principal))
        .is_some_and(|(own, other)| own != other);
    let names = role_name(principal).zip(role_name(role));
    !is_elsewhere && names.is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
}

fn account_of(arn: &str) -> Option<&str> {
    arn.strip_prefix("arn:")?.split(':').nth(3)
}
