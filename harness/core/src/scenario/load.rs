//! Reads scenario files into plans.

use std::collections::BTreeMap;
use std::path::Path;

use super::discover::ScenarioPath;
use super::reading::scenarios_of;
use super::variants;
use crate::input::files::Files;
use crate::input::problem::{Position, Problem, ScenarioError};
use crate::plan::Plan;
use crate::vocabulary::ids::ScenarioId;

/// Reads the only scenario of a file. Its id is its path below `root`.
///
/// # Errors
/// All problems of the file; a file with a list `with`.
pub fn load(path: &Path, root: &Path, files: &dyn Files) -> Result<Plan, ScenarioError> {
    let mut plans = load_below(path, root, files)?;
    match (plans.pop(), plans.is_empty()) {
        (Some(plan), true) => Ok(plan),
        (_, is_empty) => Err(ScenarioError {
            problems: vec![Problem {
                file: path.display().to_string(),
                position: Position::default(),
                key: variants::KEY.to_owned(),
                what: "expected one scenario".to_owned(),
                why: format!("the file has {}", if is_empty { "none" } else { "several" }),
                hint: None,
            }],
        }),
    }
}

/// Reads the scenarios of a file: one, or those of its list `with`.
fn load_below(path: &Path, root: &Path, files: &dyn Files) -> Result<Vec<Plan>, ScenarioError> {
    scenarios_of(path, id_of(path, root, files), files, true)
}

/// Reads all scenarios of a run and rejects duplicate ids. Scenarios with the same instance, address or role run one
/// after the other.
///
/// # Errors
/// All problems of all files.
pub fn load_all(found: &[ScenarioPath], files: &dyn Files) -> Result<Vec<Plan>, ScenarioError> {
    let mut plans = Vec::new();
    let mut problems = Vec::new();
    for path in found {
        match load_file(path, files) {
            Ok(found) => plans.extend(found),
            Err(error) => problems.extend(error.problems),
        }
    }
    // Those of an overlay are found once for each scenario that has it.
    let mut known = Vec::new();
    problems.retain(|problem| {
        let is_new = !known.contains(problem);
        known.extend(is_new.then(|| problem.clone()));
        is_new
    });
    problems.extend(duplicates(&plans.iter().collect::<Vec<_>>()));
    if problems.is_empty() {
        Ok(plans)
    } else {
        Err(ScenarioError { problems })
    }
}

/// Reads the scenarios of one of several files, whose ids [`duplicates`] compares.
///
/// # Errors
/// All problems of the file.
pub fn load_file(found: &ScenarioPath, files: &dyn Files) -> Result<Vec<Plan>, ScenarioError> {
    load_below(&found.path, &found.root, files)
}

pub(super) fn id_of(path: &Path, root: &Path, files: &dyn Files) -> ScenarioId {
    let (path, root) = (files.absolute(path), files.absolute(root));
    let below = path
        .strip_prefix(&root)
        .ok()
        .filter(|below| below.components().next().is_some());
    let below = below.unwrap_or_else(|| Path::new(path.file_name().unwrap_or_default()));
    let text = below.with_extension("").to_string_lossy().to_lowercase();
    let safe: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_lowercase() || c.is_ascii_digit() || "-_./".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    safe.parse()
        .unwrap_or_else(|_| "scenario".parse().expect("the word is a scenario id"))
}

