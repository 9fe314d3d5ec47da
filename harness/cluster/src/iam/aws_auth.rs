//! `kube-system/aws-auth`: maps an ARN to a user name and groups.
//!
//! Invalid rows are skipped. Matching is case-insensitive on the canonical ARN, which never has a role's path, so a row
//! whose `rolearn` has a path never matches. The last of several rows for an ARN takes effect, because the
//! authenticator indexes rows by ARN. The order is `mapRoles`, `mapUsers`, `mapAccounts`.

use std::collections::BTreeMap;

use nodejoin_core::plan::RoleMapping;
use serde_json::Value;

pub(crate) const NAMESPACE: &str = "kube-system";
pub(crate) const NAME: &str = "aws-auth";

/// The parsed ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AwsAuth {
    roles: Vec<MappingRow>,
    users: Vec<MappingRow>,
    accounts: Vec<String>,
    /// Why rows were skipped, in the order of the rows.
    pub skipped: Vec<String>,
}

/// A row of `mapRoles` or `mapUsers`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MappingRow {
    arn: ArnPattern,
    username: String,
    groups: Vec<String>,
}

/// The ARNs that a row matches, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ArnPattern {
    Exact(String),
    /// A role that IAM Identity Center created: this prefix and 16 hexadecimal digits.
    SingleSignOn(String),
}

/// A user name and groups, before templates are expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    pub username: String,
    pub groups: Vec<String>,
}

impl AwsAuth {
    /// Parses the data of the ConfigMap.
    #[must_use]
    pub fn parse(data: &BTreeMap<String, String>) -> Self {
        let mut parsed = Self::default();
        parsed.roles = parsed.rows(data, "mapRoles", "rolearn");
        parsed.users = parsed.rows(data, "mapUsers", "userarn");
        parsed.accounts = parsed.list(data, "mapAccounts").iter().filter_map(text).collect();
        parsed
    }

    /// Finds the user for a canonical ARN.
    #[must_use]
    pub fn lookup(&self, canonical_arn: &str) -> Option<Mapped> {
        let arn = canonical_arn.to_ascii_lowercase();
        let mut rows = self.roles.iter().rev().chain(self.users.iter().rev());
        let row = rows.find(|row| row.arn.matches(&arn));
        if let Some(row) = row {
            return Some(Mapped {
                username: row.username.clone(),
                groups: row.groups.clone(),
            });
        }
        let account = canonical_arn.split(':').nth(4)?;
        self.accounts
            .iter()
            .any(|mapped| mapped == account)
            .then(|| Mapped {
                username: canonical_arn.to_owned(),
                groups: Vec::new(),
            })
    }

    /// The ARNs of `mapRoles`, in lower case, in the order of the rows.
    #[must_use]
    pub fn role_arns(&self) -> Vec<String> {
        let arns = self.roles.iter().filter_map(|row| match &row.arn {
            ArnPattern::Exact(arn) => Some(arn.clone()),
            ArnPattern::SingleSignOn(_) => None,
        });
        arns.collect()
    }

    fn rows(&mut self, data: &BTreeMap<String, String>, key: &str, arn: &str) -> Vec<MappingRow> {
        let mut rows = Vec::new();
        for (index, value) in self.list(data, key).iter().enumerate() {
            match MappingRow::parse(value, arn) {
                Ok(row) => rows.push(row),
                Err(reason) => self.skipped.push(format!("{key}[{index}]: {reason}")),
            }
        }
        rows
    }

    fn list(&mut self, data: &BTreeMap<String, String>, key: &str) -> Vec<Value> {
        let Some(text) = data.get(key) else {
            return Vec::new();
        };
        match serde_yaml::from_str(text) {
            Ok(Value::Array(rows)) => return rows,
            Ok(Value::Null) => {}
            Ok(_) => self.skipped.push(format!("{key}: not a list")),
            Err(error) => self.skipped.push(format!(
                "{key}: {}",
                error.to_string().lines().next().unwrap_or_default()
            )),
        }
        Vec::new()
    }
}

impl MappingRow {
    fn parse(value: &Value, arn_key: &str) -> Result<Self, String> {
        if !value.is_object() {
            return Err("not a map".to_owned());
        }
        let arn = match (field(value, arn_key).and_then(text), field(value, "sso")) {
            (Some(_), Some(_)) => return Err(format!("only one of `{arn_key}` and `sso` may be given")),
            (Some(arn), None) if !arn.is_empty() => ArnPattern::Exact(arn.to_ascii_lowercase()),
            (None, Some(sso)) => single_sign_on(sso)?,
            _ => return Err(format!("`{arn_key}` is missing")),
        };
        let groups = field(value, "groups").and_then(Value::as_array);
        let username = field(value, "username").and_then(text).unwrap_or_default();
        Ok(Self {
            arn,
            username,
            groups: groups.into_iter().flatten().filter_map(text).collect(),
        })
    }
}

impl ArnPattern {
    fn matches(&self, arn: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == arn,
            Self::SingleSignOn(prefix) => arn
                .strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())),
        }
    }
}

