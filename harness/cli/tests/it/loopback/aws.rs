//! `nodejoin aws`: curl, the AWS CLI and boto3 as clients of the real command, and changes while it runs.

use crate::support::account::{RunningAccount, file, nodejoin};
use crate::support::both;
use serde_json::{Value, json};
use tempfile::tempdir;

/// An account in which everything has a name.
const ACCOUNT: &str = "\
instance: { id: i-0b22a22eec53b9321, role: demo-role, life_cycle: spot, tags: { team: ironman, kubernetes.io-cluster: demo } }
cluster: { name: demo }
user_data: 'cluster {{ cluster.name }}'
";
const SESSION: &str = "arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321";

#[test]
fn the_printed_variables_point_an_aws_cli_and_boto3_at_the_account() {
    let served = RunningAccount::of(ACCOUNT);
    let identity: Value = serde_json::from_str(&served.cli("aws sts get-caller-identity")).unwrap();
    assert_eq!(identity["Arn"], SESSION);
    let query = "aws eks describe-cluster --name demo --query 'cluster.[status,version]' --output text";
    assert_eq!(served.cli(query), "ACTIVE\t1.32");
    let program = "import boto3; print(boto3.client('ec2').describe_instances()['Reservations'][0]['Instances'][0]['InstanceId'])";
    assert_eq!(
        served.cli(&format!("python -c \"{program}\"")),
        "i-0b22a22eec53b9321"
    );
    // `. FOLDER/env` exports the same variables, and the help lists them with the default ports.
    assert_eq!(
        file(&served.folder().join("env")).trim_end(),
        served.lines.join("\n")
    );
    let help = both(&nodejoin(&["aws", "--help"]).output().unwrap());
    let shape = |line: &str| {
        let line = line.split("AWS_CA_BUNDLE=").next().unwrap();
        let port = |digit: char| digit.is_ascii_digit();
        line.trim().trim_end_matches(port).to_owned()
    };
    let in_help: Vec<String> = help
        .lines()
        .filter(|line| line.trim_start().starts_with("export "))
        .map(shape)
        .collect();
    let printed: Vec<String> = served.lines.iter().map(|line| shape(line)).collect();
    assert_eq!(in_help, printed);
}

#[test]
fn the_variables_in_the_help_text_work_with_the_defaults() {
    // Another program may use the default ports here, so the lines get the ports of this account.
    let served = RunningAccount::of(ACCOUNT);
    let help = both(&nodejoin(&["aws", "--help"]).output().unwrap());
    let lines: Vec<&str> = help
        .lines()
        .filter(|line| line.trim_start().starts_with("export "))
        .collect();
    let (metadata, services) = (served.port(0), served.port(1));
    let script = lines
        .join("\n")
        .replace("1338", &metadata)
        .replace("8443", &services);
    let query = "aws sts get-caller-identity --query Arn --output text";
    assert_eq!(served.shell(&format!("{script}\n{query}")), SESSION);
}

#[test]
fn host_names_select_services_and_no_request_is_forwarded() {
    let served = RunningAccount::of(ACCOUNT);
    let to = format!("::127.0.0.1:{}", served.port(1));
    let fetch = |url: &str| served.curl(&["--connect-to", &to, url]);
    assert_eq!(fetch("https://eks.eu-west-1.amazonaws.com/clusters/demo").0, 403);
    assert!(
        fetch("https://sts.amazonaws.com/?Action=GetCallerIdentity")
            .1
            .contains("MissingAuthenticationToken")
    );
    let proxy = format!("http://127.0.0.1:{}", served.port(1));
    let (status, _) = served.curl(&[
        "--proxy",
        &proxy,
        "--suppress-connect-headers",
        "https://example.org/",
    ]);
    assert_eq!(status, 0, "a host that is not AWS' is refused at CONNECT");
    let (status, said) = served.curl(&[&format!("http://127.0.0.1:{}/", served.port(1))]);
    assert_eq!(
        (status, said.as_str()),
        (400, "this port accepts TLS, or CONNECT as a proxy does\n")
    );
}

