//! Account files: the AWS account of a scenario without a node, for users who need only the fake AWS.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::cluster_file::{ClusterFile, RoleMappingFile};
use super::file::{IamFile, InstanceFile, Scenario};
use super::load::{self, load};
use super::user_data_file::UserDataFile;
use super::{replicas, resolve, rules};
use crate::input::document;
use crate::input::files::Files;
use crate::input::problem::{Position, Problem, ScenarioError};
use crate::input::problems::Problems;
use crate::input::schema::schema_of;
use crate::input::yaml;
use crate::plan::aws::AwsPlan;
use crate::plan::change::AwsAuthText;
use crate::plan::expect::Expect;
use crate::plan::fault::Fault;
use crate::plan::{Cni, Network, NewerSettings, Plan, RoleMapping, Stubs, Timeouts};
use crate::vocabulary::ids::AccountId;
use crate::vocabulary::region::Region;

/// An AWS account: its instances, their role, a cluster and other resources. Missing keys have the defaults of a
/// scenario.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccountFile {
    /// Purpose of the account, for people only.
    pub about: Option<String>,
    /// The AWS account id (default: `111122223333`).
    pub account: Option<AccountId>,
    /// The AWS region (default: `eu-west-1`).
    pub region: Option<Region>,
    /// The EC2 instance that the metadata service describes.
    pub instance: InstanceFile,
    /// Several EC2 instances instead of one, each with a metadata service on a port of its own. They share the account,
    /// the role, the subnet and the availability zone of the first.
    pub instances: Vec<InstanceFile>,
    /// Number of instances that differ from `instance` only in id, address and name, 1 to 100 (default: 1).
    pub count: Option<u32>,
    /// Permissions of the instance's role.
    pub iam: IamFile,
    /// Resources of the account besides the instance, its role and its cluster.
    pub aws: AwsPlan,
    /// The EKS cluster.
    pub cluster: ClusterFile,
    /// The user data of the instance: the text itself, or a mapping that names its source.
    pub user_data: Option<UserDataFile>,
    /// Faults of AWS: which requests they apply to, and what happens to those requests.
    pub faults: Vec<Fault>,
}

/// The plan of an account. Reads a scenario if the file has a `name`, else an account file.
///
/// # Errors
/// All problems of the file.
pub fn load_account(path: &Path, files: &dyn Files) -> Result<Plan, ScenarioError> {
    if is_scenario(path, files) {
        let root = path.parent().unwrap_or(Path::new(""));
        let plan = load(path, root, files)?;
        let tree = parsed(path, files).expect("the scenario was read from it");
        let name = path.display().to_string();
        let mut problems = Problems::of(&name, &tree);
        rules::check_served_faults(&plan.faults, &mut problems);
        return finished(problems.into_problems(), plan);
    }
    if is_empty(path, files) {
        return Ok(default_account(files));
    }
    let read = document::read_by(path, "an account file", &schema_of::<AccountFile>(), files)?;
    let mut problems = Problems::of(&read.name, &read.tree);
    check_keys(&read.value, &read.tree, &mut problems);
    let instances = read.value.instances.clone();
    let scenario = scenario(read.value);
    let id = load::id_of(path, path.parent().unwrap_or(Path::new("")), files);
    let mut plan = resolve::resolve(&scenario, id, path, &read.text, files, &mut problems);
    rules::check_count(&scenario, &plan, &mut problems);
    rules::check_served_faults(&plan.faults, &mut problems);
    if instances.is_empty() {
        rules::check_account(&scenario, &plan, &mut problems);
    } else {
        plan.others = replicas::listed(&instances, &plan);
        rules::check_listed(&instances, &scenario, &plan, &mut problems);
    }
    finished(problems.into_problems(), plan)
}

/// Checks that the instances of a file are given in one way.
fn check_keys(file: &AccountFile, tree: &yaml::YamlTree, problems: &mut Problems<'_>) {
    if tree.entry("instances").is_none() {
        return;
    }
    if file.instances.is_empty() {
        problems.add(
            "instances",
            "the list has no instance",
            "",
            "remove it, or add an instance",
        );
    }
    for key in ["instance", "count"] {
        if tree.entry(key).is_some() {
            let what = format!("`{key}` cannot be combined with `instances`");
            problems.add(key, what, "", "remove one of the two keys");
        }
    }
}

/// The plan of an account without any settings.
///
/// # Panics
/// Never: every default is valid.
#[must_use]
pub fn default_account(files: &dyn Files) -> Plan {
    let tree = yaml::parse("{}").expect("an empty mapping is YAML");
    let mut problems = Problems::of("", &tree);
    let id = "account".parse().expect("the word is a scenario id");
    resolve::resolve(
        &scenario(AccountFile::default()),
        id,
        Path::new(""),
        "",
        files,
        &mut problems,
    )
}

/// Parses rows of `aws-auth` in the format of `cluster.aws_auth`.
///
/// # Errors
/// All problems of the rows.
pub fn aws_auth_rows(
    rows: &AwsAuthText,
    account: &AccountId,
    region: &Region,
) -> Result<Vec<RoleMapping>, ScenarioError> {
    let schema = schema_of::<Vec<RoleMappingFile>>();
    let (file, text) = (rows.file.clone(), rows.text.clone());
    let read = document::of_text::<Vec<RoleMappingFile>>(file, text, "a list of rows", &schema)?;
    let mut problems = Vec::new();
    for (index, row) in read.value.iter().enumerate() {
        if row.role.is_some() == row.rolearn.is_some() {
            problems.push(Problem {
                file: read.name.clone(),
                position: read.tree.position_of(&[yaml::PathStep::Index(index)]),
                key: format!("[{index}]"),
                what: "set exactly one of `role` and `rolearn`".to_owned(),
                why: String::new(),
                hint: None,
            });
        }
    }
    let rows = read.value.into_iter();
    let rows = rows.map(|row| resolve::mapping(row, account, region)).collect();
    finished(problems, rows)
}

