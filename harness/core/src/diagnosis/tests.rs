//! Each cause from a join that stopped for it, with the texts that real programs wrote.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{diagnose, find};
use crate::fault::Service;
use crate::observation::{
    Audit, Authentication, AwsCall, Collected, Observation, Refusal, UserDataResult, What,
};
use crate::phase::Phase;
use crate::phases::tests::{accepted, aws, join, journal, node, observed, serving};
use crate::plan::{Cni, Plan, UserDataEngine, UserDataPlan, tests};
use crate::verdict::{Cause, Diagnosis};

const NAME: &str = "ip-192-168-40-16.eu-west-1.compute.internal";
const HOST: &str = "0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com";

fn plan_with(user_data: &str) -> Plan {
    let user_data = UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: STANDARD.encode(user_data),
        gzip: false,
    };
    Plan {
        user_data: Some(user_data),
        ..tests::plan()
    }
}

fn plan() -> Plan {
    plan_with("#!/bin/bash\n/etc/eks/bootstrap.sh {{ cluster.name }}\n")
}

fn kubelet(message: &str) -> What {
    journal("kubelet.service", "kubelet", message)
}

fn systemd(unit: &str, message: &str) -> What {
    journal(unit, "systemd", message)
}

fn cloud(message: &str) -> What {
    journal("cloud-final.service", "cloud-init", message)
}

fn done(source: &str) -> What {
    cloud(&format!(
        "Cloud-init v. 22.4.2 finished at Sat, 21 Nov 2026 10:00:00 +0000. Datasource {source}.  Up 4.20 seconds"
    ))
}

fn call(service: Service, operation: &str, status: u16, error: &str) -> What {
    let error = Some(error.to_owned()).filter(|error| !error.is_empty());
    What::Aws(AwsCall {
        error,
        subject: Some("demo".into()),
        ..aws(service, operation, status)
    })
}

fn refused(refusal: Refusal, reason: &str) -> What {
    What::Authentication(Authentication {
        accepted: false,
        arn: Some("arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321".into()),
        canonical_arn: Some("arn:aws:iam::111122223333:role/demo-role".into()),
        username: None,
        groups: vec![],
        refusal: Some(refusal),
        reason: Some(reason.into()),
    })
}

fn audit(verb: &str, resource: &str, code: u16, username: &str, message: &str) -> What {
    What::Audit(Audit {
        verb: verb.into(),
        resource: resource.into(),
        namespace: None,
        name: Some(NAME.into()),
        username: username.into(),
        groups: vec!["system:nodes".into()],
        code,
        message: Some(message.into()),
        object: None,
    })
}

/// A join as far as the kubelet's first line.
fn started() -> Vec<What> {
    join().into_iter().take(5).collect()
}

fn told(plan: &Plan, whats: Vec<What>) -> Diagnosis {
    diagnose(plan, &observed(whats)).expect("a diagnosis")
}

/// What is said in all, for tests that look for words.
fn words(diagnosis: &Diagnosis) -> String {
    format!(
        "{} | {} | {}",
        diagnosis.because, diagnosis.seen, diagnosis.remedy
    )
}

