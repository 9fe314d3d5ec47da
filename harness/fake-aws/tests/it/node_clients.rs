//! Real programs of a node: cloud-init's EC2 data source from Debian's package, cfn-signal from PyPI, and every bit of
//! cfn-signal's proof.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::clients::{curl, curl_host, metadata, token};
use crate::support::proxy::Proxy;
use crate::support::{Fakes, venv};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::aws::{StackPlan, StackResourcePlan};
use nodejoin_core::plan::fault::Service;
use nodejoin_fake_aws::World;
use serde_json::{Value, json};
use tokio::process::Command;

/// Packages that both programs import, and the converter for the older one.
const PACKAGES: [&str; 7] = [
    "requests==2.32.3",
    "PyYAML==6.0.2",
    "Jinja2==3.1.4",
    "configobj==5.0.9",
    "jsonpatch==1.33",
    "oauthlib==3.2.2",
    "fissix==24.4.24",
];
const CFN: &str = "aws-cfn-bootstrap==1.4.post31";
const SIGNAL: &str = "https://cloudformation.eu-west-1.amazonaws.com/?Action=SignalResource&StackName=nodes&LogicalResourceId=NodeGroup\
                      &UniqueId=i-0b22a22eec53b9321&Status=SUCCESS&ContentType=JSON&Version=2010-05-15";

fn python() -> PathBuf {
    venv::environment("node-clients", &PACKAGES)
}

/// Debian's package in its current version, unpacked.
fn cloud_init() -> PathBuf {
    venv::made_once("cloud-init", "1", |folder| {
        let fetch = "apt-get download -q cloud-init && dpkg-deb -x cloud-init_*.deb .";
        venv::run("sh", &["-c", &format!("cd '{}' && {fetch}", folder.display())]);
    })
    .join("usr/lib/python3/dist-packages")
}

/// cfn-signal and its modules, converted to Python 3.
fn cfn_signal(python: &Path) -> PathBuf {
    venv::made_once("cfn-bootstrap", CFN, |folder| {
        let python = python.display();
        let fetch = format!(
            "'{python}' -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: '{CFN}'"
        );
        let translate = format!("'{python}' -m fissix --no-diffs -w -n cfnbootstrap/*.py bin/*");
        let script = format!(
            "cd '{}' && {fetch} && tar xzf aws-cfn-bootstrap-*.tar.gz --strip-components 1 && {translate}",
            folder.display()
        );
        venv::run("sh", &["-c", &script]);
    })
}

fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}