/// The `data` of a ConfigMap with these rows.
#[must_use]
pub fn config_map_data(rows: &[RoleMapping]) -> BTreeMap<String, String> {
    let mut text = String::new();
    for row in rows {
        let quoted = |value: &str| Value::from(value).to_string();
        text.push_str(&format!(
            "- rolearn: {}\n  username: {}\n",
            quoted(&row.rolearn),
            quoted(&row.username)
        ));
        text.push_str("  groups:\n");
        for group in &row.groups {
            text.push_str(&format!("  - {}\n", quoted(group)));
        }
    }
    BTreeMap::from([("mapRoles".to_owned(), text)])
}

fn single_sign_on(sso: &Value) -> Result<ArnPattern, String> {
    let get = |key: &str| field(sso, key).and_then(text).filter(|value| !value.is_empty());
    let name = get("permissionSetName").ok_or("`sso.permissionSetName` is missing")?;
    let account = get("accountID").ok_or("`sso.accountID` is missing")?;
    let partition = get("partition").unwrap_or_else(|| "aws".to_owned());
    let prefix = format!("arn:{partition}:iam::{account}:role/AWSReservedSSO_{name}_");
    Ok(ArnPattern::SingleSignOn(prefix.to_ascii_lowercase()))
}

/// Keys match case-insensitively, as in Go's JSON.
fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value
        .as_object()?
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(key))
        .map(|(_, value)| value)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // An account id without quotes is a number in YAML.
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:iam::111111111111:role/ng1-NodeInstanceRole";

    fn parse(roles: &str) -> AwsAuth {
        AwsAuth::parse(&BTreeMap::from([("mapRoles".to_owned(), roles.to_owned())]))
    }

    #[test]
    fn written_rows_parse_to_the_same_mapping() {
        let row = RoleMapping {
            rolearn: ARN.to_owned(),
            username: "system:node:{{EC2PrivateDNSName}}".to_owned(),
            groups: vec!["system:bootstrappers".to_owned(), "system:nodes".to_owned()],
            ..RoleMapping::default()
        };
        let parsed = AwsAuth::parse(&config_map_data(&[
            RoleMapping {
                groups: vec![],
                ..row.clone()
            },
            row.clone(),
        ]));
        assert_eq!(parsed.skipped, Vec::<String>::new());
        let mapped = parsed.lookup(&ARN.to_uppercase()).unwrap();
        assert_eq!((mapped.username, mapped.groups), (row.username, row.groups));
        assert_eq!(AwsAuth::parse(&config_map_data(&[])).roles, vec![]);
    }

    #[test]
    fn bad_rows_are_skipped_and_good_ones_kept() {
        let parsed = parse(&format!(
            "- nonsense\n- username: x\n- RoleARN: {ARN}\n  UserName: u\n"
        ));
        assert_eq!(
            parsed.skipped,
            ["mapRoles[0]: not a map", "mapRoles[1]: `rolearn` is missing"]
        );
        assert_eq!(
            parsed.lookup(ARN).unwrap(),
            Mapped {
                username: "u".to_owned(),
                groups: vec![]
            }
        );
        assert_eq!(parse("{ not: [a list").lookup(ARN), None);
    }

    #[test]
    fn a_role_with_a_path_never_matches() {
        let parsed =
            parse("- rolearn: arn:aws:iam::111111111111:role/path/ng1-NodeInstanceRole\n  username: u\n");
        assert_eq!(parsed.lookup(ARN), None);
    }

    #[test]
    fn the_last_of_two_rows_for_a_role_takes_effect() {
        let parsed = parse(&format!(
            "- rolearn: {ARN}\n  username: first\n- rolearn: {}\n  username: last\n",
            ARN.to_uppercase()
        ));
        assert_eq!(parsed.lookup(ARN).unwrap().username, "last");
    }

    #[test]
    fn users_accounts_and_single_sign_on() {
        let data = BTreeMap::from([
            (
                "mapUsers".to_owned(),
                "- userarn: arn:aws:iam::111111111111:user/ann\n  username: ann\n".to_owned(),
            ),
            (
                "mapAccounts".to_owned(),
                "- 222222222222\n- \"333333333333\"\n".to_owned(),
            ),
            (
                "mapRoles".to_owned(),
                "- sso: {permissionSetName: Admin, accountID: \"111111111111\"}\n  username: sso\n"
                    .to_owned(),
            ),
        ]);
        let parsed = AwsAuth::parse(&data);
        let name = |arn: &str| parsed.lookup(arn).map(|mapped| mapped.username);
        assert_eq!(name("arn:aws:iam::111111111111:user/ann").as_deref(), Some("ann"));
        assert_eq!(
            name("arn:aws:iam::222222222222:user/x").as_deref(),
            Some("arn:aws:iam::222222222222:user/x")
        );
        let sso = "arn:aws:iam::111111111111:role/AWSReservedSSO_Admin_0123456789abcdef";
        assert_eq!(name(sso).as_deref(), Some("sso"));
        assert_eq!(name(ARN), None);
    }
}