#[test]
fn each_cause_is_told_from_its_evidence() {
    let after = |mut whats: Vec<What>, more: Vec<What>| {
        whats.extend(more);
        whats
    };
    let imds = || What::Aws(aws(Service::Imds, "meta-data/instance-id", 200));
    let boot = || systemd("init.scope", "systemd 252 running in system mode");
    let cases: Vec<(Vec<What>, Cause, Phase, Vec<&str>)> = vec![
        (
            vec![
                boot(),
                call(Service::Imds, "api/token", 0, ""),
                call(Service::Imds, "api/token", 0, ""),
            ],
            Cause::MetadataUnreachable,
            Phase::Booted,
            vec![
                "closed the connection to all of 2 requests",
                "imds, 1.0 s: GET api/token: closed without an answer",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                call(Service::Imds, "meta-data/tags/x", 404, ""),
                done("DataSourceNone"),
            ],
            Cause::UserDataNeverRan,
            Phase::Metadata,
            vec![
                "without running any user data",
                "answered 404",
                "cloud-init, 3.0 s",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                cloud(
                    "2026-11-21 subp.py[DEBUG]: Exec format error. Missing #! in script?\nCommand: ['/var/lib/cloud/instance/scripts/part-002']",
                ),
            ],
            Cause::MissingShebang,
            Phase::Metadata,
            vec![
                "part-002 of the user data was not run",
                "begin part-002 with `#!/bin/bash`",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                call(Service::Eks, "DescribeCluster", 403, "AccessDeniedException"),
            ],
            Cause::AccessDenied,
            Phase::Metadata,
            vec![
                "demo-role may not call eks:DescribeCluster on demo",
                "eks, 2.0 s: GET DescribeCluster: 403 AccessDeniedException",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                call(Service::Eks, "DescribeCluster", 404, "ResourceNotFoundException"),
            ],
            Cause::DescribeFailed,
            Phase::Metadata,
            vec!["the account has `demo`", "{{ cluster.name }}"],
        ),
        (
            vec![
                boot(),
                imds(),
                journal(
                    "cloud-final.service",
                    "tee",
                    "bootstrap.sh: line 12 ended with status 1",
                ),
                cloud("Runparts: 1 failures (part-001) in 1 attempted commands"),
                done("DataSourceEc2"),
            ],
            Cause::ScriptFailed,
            Phase::Metadata,
            vec![
                "(part-001) before it started the kubelet",
                "its last words: bootstrap.sh: line 12 ended with status 1",
            ],
        ),
        (
            vec![boot(), imds(), done("DataSourceEc2")],
            Cause::KubeletNeverStarted,
            Phase::Metadata,
            vec!["nothing told systemd to start the kubelet"],
        ),
        (
            vec![
                boot(),
                imds(),
                systemd(
                    "sandbox-image.service",
                    "sandbox-image.service: Failed with result 'exit-code'.",
                ),
                systemd("kubelet.service", "Dependency failed for Kubernetes Kubelet."),
            ],
            Cause::KubeletNeverStarted,
            Phase::Metadata,
            vec!["needs failed: `sandbox-image.service`"],
        ),
        (
            after(
                started(),
                vec![kubelet(
                    "F1121 10:00:00.000001     321 server.go:158] unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/worker]\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix",
                )],
            ),
            Cause::LabelRefused,
            Phase::KubeletStarted,
            vec![
                "refuses the label node-role.kubernetes.io/worker",
                "kubectl label node",
            ],
        ),
        (
            after(
                started(),
                vec![kubelet(
                    "F1121 10:00:00.000001     321 server.go:155] invalid argument \"taint1=true\" for \"--register-with-taints\" flag: invalid taint spec: taint1=true",
                )],
            ),
            Cause::TaintInvalid,
            Phase::KubeletStarted,
            vec!["cannot read the taint taint1=true", "taint1=true:NoSchedule"],
        ),
        (
            after(
                started(),
                vec![
                    systemd(
                        "kubelet.service",
                        "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
                    ),
                    kubelet("x"),
                ],
            ),
            Cause::KubeletExits,
            Phase::KubeletStarted,
            vec!["ended with 255, once so far"],
        ),
        (
            after(
                started(),
                vec![
                    kubelet(
                        "F1121 10:00:00.000001     321 server.go:269] failed to run Kubelet: could not init cloud provider \"aws\": AWS cloud failed to find ClusterID",
                    ),
                    systemd(
                        "kubelet.service",
                        "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
                    ),
                ],
            ),
            Cause::KubeletExits,
            Phase::KubeletStarted,
            vec![
                "failed to find ClusterID",
                "tag the instance with kubernetes.io/cluster/demo=owned",
            ],
        ),
        (
            after(
                started(),
                vec![kubelet(&format!(
                    "E1121 10:00:00.000001     321 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: Post \"https://{HOST}/api/v1/nodes\": x509: certificate signed by unknown authority"
                ))],
            ),
            Cause::WrongCertificateAuthority,
            Phase::KubeletStarted,
            vec!["does not trust the API server at 0123456789ABCDEF"],
        ),
        (
            after(
                started(),
                vec![kubelet(&format!(
                    "E1121 10:00:00.000001     321 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: Post \"https://nope.example/api/v1/nodes\": dial tcp: lookup nope.example: no such host"
                ))],
            ),
            Cause::EndpointUnreachable,
            Phase::KubeletStarted,
            vec!["cannot reach nope.example: no such host", &HOST[..20]],
        ),
        (
            after(
                started(),
                vec![refused(Refusal::Signature, "sts getCallerIdentity failed")],
            ),
            Cause::TokenForAnotherCluster,
            Phase::KubeletStarted,
            vec![
                "signature for `demo`",
                "authenticator, 5.0 s: sts getCallerIdentity failed",
            ],
        ),
        (
            after(
                started(),
                vec![refused(
                    Refusal::NotMapped,
                    "ARN is not mapped: arn:aws:iam::111122223333:role/demo-role",
                )],
            ),
            Cause::RoleNotMapped,
            Phase::KubeletStarted,
            vec![
                "role demo-role is in no mapRoles row of kube-system/aws-auth",
                "authenticator, 5.0 s: ARN is not mapped",
            ],
        ),
        (
            after(started(), vec![refused(Refusal::Expired, "token expired")]),
            Cause::Unauthorized,
            Phase::KubeletStarted,
            vec!["token expired", "clock"],
        ),
        (
            after(
                started(),
                vec![kubelet(
                    "E1121 10:00:00.000001     321 reflector.go:138] Failed to list *v1.Node: getting credentials: exec: executable aws-iam-authenticator not found",
                )],
            ),
            Cause::Unauthorized,
            Phase::KubeletStarted,
            vec!["no token from its credential plugin: Failed to list *v1.Node: getting credentials"],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    audit(
                        "create",
                        "nodes",
                        403,
                        "system:node:other",
                        &format!(
                            "nodes \"{NAME}\" is forbidden: node \"other\" is not allowed to modify node \"{NAME}\""
                        ),
                    ),
                ],
            ),
            Cause::NodeNameRefused,
            Phase::Authenticated,
            vec![
                NAME,
                "to the API server it is system:node:other",
                "audit log, 6.0 s: create nodes as system:node:other: 403",
            ],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    audit(
                        "create",
                        "nodes",
                        422,
                        "system:node:x",
                        "Node \"x\" is invalid: metadata.labels: Invalid value: \"b c\"",
                    ),
                ],
            ),
            Cause::NodeInvalid,
            Phase::Authenticated,
            vec!["metadata.labels: Invalid value", "--node-labels"],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    node(false),
                    What::Certificate(serving(None, false)),
                    node(true),
                ],
            ),
            Cause::ServingCertificateNotApproved,
            Phase::Registered,
            vec![
                "nobody approved csr-1",
                "certificate signing request, 7.0 s: csr-1",
                "kubectl describe csr csr-1",
            ],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    node(false),
                    What::Certificate(serving(Some(false), false)),
                    node(true),
                ],
            ),
            Cause::ServingCertificateDenied,
            Phase::Registered,
            vec!["denied the serving certificate", "192.168.40.16"],
        ),
        (
            vec![boot()],
            Cause::Unknown,
            Phase::Booted,
            vec!["nothing that was seen says why", "systemd, 0.0 s: systemd 252"],
        ),
    ];
    for (whats, cause, phase, parts) in cases {
        let diagnosis = told(&plan(), whats);
        assert_eq!(
            (diagnosis.cause, diagnosis.phase),
            (cause, Some(phase)),
            "{diagnosis:#?}"
        );
        let text = words(&diagnosis);
        for part in parts {
            assert!(text.contains(part), "{cause:?}: no `{part}` in {text}");
        }
    }
}

