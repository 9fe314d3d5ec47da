//! Limits of the host that runs nodejoin are errors of the run, not failures of the node.

use super::*;
use crate::judge::judge;
use crate::judge::verdict::Outcome;

fn errored(events: &[ObservedEvent]) -> String {
    let observation = observed(events.iter().cloned());
    assert_eq!(diagnose(&plan(), &observation).unwrap().cause, Cause::HostLimit);
    match judge(&plan(), &observation).outcome {
        Outcome::Errored(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn exhausted_inotify_instances_are_recognized_by_the_messages_of_each_program() {
    for (unit, program, message) in [
        ("kubelet.service", "kubelet", "inotify_init: too many open files"),
        (
            "init.scope",
            "systemd",
            "Failed to allocate directory watch: Too many open files",
        ),
        (
            "containerd.service",
            "containerd",
            "failed to create CRI service: failed to create fsnotify watcher: too many open files",
        ),
    ] {
        let mut events = started();
        events.extend([ObservedEvent::Isolated, journal(unit, program, message)]);
        let reason = errored(&events);
        assert!(
            reason.contains("sudo sysctl -w fs.inotify.max_user_instances=1024"),
            "{reason}"
        );
        assert!(reason.contains(message), "{reason}");
    }
}

#[test]
fn an_api_server_that_times_out_is_a_host_limit_until_the_node_registers() {
    let mut events = started();
    events.extend([
        ObservedEvent::Isolated,
        kubelet(
            "E1121 23:27:37.010037     408 kubelet_node_status.go:93] Unable to register node \"ip-192-168-40-16\" with API server: \
             the server was unable to return a response in the time allotted, but may still be processing the request (post nodes)",
        ),
    ]);
    assert!(!find(&plan(), &observed(events.clone())).unwrap().is_final);
    assert!(errored(&events).contains("--jobs 1"));
    events.extend([accepted(), node(false)]);
    assert_ne!(diagnosed(&plan(), events).cause, Cause::HostLimit);
}

#[test]
fn an_aws_cli_that_gives_up_on_metadata_is_a_host_limit_if_the_service_responded() {
    let imds = |path: &str| ObservedEvent::Aws(aws(Service::Imds, path, 200));
    let without_credentials = |last: ObservedEvent| {
        let boot = systemd("init.scope", "systemd 252 running in system mode");
        let gives_up = cloud(
            "Unable to locate credentials. You can configure credentials by running \"aws configure\".",
        );
        let failed = cloud("Runparts: 1 failures (part-001) in 1 attempted commands");
        vec![
            boot,
            ObservedEvent::Isolated,
            imds("meta-data/instance-id"),
            last,
            gives_up,
            failed,
        ]
    };
    for last in ["api/token", "meta-data/iam/security-credentials/"] {
        let reason = errored(&without_credentials(imds(last)));
        assert!(
            reason.contains("responded within 1 ms") && reason.contains("--jobs 1"),
            "{reason}"
        );
    }
    let read = imds("meta-data/iam/security-credentials/demo-role");
    let delayed = ObservedEvent::Aws(AwsCall {
        fault: Some(0),
        ..aws(Service::Imds, "api/token", 200)
    });
    for last in [read, delayed] {
        let found = diagnosed(&plan(), without_credentials(last));
        assert_eq!(found.cause, Cause::ScriptFailed);
    }
    let without_role = Plan { role: None, ..plan() };
    let found = diagnosed(&without_role, without_credentials(imds("api/token")));
    assert_eq!(found.cause, Cause::ScriptFailed);
}