/// A change, its output, and the response before and after it.
struct Row {
    set: &'static [&'static str],
    said: &'static str,
    path: &'static str,
    before: (u16, &'static str),
    after: (u16, &'static str),
}

const ROWS: &[Row] = &[
    Row {
        set: &["endpoint", "disabled"],
        said: "endpoint: enabled -> disabled",
        path: "meta-data/instance-id",
        before: (200, "i-0b22a22eec53b9321"),
        after: (403, "403 - Forbidden"),
    },
    Row {
        set: &["instance-tags", "off"],
        said: "instance-tags: on -> off",
        path: "meta-data/tags/instance/team",
        before: (200, "ironman"),
        after: (404, "404 - Not Found"),
    },
    Row {
        set: &["user-data", "new-user-data"],
        said: "user-data: 12 bytes -> 5 bytes",
        path: "user-data",
        before: (200, "cluster demo"),
        after: (200, "{{a}}"),
    },
    Row {
        set: &["user-data", "none"],
        said: "user-data: 12 bytes -> none",
        path: "user-data",
        before: (200, "cluster demo"),
        after: (404, "404 - Not Found"),
    },
    Row {
        set: &["spot-notice", "stop"],
        said: "spot-notice: none -> stop",
        path: "meta-data/spot/instance-action",
        before: (404, "404 - Not Found"),
        after: (200, "{\"action\": \"stop\", \"time\": \""),
    },
    Row {
        set: &[
            "credentials",
            "AssumeRoleUnauthorizedAccess",
            "--message",
            "no trust",
        ],
        said: "credentials: Success -> AssumeRoleUnauthorizedAccess",
        path: "meta-data/iam/security-credentials/demo-role",
        before: (200, "\"Code\" : \"Success\""),
        after: (200, "\"Message\" : \"no trust\""),
    },
    Row {
        set: &["throttle", "imds./latest/meta-data/*", "--times", "1"],
        said: "throttle: imds /latest/meta-data/*: the next request",
        path: "meta-data/instance-id",
        before: (200, "i-0b22a22eec53b9321"),
        after: (503, "503"),
    },
];

#[test]
fn changes_show_at_once_and_default_undoes_them() {
    let tags = ACCOUNT.replace(
        "life_cycle: spot",
        "life_cycle: spot, metadata: { tokens: optional, instance_tags: true }",
    );
    let served = RunningAccount::of(&tags);
    std::fs::write(served.home().join("new-user-data"), "{{a}}").unwrap();
    for row in ROWS {
        let here = |expected: (u16, &str), when: &str| {
            let (status, body) = served.metadata(row.path, &[]);
            assert_eq!(status, expected.0, "{when} {:?}: {body}", row.set);
            assert!(body.contains(expected.1), "{when} {:?}: {body}", row.set);
        };
        here(row.before, "before");
        assert_eq!(served.set(row.set), row.said);
        here(row.after, "after");
        served.set(&[row.set[0], "default"]);
        here(row.before, "after the default of");
    }
    assert_eq!(served.set(&["default"]), "no setting had been changed");
    served.set(&["tokens", "required"]);
    served.set(&["spot-notice", "hibernate"]);
    let undone = served.set(&["default"]);
    assert_eq!(
        undone,
        "tokens: required -> optional\nspot-notice: hibernate -> none"
    );
}

#[test]
fn tokens_are_required_until_they_are_optional() {
    let served = RunningAccount::of(ACCOUNT);
    assert_eq!(served.metadata("meta-data/instance-id", &[]).0, 401);
    assert_eq!(
        served.set(&["tokens", "optional"]),
        "tokens: required -> optional"
    );
    assert_eq!(served.metadata("meta-data/instance-id", &[]).0, 200);
    assert_eq!(served.set(&["tokens", "default"]), "tokens: optional -> required");
    assert_eq!(served.metadata("meta-data/instance-id", &[]).0, 401);
}

#[test]
fn the_cli_sees_the_status_of_the_cluster_and_a_throttle() {
    let served = RunningAccount::of(ACCOUNT);
    let status = "aws eks describe-cluster --name demo --query cluster.status --output text";
    assert_eq!(
        served.set(&["cluster-status", "CREATING"]),
        "cluster-status: ACTIVE -> CREATING"
    );
    assert_eq!(served.cli(status), "CREATING");
    served.set(&["throttle", "eks.DescribeCluster"]);
    let said = served.failing_cli(&format!("AWS_MAX_ATTEMPTS=1 {status}"));
    assert!(said.contains("Too Many Requests"), "{said}");
    // Anything else of EKS goes on.
    assert_eq!(
        served.cli("aws eks list-clusters --query clusters --output text"),
        "demo"
    );
    served.set(&["default"]);
    assert_eq!(served.cli(status), "ACTIVE");
}

#[test]
fn token_reviews_use_the_current_rows_and_are_logged_with_reasons() {
    let served = RunningAccount::of(ACCOUNT);
    let token = served.token("demo");
    let (status, review) = served.review(&token);
    assert_eq!(status, 200);
    let user = &review["status"]["user"];
    assert!(
        user["username"]
            .as_str()
            .unwrap()
            .starts_with("system:node:ip-192-168-"),
        "{review}"
    );
    assert_eq!(user["groups"], json!(["system:bootstrappers", "system:nodes"]));
    assert_eq!(user["extra"]["arn"], json!([SESSION]));

    let arn = "arn:aws:iam::111122223333:role/demo-role";
    assert_eq!(
        served.set(&["aws-auth", "none"]),
        format!("aws-auth: {arn} -> no rows")
    );
    assert_eq!(served.review(&token), (403, refused()));
    let rows = "- role: demo-role\n  username: u-{{SessionName}}\n  groups: ['g-{{AccountID}}']\n";
    std::fs::write(served.home().join("rows.yaml"), rows).unwrap();
    assert_eq!(
        served.set(&["aws-auth", "rows.yaml"]),
        format!("aws-auth: no rows -> {arn}")
    );
    let (_, review) = served.review(&token);
    assert_eq!(review["status"]["user"]["username"], "u-i-0b22a22eec53b9321");
    assert_eq!(review["status"]["user"]["groups"], json!(["g-111122223333"]));

    served.set(&["default"]);
    assert_eq!(served.review(&token).0, 200);
    assert_eq!(served.review(&served.token("other")), (403, refused()));
    assert_eq!(served.review("nonsense"), (403, refused()));
    served.wait_for_log(&format!(
        "token of {SESSION}: accepted as system:node:ip-192-168-"
    ));
    served.wait_for_log("refused: ARN is not mapped: arn:aws:iam::111122223333:role/demo-role");
    served.wait_for_log("SignatureDoesNotMatch");
    served.wait_for_log(
        "refused: input token was not properly formatted: token is missing expected \"k8s-aws-v1.\" prefix",
    );
}

/// A TokenReview has a few KiB. A client that sends more than 1 MiB gets an error once it has sent everything, and the
/// next request is served.
#[test]
fn an_endless_token_review_is_refused() {
    let served = RunningAccount::of(ACCOUNT);
    let body = served.home().join("body.json");
    for mebibytes in [1, 8, 32] {
        let token = "x".repeat(mebibytes * 1024 * 1024);
        std::fs::write(&body, json!({ "spec": { "token": token } }).to_string()).unwrap();
        let at = format!("@{}", body.display());
        let request = ["--data-binary", at.as_str(), "--header", "Expect:"];
        assert_eq!(
            served.call_webhook(&request),
            (400, "expected a request body to be a TokenReview".to_owned())
        );
    }
    assert_eq!(served.review(&served.token("demo")).0, 200);
}

fn refused() -> Value {
    json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": { "authenticated": false } })
}

#[test]
fn the_log_file_has_json_lines_without_credentials() {
    let home = tempdir().unwrap();
    let log = home.path().join("log.jsonl");
    let served = RunningAccount::with(ACCOUNT, &["--log", log.to_str().unwrap()]);
    let token = served.token("demo");
    served.review(&token);
    served.end("-INT");
    let text = file(&log);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.iter().any(|line| line["what"]["kind"] == "aws"), "{text}");
    let review = lines.last().unwrap();
    assert_eq!(
        (&review["what"]["kind"], &review["what"]["accepted"]),
        (&json!("authentication"), &json!(true))
    );
    assert!(
        !text.contains(&token[..40]) && !text.contains("IQoJb3JpZ2luX2Vj"),
        "{text}"
    );
}

#[test]
fn two_running_accounts_are_independent() {
    let (one, other) = (
        RunningAccount::of(ACCOUNT),
        RunningAccount::of(&ACCOUNT.replace("name: demo", "name: other")),
    );
    one.set(&["tokens", "optional"]);
    assert_eq!(one.metadata("meta-data/instance-id", &[]).0, 200);
    assert_eq!(other.metadata("meta-data/instance-id", &[]).0, 401);
    let names = |served: &RunningAccount| served.cli("aws eks list-clusters --query clusters --output text");
    assert_eq!(
        (names(&one), names(&other)),
        ("demo".to_owned(), "other".to_owned())
    );
}