#[test]
fn a_join_that_reached_everything_has_no_diagnosis() {
    let mut whats = join();
    // What went wrong on the way is over.
    whats.insert(5, refused(Refusal::NotMapped, "not mapped"));
    assert_eq!(diagnose(&plan(), &observed(whats)), None);
}

#[test]
fn what_was_mended_is_no_cause() {
    let mut whats = started();
    whats.extend([refused(Refusal::NotMapped, "not mapped"), accepted(), node(false)]);
    assert_eq!(find(&plan(), &observed(whats)), None);
    let mut whats = started();
    whats.truncate(2);
    whats.extend([
        call(Service::Eks, "DescribeCluster", 429, "ThrottlingException"),
        call(Service::Eks, "DescribeCluster", 200, ""),
    ]);
    assert_eq!(find(&plan(), &observed(whats)), None);
}

#[test]
fn a_role_that_is_almost_mapped_is_named_first() {
    let mut plan = plan();
    let row = |arn: &str| crate::plan::RoleMapping {
        rolearn: arn.into(),
        username: String::new(),
        groups: vec![],
    };
    let refusal = || {
        let mut whats = started();
        whats.push(refused(Refusal::NotMapped, "not mapped"));
        whats
    };
    plan.cluster.aws_auth = vec![
        row("arn:aws:iam::1:role/other"),
        row("arn:aws:iam::1:role/demo-roel"),
    ];
    assert!(
        told(&plan, refusal())
            .remedy
            .ends_with("to one of: demo-roel, other")
    );
    plan.cluster.aws_auth = vec![row("arn:aws:iam::111122223333:role/path/demo-role")];
    assert!(told(&plan, refusal()).because.contains("has the role's path"));
    plan.cluster.aws_auth = vec![];
    assert!(told(&plan, refusal()).remedy.contains("which has none"));
}