/// Whether the file has no keys, such as one with comments only: every value is then the default.
fn is_empty(path: &Path, files: &dyn Files) -> bool {
    parsed(path, files).is_some_and(|tree| tree.value == yaml::YamlValue::Null)
}

/// Whether the file is a scenario: only scenarios have a `name`. The reader that follows reports unreadable files.
fn is_scenario(path: &Path, files: &dyn Files) -> bool {
    parsed(path, files).is_some_and(|tree| tree.entry("name").is_some())
}

fn parsed(path: &Path, files: &dyn Files) -> Option<yaml::YamlTree> {
    let text = String::from_utf8(files.read(path).ok()?).ok()?;
    yaml::parse(&text).ok()
}

fn scenario(file: AccountFile) -> Scenario {
    Scenario {
        variables: Vec::new(),
        name: "account".to_owned(),
        about: file.about,
        tags: Vec::new(),
        kubernetes: None,
        kubelet: None,
        control_plane: None,
        network: Network::default(),
        outside: BTreeMap::new(),
        http_proxy: None,
        image: None,
        overlay: None,
        account: file.account,
        region: file.region,
        instance: file.instances.first().cloned().unwrap_or(file.instance),
        iam: file.iam,
        aws: file.aws,
        cluster: file.cluster,
        user_data: file.user_data,
        faults: file.faults,
        dns_faults: Vec::new(),
        cni: Cni::default(),
        stubs: Stubs::default(),
        newer_settings: NewerSettings::default(),
        pod: None,
        count: file.count.filter(|_| file.instances.is_empty()),
        golden: None,
        then: Vec::new(),
        expect: Expect::default(),
        limits: Timeouts::default(),
    }
}

fn finished<T>(mut problems: Vec<Problem>, value: T) -> Result<T, ScenarioError> {
    problems.sort_by_key(|problem: &Problem| -> Position { problem.position });
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(ScenarioError { problems })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;

    fn account(text: &str) -> Result<Plan, String> {
        let files = Memory::default().with("/a.yaml", text);
        load_account(Path::new("/a.yaml"), &files).map_err(|error| error.with_hints())
    }

    #[test]
    fn an_account_file_accepts_keys_of_a_scenario() {
        let files = Memory::default();
        let plain = default_account(&files);
        assert_eq!(plain.account.as_str(), "111122223333");
        assert!(plain.role.is_some() && plain.user_data.is_none());
        let plan = account("account: '222233334444'\ncluster: { name: demo }\nuser_data: hello\n").unwrap();
        assert_eq!(
            (plan.account.as_str(), plan.cluster.name.as_str()),
            ("222233334444", "demo")
        );
        assert!(plan.user_data.is_some());
    }

    #[test]
    fn a_scenario_works_as_an_account_file() {
        let text =
            "name: x\nuser_data: '#!/bin/sh'\ncluster: { name: demo }\nexpect: { phase: registered }\n";
        assert_eq!(account(text).unwrap().cluster.name, "demo");
    }

    #[test]
    fn an_account_cannot_refuse_connections() {
        let faults = "faults: [{ service: eks, effect: refuse, times: 1 }]\n";
        for text in [
            faults.to_owned(),
            format!("name: x\nuser_data: '#!/bin/sh'\n{faults}"),
        ] {
            let error = account(&text).unwrap_err();
            assert!(
                error.contains("`nodejoin aws` cannot refuse connections"),
                "{error}"
            );
            assert!(error.contains("use `effect: close`"), "{error}");
            account(&text.replace("refuse", "close")).unwrap();
        }
    }

    #[test]
    fn keys_of_scenarios_only_are_rejected_with_their_position() {
        let error = account("region: eu-west-1\nexpect: { phase: ready }\n").unwrap_err();
        assert!(error.starts_with("/a.yaml:2:1"), "{error}");
        let error = account("instance: { mac: x }\n").unwrap_err();
        assert!(error.contains("invalid MAC address `x`"), "{error}");
    }

    #[test]
    fn rows_of_aws_auth_have_the_format_of_scenarios() {
        let rows = |text: &str| {
            let rows = AwsAuthText {
                file: "/rows".to_owned(),
                text: text.to_owned(),
            };
            let (account, region) = ("111122223333".parse().unwrap(), "eu-west-1".parse().unwrap());
            aws_auth_rows(&rows, &account, &region).map_err(|error| error.with_hints())
        };
        let found = rows("- role: Node\n").unwrap();
        assert_eq!(found[0].rolearn, "arn:aws:iam::111122223333:role/Node");
        assert_eq!(found[0].groups, ["system:bootstrappers", "system:nodes"]);
        let error = rows("- role: Node\n- username: u\n").unwrap_err();
        assert!(error.starts_with("/rows:2:3"), "{error}");
        assert!(rows("role: Node\n").unwrap_err().contains("/rows:1:1"));
    }
}
