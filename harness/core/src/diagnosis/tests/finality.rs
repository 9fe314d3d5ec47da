//! Which causes end a join before its timeout.

use super::*;

fn found(events: Vec<ObservedEvent>) -> crate::diagnosis::Finding {
    find(&plan(), &observed(events)).expect("a cause")
}

#[test]
fn the_third_exit_of_the_kubelet_is_final() {
    let exit = || {
        systemd(
            "kubelet.service",
            "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
        )
    };
    let fatal = || kubelet("F1121 11:27:03.227158     281 server.go:156] unknown flag: --allow-privileged");
    let usage = kubelet("      --address ip      failed to see why this is a flag");
    let mut events = started();
    events.extend([usage, exit(), fatal()]);
    let first = found(events.clone());
    assert!(
        first
            .diagnosis
            .because
            .ends_with("unknown flag: --allow-privileged")
    );
    assert!(!first.is_final);
    events.extend([fatal(), exit(), fatal(), exit()]);
    let third = found(events);
    assert!(third.is_final);
    assert_eq!(third.at, 7000, "since its first exit");
}

#[test]
fn a_metadata_service_that_starts_after_cloud_init_gave_up_is_final() {
    let boot = systemd("init.scope", "systemd 252 running in system mode");
    let refused = call(Service::Imds, "api/token", 503, "InternalFailure");
    assert!(!found(vec![boot.clone(), refused.clone()]).is_final);
    let over = found(vec![boot, refused, done("DataSourceNone")]);
    assert_eq!(
        (over.diagnosis.cause, over.is_final),
        (Cause::MetadataUnreachable, true)
    );
}

#[test]
fn a_kubelet_that_started_without_metadata_can_still_join() {
    let mut events = started();
    events.push(ObservedEvent::Aws(AwsCall {
        authorization: Some("v1".into()),
        ..aws(Service::Imds, "meta-data/local-ipv4", 401)
    }));
    let found = found(events);
    assert_eq!(
        (found.diagnosis.cause, found.is_final),
        (Cause::MetadataTokenMissing, false)
    );
}

#[test]
fn a_script_that_waits_has_failed_since_its_first_request() {
    let missing = ObservedEvent::Aws(aws(Service::Imds, "meta-data/tags/instance/Name", 404));
    let boot = systemd("init.scope", "systemd 252 running in system mode");
    let answered = ObservedEvent::Aws(aws(Service::Imds, "meta-data/instance-id", 200));
    let found = found([boot, answered].into_iter().chain(vec![missing; 9]).collect());
    assert_eq!(
        (found.diagnosis.cause, found.at),
        (Cause::MetadataPathMissing, 2000)
    );
}
