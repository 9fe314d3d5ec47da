//! Joins by nodeadm that stopped.

use super::*;
use crate::observation::phases::user_data_done;

const MISSPELT: &str = "apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpont: https://x
    cidr: 10.100.0.0/16
";

fn nodeadm(level: &str, message: &str, error: &str) -> ObservedEvent {
    let fields = json!({ "error": error });
    let line = format!("{level} cli/main.go:35 {message} {fields}");
    journal("nodeadm-config.service", "nodeadm", &line)
}

fn after_boot(whats: Vec<ObservedEvent>) -> Vec<ObservedEvent> {
    let mut all: Vec<ObservedEvent> = join().into_iter().take(2).collect();
    all.extend(whats);
    all
}

#[test]
fn a_misspelt_field_is_told_with_the_right_one() {
    let error = "Apiserver endpoint is missing in cluster configuration";
    let told = told(
        &plan_with(MISSPELT),
        after_boot(vec![nodeadm("fatal", "Command failed", error)]),
    );
    assert_eq!(
        (told.cause, told.phase),
        (Cause::NodeConfigInvalid, Some(Phase::Metadata))
    );
    let words = words(&told);
    assert!(words.contains("Apiserver endpoint is missing"), "{words}");
    assert!(
        words.contains("write `apiServerEndpoint` for `apiServerEndpont`"),
        "{words}"
    );
}

#[test]
fn a_document_that_cannot_be_read_is_told_by_the_warning() {
    let warned = "failed to decode node config, illegal base64 data at input byte 4";
    let whats = after_boot(vec![
        nodeadm("warn", "Encountered error in config provider", warned),
        nodeadm("fatal", "Command failed", "no config in chain"),
    ]);
    let told = told(
        &plan_with("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"),
        whats,
    );
    assert_eq!(told.cause, Cause::NodeConfigInvalid);
    assert!(words(&told).contains("illegal base64 data"), "{told:?}");
}

#[test]
fn another_error_of_nodeadm_is_told_as_it_stands() {
    for error in [
        "operation error EC2: DescribeInstances",
        "config provider at index 0 failed: operation error ec2imds: GetUserData, http response error StatusCode: 503",
    ] {
        let whats = after_boot(vec![nodeadm("fatal", "Command failed", error)]);
        let told = told(&plan_with(MISSPELT), whats);
        assert_eq!(told.cause, Cause::ScriptFailed);
        assert!(told.because.ends_with(error), "{told:?}");
    }
}

#[test]
fn a_drop_in_that_cannot_be_read_is_told() {
    let error = "config provider at index 1 failed: failed to parse config file 10-labels.yaml: failed to decode node config, \
                 yaml: line 5: did not find expected key";
    let config = MISSPELT.replace("Endpont", "Endpoint");
    let whats = after_boot(vec![nodeadm("fatal", "Command failed", error)]);
    let told = told(&plan_with(&config), whats);
    assert_eq!(told.cause, Cause::NodeConfigInvalid);
    assert!(words(&told).contains("10-labels.yaml"), "{told:?}");
    assert!(told.remedy.contains("nodeadm config check"), "{told:?}");
}

#[test]
fn an_instance_without_user_data_is_told() {
    let error = "config provider at index 0 failed: operation error ec2imds: GetUserData, http response error StatusCode: 404, \
                 request to EC2 IMDS failed";
    let plan = Plan {
        user_data: None,
        ..plan()
    };
    let told = told(&plan, after_boot(vec![nodeadm("fatal", "Command failed", error)]));
    assert_eq!(told.cause, Cause::NodeConfigInvalid);
    assert!(
        told.remedy.starts_with("put a NodeConfig into the user data"),
        "{told:?}"
    );
}

#[test]
fn user_data_of_another_ami_is_told() {
    let whats = after_boot(vec![
        nodeadm(
            "warn",
            "Encountered error in config provider",
            "failed to decode node config",
        ),
        nodeadm("fatal", "Command failed", "no config in chain"),
    ]);
    let told = told(&plan(), whats);
    assert_eq!(told.cause, Cause::NodeConfigInvalid);
    assert!(told.remedy.contains("has no bootstrap.sh"), "{told:?}");
}

#[test]
fn user_data_of_nodeadm_is_done_with_its_last_unit() {
    let done = done("DataSourceEc2");
    let started = systemd("nodeadm-run.service", "Starting EKS Nodeadm Run...");
    let ended = |words: &str| systemd("nodeadm-run.service", &format!("{words} EKS Nodeadm Run."));
    assert_eq!(user_data_done(&observed([done.clone()])), Some(0));
    assert_eq!(user_data_done(&observed([done.clone(), started.clone()])), None);
    for word in ["Finished", "Failed to start", "Dependency failed for"] {
        let observation = observed([done.clone(), started.clone(), ended(word)]);
        assert_eq!(user_data_done(&observation), Some(2000), "{word}");
    }
}

#[test]
fn a_client_certificate_that_nobody_approves_is_told() {
    let pending = crate::observation::Certificate {
        signer: crate::observation::phases::KUBELET_CLIENT.into(),
        requestor: format!("system:node:{NAME}"),
        ..serving(None, false)
    };
    let whats = || started().into_iter().chain([accepted()]);
    let told_of = |certificate| {
        told(
            &plan(),
            whats().chain([ObservedEvent::Certificate(certificate)]).collect(),
        )
    };
    let told = told_of(pending.clone());
    assert_eq!(
        (told.cause, told.phase),
        (Cause::ClientCertificateNotApproved, Some(Phase::Authenticated))
    );
    assert!(words(&told).contains("nobody approved csr-1"), "{told:?}");
    let approved = crate::observation::Certificate {
        approved: Some(true),
        issued: true,
        ..pending
    };
    assert_ne!(told_of(approved).cause, Cause::ClientCertificateNotApproved);
}