async fn crawl(fakes: &Fakes) -> Value {
    let (python, packages) = tokio::task::spawn_blocking(|| (python(), cloud_init()))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .arg(client("crawl.py"))
        .args([
            format!("http://{}", fakes.server.metadata),
            folder.path().display().to_string(),
        ])
        .env("PYTHONPATH", packages)
        .env_remove("HTTP_PROXY")
        .env_remove("http_proxy")
        .output()
        .await
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Source: cloud-init 22.4.2, `DataSourceEc2.py`, with its list of versions; it skips credentials.
#[tokio::test(flavor = "multi_thread")]
async fn cloud_init_crawls_the_metadata_with_tokens() {
    let mut fakes = Fakes::start(|world| {
        world.user_data = Some(b"#!/bin/sh\n\xff".to_vec());
        world.instance.metadata.instance_tags = true;
        world.instance.metadata.public_keys = [("my-key".to_owned(), "ssh-rsa AAAA".to_owned())].into();
    });
    let data = crawl(&fakes).await;
    let meta = &data["meta-data"];
    assert_eq!(data["found"], true);
    assert_eq!(data["user-data"], "#!/bin/sh\n\u{ff}");
    assert_eq!(meta["instance-id"], "i-0b22a22eec53b9321");
    assert_eq!(
        meta["tags"]["instance"],
        json!({ "Name": "demo", "eks:cluster-name": "demo" })
    );
    assert_eq!(meta["public-keys"], json!({ "my-key": "ssh-rsa AAAA" }));
    let interface = &meta["network"]["interfaces"]["macs"]["0a:00:00:00:00:01"];
    assert_eq!(
        interface["vpc-ipv4-cidr-blocks"],
        json!(["192.168.0.0/16", "100.64.0.0/16"])
    );
    assert_eq!(
        data["dynamic"]["instance-identity"]["document"]["region"],
        "eu-west-1"
    );
    let calls = fakes.calls();
    let by = |word: &str| {
        calls
            .iter()
            .filter(|call| call.authorization.as_deref() == Some(word))
            .count()
    };
    assert_eq!((by("token"), by("v1"), by("v2")), (1, 0, calls.len() - 1));
    assert!(
        calls
            .iter()
            .skip(1)
            .all(|call| call.path.starts_with("/2021-03-23/")),
        "{calls:?}"
    );
    assert!(
        !calls
            .iter()
            .any(|call| call.path.contains("iam/security-credentials"))
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cloud_init_gives_up_on_an_endpoint_that_is_disabled() {
    let fakes = Fakes::start(|world| world.instance.metadata.enabled = false);
    assert_eq!(crawl(&fakes).await["found"], false);
    fakes.end().await;
}

/// An instance without a profile in a stack that waits for one signal: cfn-signal then uses the identity document. It
/// sends no metadata tokens.
fn waiting(world: &mut World) {
    world.role = None;
    world.instance.metadata.tokens = Tokens::Optional;
    world.aws.stacks = vec![StackPlan {
        name: "nodes".into(),
        status: "CREATE_IN_PROGRESS".into(),
        waits_for: [("NodeGroup".to_owned(), 1)].into(),
        resources: std::collections::BTreeMap::new(),
    }];
}

async fn signal(fakes: &Fakes, stack: &str) -> Output {
    let of = [
        "--stack",
        stack,
        "--resource",
        "NodeGroup",
        "--region",
        "eu-west-1",
    ];
    cfn(
        fakes,
        "cfn-signal",
        &[&of[..], &["--exit-code", "0"]].concat(),
        &[],
    )
    .await
}

/// Runs a program of aws-cfn-bootstrap.
async fn cfn(fakes: &Fakes, name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let (python, program) = tokio::task::spawn_blocking(|| {
        let python = python();
        (python.clone(), cfn_signal(&python))
    })
    .await
    .unwrap();
    let proxy = Proxy::start(fakes.server.tls).await;
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.pem");
    std::fs::write(&authority, &fakes.server.ca_pem).unwrap();
    Command::new(python)
        .args([client("cfn_signal.py"), program.join("bin").join(name)])
        .args(arguments)
        .env_clear()
        .env("PYTHONPATH", &program)
        .env("METADATA", format!("http://{}", fakes.server.metadata))
        .env("https_proxy", &proxy.url)
        .env("REQUESTS_CA_BUNDLE", authority)
        .envs(environment.iter().copied())
        .output()
        .await
        .unwrap()
}

/// Source of the text: amazon-eks-ami#353.
#[tokio::test(flavor = "multi_thread")]
async fn cfn_signal_proves_itself_for_its_own_stack_only() {
    let mut fakes = Fakes::start(waiting);
    let output = signal(&fakes, "nodes").await;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let calls = fakes.calls();
    let sent = calls
        .iter()
        .find(|call| call.service == Service::Cloudformation)
        .unwrap();
    assert_eq!(
        (sent.status, sent.subject.as_deref()),
        (200, Some("nodes/NodeGroup SUCCESS i-0b22a22eec53b9321"))
    );
    let output = signal(&fakes, "others").await;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let sentence = "Instance i-0b22a22eec53b9321 is not allowed to call SignalResource for others";
    assert!(!output.status.success() && errors.contains(sentence), "{errors}");
    fakes.end().await;
}

/// `cfn-get-metadata` reads the resource as `cfn-init` does: with the identity document, or with credentials of the
/// role.
#[tokio::test(flavor = "multi_thread")]
async fn cfn_reads_the_metadata_of_a_resource_with_both_proofs() {
    let config = json!({ "AWS::CloudFormation::Init": { "config": { "files": { "/etc/motd": { "content": "hello" } } } } });
    for has_role in [false, true] {
        let mut fakes = Fakes::start(|world| {
            let role = world.role.clone().filter(|_| has_role);
            waiting(world);
            world.role = role;
            let resource = StackResourcePlan {
                resource_type: "AWS::EC2::Instance".into(),
                physical_id: None,
                metadata: Some(config.clone()),
            };
            world.aws.stacks[0].resources = [("Worker".to_owned(), resource)].into();
        });
        let of = ["--stack", "nodes", "--region", "eu-west-1", "--resource"];
        let role = ["--role", "demo-role"];
        let read = |resource| [&of[..], &[resource], if has_role { &role[..] } else { &[] }].concat();
        let output = cfn(&fakes, "cfn-get-metadata", &read("Worker"), &[]).await;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
        assert_eq!(printed, config, "{errors}");
        let call = fakes
            .calls()
            .into_iter()
            .find(|call| call.service == Service::Cloudformation);
        let call = call.unwrap();
        assert_eq!(
            (
                call.operation.as_str(),
                call.subject.as_deref(),
                call.authorization.is_some()
            ),
            ("DescribeStackResource", Some("nodes/Worker"), has_role)
        );
        let output = cfn(&fakes, "cfn-get-metadata", &read("None"), &[]).await;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let sentence = "Resource None does not exist for stack nodes";
        assert!(!output.status.success() && errors.contains(sentence), "{errors}");
        fakes.end().await;
    }
}

/// The proof is the document and its signature: a changed bit of either, or another instance's proof, is rejected.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_identity_proof_is_rejected() {
    let fakes = Fakes::start(waiting);
    let _events = fakes.add([127, 0, 0, 2].into(), |world| {
        waiting(world);
        world.instance.id = "i-0b22a22eec53b9322".parse().unwrap();
    });
    let token = token(&fakes).await;
    let read = async |name: &str| {
        metadata(
            &fakes,
            &token,
            &format!("/latest/dynamic/instance-identity/{name}"),
        )
        .await
        .text()
    };
    let (document, signature) = (read("document").await, read("signature").await.replace('\n', ""));
    let elsewhere = async |name: &str| {
        let url = fakes.metadata(&format!("/latest/dynamic/instance-identity/{name}"));
        curl(&["--interface", "127.0.0.2", &url]).await.text()
    };
    let (other, other_signature) = (
        elsewhere("document").await,
        elsewhere("signature").await.replace('\n', ""),
    );
    assert!(other.contains("i-0b22a22eec53b9322"));
    let proof = |document: &str, signature: &str| format!("{}:{signature}", BASE64_STANDARD.encode(document));
    let mut flipped = signature.clone().into_bytes();
    flipped[10] ^= 1;
    let flipped = String::from_utf8(flipped).unwrap();
    let table = [
        (proof(&document, &signature), 200),
        (proof(&document.replace("m5.large", "m5.metal"), &signature), 403),
        (proof(&document, &flipped), 403),
        (proof(&document, ""), 403),
        (proof(&document, &other_signature), 403),
        (proof(&other, &other_signature), 403),
        (BASE64_STANDARD.encode(&document), 403),
    ];
    for (proof, status) in table {
        let header = format!("Authorization: CFN_V1 {proof}");
        let response = curl_host(&fakes, &["-H", &header, SIGNAL]).await;
        assert_eq!(response.status, status, "{proof}: {}", response.text());
    }
    fakes.end().await;
}