#[test]
fn the_other_cluster_is_named_from_the_user_data() {
    let mut whats = started();
    whats.push(refused(Refusal::Signature, "403"));
    for user_data in [
        "#!/bin/bash\n/etc/eks/bootstrap.sh other --x y\n",
        "#!/bin/bash\nCLUSTER_NAME=other\nx\n",
        "#!/bin/bash\n/etc/eks/bootstrap.sh \\\n  'other'\n",
    ] {
        let diagnosis = told(&plan_with(user_data), whats.clone());
        assert_eq!(
            diagnosis.because, "the token was made for the cluster `other`, and this one is `demo`",
            "{user_data}"
        );
    }
}

#[test]
fn a_name_that_aws_auth_fixes_is_told_with_its_row() {
    let mut plan = plan();
    plan.cluster.aws_auth[0].username = "system:node:other".into();
    let mut whats = started();
    whats.extend([accepted(), kubelet(&format!("E1121 x] Unable to register node \"{NAME}\" with API server: nodes \"{NAME}\" is forbidden: node \"other\" is not allowed to modify node \"{NAME}\""))]);
    let diagnosis = told(&plan, whats);
    assert_eq!(
        diagnosis.because,
        format!("the kubelet registers as {NAME}, and to the API server it is system:node:other")
    );
    assert_eq!(
        diagnosis.remedy,
        "write `system:node:{{EC2PrivateDNSName}}` as username in the aws-auth row of `demo-role`"
    );
}

#[test]
fn a_node_without_network_is_told_from_its_condition() {
    let mut plan = plan();
    plan.cni = Cni::None;
    let mut observation = observed(join().into_iter().take(8));
    observation.node = Some(json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "message": "runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni config uninitialized"}
    ]}}));
    let diagnosis = diagnose(&plan, &observation).unwrap();
    assert_eq!(
        (diagnosis.cause, diagnosis.phase),
        (Cause::CniNotReady, Some(Phase::Certified))
    );
}

#[test]
fn user_data_tells_what_the_journal_does_not() {
    let with = |user_data: &str| {
        (
            plan_with(user_data),
            vec![
                systemd("init.scope", "x"),
                systemd(
                    "nodejoin-user-data.service",
                    "nodejoin-user-data.service: Failed with result 'exit-code'.",
                ),
            ],
        )
    };
    let (plan, whats) = with(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\nset -ex\n--B--\n",
    );
    let diagnosis = told(&plan, whats);
    assert_eq!(diagnosis.cause, Cause::MissingShebang);
    assert!(
        diagnosis
            .seen
            .contains("part-001: a script must begin with `#!`, and it begins with `set -ex`"),
        "{}",
        diagnosis.seen
    );
    let (plan, whats) = with(&STANDARD.encode("#!/bin/bash\necho hello\n"));
    let diagnosis = told(&plan, whats);
    assert_eq!(diagnosis.cause, Cause::UserDataNeverRan);
    assert!(diagnosis.because.contains("base64 twice"));
}

#[test]
fn what_was_collected_tells_what_the_journal_does_not() {
    let collected = |result: UserDataResult| Observation {
        collected: Some(Collected {
            user_data: Some(result),
            ..Collected::default()
        }),
        ..observed([
            systemd("init.scope", "x"),
            What::Aws(aws(Service::Imds, "user-data", 200)),
        ])
    };
    let failed = UserDataResult {
        ran: true,
        exit_codes: [("part-001".to_owned(), 3)].into(),
        output: "a\nno such cluster\n\n".into(),
        ..UserDataResult::default()
    };
    let diagnosis = diagnose(&plan(), &collected(failed)).unwrap();
    assert_eq!(diagnosis.cause, Cause::ScriptFailed);
    assert!(
        words(&diagnosis).contains("part-001 with 3") && diagnosis.seen.ends_with("no such cluster"),
        "{diagnosis:#?}"
    );
    let never = UserDataResult {
        ran: false,
        data_source: Some("DataSourceNone".into()),
        status: Some("done".into()),
        ..UserDataResult::default()
    };
    assert_eq!(
        diagnose(&plan(), &collected(never)).unwrap().cause,
        Cause::UserDataNeverRan
    );
}