/// A problem for each pair of files with the same id: their paths differ in the extension or in characters that an id
/// does not have.
#[must_use]
pub fn duplicates(plans: &[&Plan]) -> Vec<Problem> {
    let mut owners: BTreeMap<&str, &Plan> = BTreeMap::new();
    let mut problems = Vec::new();
    for plan in plans {
        let Some(first) = owners.insert(plan.id.as_str(), plan) else {
            continue;
        };
        problems.push(Problem {
            file: plan.file.clone(),
            position: Position::default(),
            key: String::new(),
            what: format!("the id `{}` is already in use", plan.id),
            why: format!("by {}: an id is the path without its extension", first.file),
            hint: Some("rename one of the files".to_owned()),
        });
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image_archive::tests::saved;
    use crate::input::files::Memory;
    use crate::plan::RoleMapping;
    use crate::plan::architecture::Architecture;
    use crate::vocabulary::phase::Phase;

    fn other_processor() -> Architecture {
        match std::env::consts::ARCH {
            "x86_64" => Architecture::Aarch64,
            _ => Architecture::X86_64,
        }
    }

    fn plan(text: &str) -> Plan {
        match load_text(text) {
            Ok(plan) => plan,
            Err(error) => panic!("{text}\n{error}"),
        }
    }

    fn load_text(text: &str) -> Result<Plan, String> {
        let files = Memory::default()
            .with("/s/refused/a.yaml", format!("name: x\n{text}"))
            .with("/s/refused/data.sh", "#!/bin/sh\necho {{ cluster.endpont }}\n")
            .with("/s/refused/one.patch", "@@ -1 +1 @@\n-#!/bin/bash\n+#!/bin/zsh\n")
            .with(
                "/s/refused/template.patch",
                "@@ -1 +1,2 @@\n+{{ cluster.nope }}\n #!/bin/sh\n",
            )
            .with("/s/refused/big", "x".repeat(16 * 1024 + 1))
            .with(
                "/s/refused/packed",
                [&[0x1f, 0x8b][..], &[7; 16 * 1024][..]].concat(),
            )
            .with("/s/refused/other.tar", saved(other_processor().go()));
        load(Path::new("/s/refused/a.yaml"), Path::new("/s"), &files).map_err(|error| error.with_hints())
    }

    #[test]
    fn missing_keys_have_defaults() {
        let plan = plan("user_data: '#!/bin/sh'\ninstance: { private_ip: 192.168.40.16, role: /eks/Node }\n");
        assert_eq!(plan.id.as_str(), "refused/a");
        assert_eq!(plan.expect.phase, Some(Phase::Ready));
        assert_eq!(
            plan.instance.private_dns_name,
            "ip-192-168-40-16.eu-west-1.compute.internal"
        );
        assert_eq!(plan.instance.host_name, plan.instance.private_dns_name);
        assert_eq!(
            (
                plan.instance.subnet_cidr.as_str(),
                plan.instance.vpc_cidrs[0].as_str()
            ),
            ("192.168.32.0/19", "192.168.0.0/16")
        );
        assert_eq!(
            plan.instance.tags[&format!("kubernetes.io/cluster/{}", plan.cluster.name)],
            "owned"
        );
        let role = plan.role.unwrap();
        assert_eq!((role.name.as_str(), role.path.as_str()), ("Node", "/eks/"));
        assert_eq!(
            plan.cluster.aws_auth,
            [RoleMapping {
                rolearn: "arn:aws:iam::111122223333:role/Node".into(),
                username: "system:node:{{EC2PrivateDNSName}}".into(),
                groups: vec!["system:bootstrappers".into(), "system:nodes".into()],
                ..RoleMapping::default()
            }]
        );
    }

    #[test]
    fn null_and_empty_differ_from_missing() {
        let text = "user_data: '#!'\ninstance: { role: ~ }\ncluster: { service_ipv4_cidr: null }\n";
        let plan_ = plan(text);
        assert_eq!(
            (
                plan_.role,
                plan_.cluster.service_ipv4_cidr,
                plan_.cluster.aws_auth
            ),
            (None, None, vec![])
        );
        let plan_ = plan("user_data: '#!'\ncluster: { aws_auth: [] }\n");
        assert!(plan_.role.is_some() && plan_.cluster.aws_auth.is_empty());
        assert_eq!(plan_.cluster.service_ipv4_cidr.as_deref(), Some("10.100.0.0/16"));
        assert_eq!(
            plan("user_data: '#!'\ncni: none\n").expect.phase,
            Some(Phase::Registered)
        );
    }

    #[test]
    fn a_pod_must_answer_unless_a_failure_is_expected() {
        let answers = |text: &str| plan(text).expect.pod.and_then(|pod| pod.answers);
        assert_eq!(answers("user_data: '#!'\npod: {}\n"), Some(true));
        assert_eq!(
            answers("user_data: '#!'\npod: {}\nexpect: { phase: ready }\n"),
            Some(true)
        );
        assert_eq!(
            answers("user_data: '#!'\npod: {}\nexpect: { pod: { answers: false } }\n"),
            Some(false)
        );
        assert_eq!(answers("user_data: '#!'\n"), None);
        let failing = "user_data: '#!'\npod: {}\nexpect: { diagnosis: role-not-mapped }\n";
        assert_eq!((answers(failing), plan(failing).expect.phase), (None, None));
    }

    #[test]
    fn a_derived_address_is_in_the_given_subnet() {
        let plan = plan("user_data: '#!'\ninstance: { subnet_cidr: 10.1.2.0/28 }\n");
        let subnet: crate::vocabulary::cidr::Cidr = "10.1.2.0/28".parse().unwrap();
        assert!(subnet.contains(plan.instance.private_ip) && !subnet.is_reserved(plan.instance.private_ip));
        assert_eq!(plan.instance.vpc_cidrs, ["10.1.0.0/16"]);
    }

    #[test]
    fn parts_form_one_mime_message() {
        use base64::Engine as _;
        let plan = plan(
            "user_data: { gzip: true, parts: [{ type: shell, inline: '#!/bin/sh' }, { type: node-config, inline: x }] }\n",
        );
        let user_data = plan.user_data.unwrap();
        assert!(user_data.gzip);
        let text = String::from_utf8(
            base64::engine::general_purpose::STANDARD
                .decode(user_data.base64)
                .unwrap(),
        )
        .unwrap();
        assert!(
            text.contains("text/x-shellscript") && text.contains("application/node.eks.aws"),
            "{text}"
        );
    }

    /// What stands after `name: x` on line 1.
    const REFUSED: &[&str] = &[
        "x: &a 1",
        "instance: { x-a: 1 }",
        "kubernetes: '>=one'",
        "kubernetes: 1.20",
        "account: '12'",
        "region: mars",
        "overlay: nope.yaml",
        "instance: { id: i-1 }",
        "instance: { private_ip: 300.1.1.1 }",
        "instance: { vpc_cidrs: [10.0.0.1/8] }",
        "user_data: { file: nope.sh }",
        "user_data: { file: big }",
        "user_data: { file: packed }",
        "user_data: { file: data.sh }",
        "user_data: |\n  #!/bin/sh\n  echo {{ cluster.nam }}",
        "user_data: { file: data.sh, inline: x }",
        "user_data: { engine: direct }",
        "user_data: { file: data.sh, patch: none.patch }",
        "user_data: { file: data.sh, patch: one.patch }",
        "user_data: { file: data.sh, patch: template.patch }",
        "user_data: { inline: x, patch: one.patch }",
        "user_data: { parts: [{ type: shell, file: data.sh, patch: one.patch }] }",
        "user_data: { parts: [{ type: shell }] }",
        "user_data: { parts: [] }",
        "user_data: ''",
        "aws: { repositories: [{ name: web, images: [{ archive: nope.tar }] }] }",
        "aws: { repositories: [{ name: web, images: [{ archive: data.sh }] }] }",
        "aws: { repositories: [{ name: web, images: [{ archive: other.tar }] }] }",
        "aws: { repositories: [{ name: web, images: [{ tags: [a] }] }] }",
        "aws: { repositories: [{ name: web, images: [{ tags: [a], engine: x }, { tags: [b, a], engine: z }] }] }",
        "aws: { repositories: [{ name: web, images: [{ tags: ['v 1'], engine: x }] }] }",
        "aws: { repositories: [{ name: Web }] }",
        "aws: { repositories: [{ name: web }, { name: web }] }",
        "cni: [",
        "name: twice",
    ];

    #[test]
    fn problems_point_at_their_position() {
        let reports = REFUSED
            .iter()
            .map(|text| (*text, load_text(&format!("{text}\n")).expect_err(text)));
        let listing = crate::testing::listing(reports);
        let listing = Architecture::ALL.iter().fold(listing, |text, architecture| {
            text.replace(&format!("linux/{}", architecture.go()), "linux/[ARCHITECTURE]")
        });
        insta::assert_snapshot!(listing);
    }

    #[test]
    fn anchors_stand_below_keys_with_an_x() {
        let plan = plan(
            "x-role: &role { role: shared }\nx-labels:\n  team: &team thor\nuser_data: '#!'\ninstance: *role\n\
             expect:\n  phase: registered\n  node: { labels: { team: *team } }\n",
        );
        assert_eq!(plan.role.unwrap().name, "shared");
        assert_eq!(plan.expect.node.unwrap().labels["team"], "thor");
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = load(Path::new("/nope.yaml"), Path::new("/"), &Memory::default()).unwrap_err();
        assert!(
            error.to_string().starts_with("/nope.yaml: cannot read scenario"),
            "{error}"
        );
    }

    #[test]
    fn the_problem_of_a_shared_overlay_is_reported_once() {
        let scenario = "name: x\nuser_data: '#!'\noverlay: overlay.yaml\n";
        let files = Memory::default()
            .with("/s/a.yaml", scenario)
            .with("/s/b.yaml", scenario)
            .with("/s/overlay.yaml", "files: [{ from: gone, to: /x }]\n");
        let found = ["a", "b"].map(|name| ScenarioPath {
            path: format!("/s/{name}.yaml").into(),
            root: "/s".into(),
        });
        let error = load_all(&found, &files).unwrap_err();
        assert_eq!(error.problems.len(), 1, "{error}");
    }

    #[test]
    fn two_files_can_name_the_same_instance_but_not_have_the_same_id() {
        let pinned =
            "name: x\nuser_data: '#!'\ninstance: { id: i-0b22a22eec53b9321, private_ip: 192.168.40.16 }\n";
        let files = Memory::default()
            .with("/s/a.yaml", pinned)
            .with("/s/a.yml", pinned)
            .with("/s/b.yaml", pinned);
        let found = |name: &str| ScenarioPath {
            path: format!("/s/{name}").into(),
            root: "/s".into(),
        };
        assert_eq!(
            load_all(&[found("a.yaml"), found("b.yaml")], &files)
                .unwrap()
                .len(),
            2
        );
        let error = load_all(&[found("a.yaml"), found("a.yml")], &files).unwrap_err();
        let reported: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            reported,
            ["/s/a.yml: the id `a` is already in use: by /s/a.yaml: an id is the path without its extension"]
        );
    }
}
