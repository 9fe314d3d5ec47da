//! Which causes end a join before its timeout.

use super::*;
use crate::observation::DnsQuery;
use crate::plan::dns_fault::{DnsEffect, DnsFault};

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

/// The name of a host that the fault `dns_faults[0]` fails twice, and what needs it.
fn needs_name(
    for_seconds: Option<f64>,
    events: impl IntoIterator<Item = ObservedEvent>,
) -> crate::diagnosis::Finding {
    let fault = DnsFault {
        name: None,
        times: None,
        for_seconds,
        effect: DnsEffect::Servfail,
        may_fire: false,
    };
    let query = ObservedEvent::Dns(DnsQuery {
        name: "api.example.com".to_owned(),
        record: "A".to_owned(),
        answered: false,
        fault: Some(0),
    });
    let plan = Plan {
        dns_faults: vec![fault],
        ..plan()
    };
    let events = events.into_iter().chain([query.clone(), query]);
    let found = find(&plan, &observed(events)).expect("a cause");
    assert_eq!(found.diagnosis.cause, Cause::NameNotResolved);
    found
}

#[test]
fn a_name_that_resolves_later_is_final_only_for_what_has_ended() {
    let retries = [
        systemd("init.scope", "systemd 252 running in system mode"),
        cloud("curl: (6) Could not resolve host: api.example.com"),
    ];
    assert!(!needs_name(Some(30.0), retries.clone()).is_final);
    assert!(needs_name(None, retries.clone()).is_final);
    let failed = cloud("Runparts: 1 failures (part-001) in 1 attempted commands");
    assert!(needs_name(Some(30.0), retries.into_iter().chain([failed])).is_final);
}

#[test]
fn a_kubelet_waits_for_a_name_that_resolves_later() {
    let line = kubelet(
        "E1125 12:39:26.1 reflector.go:138] dial tcp: lookup api.example.com on 10.0.0.2:53: server misbehaving",
    );
    let events = || started().into_iter().chain([line.clone()]);
    assert!(!needs_name(Some(30.0), events()).is_final);
    assert!(needs_name(None, events()).is_final);
}

#[test]
fn only_an_endpoint_that_may_be_that_of_the_cluster_is_waited_for() {
    let found = |endpoint: &str, error: &str| {
        let message = format!(
            "E1121 10:00:00.000001     321 kubelet_node_status.go:93] Unable to register node \"n\" with API server: Post \
             \"{endpoint}/api/v1/nodes\": dial tcp 198.18.7.2: connect: {error}"
        );
        let query = ObservedEvent::Dns(DnsQuery {
            name: "api.example.com".to_owned(),
            record: "A".to_owned(),
            answered: false,
            fault: None,
        });
        let events = started().into_iter().chain([query, kubelet(&message)]);
        let plan = plan_with(&format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh --apiserver-endpoint {endpoint}\n"
        ));
        let found = find(&plan, &observed(events)).unwrap();
        assert_eq!(found.diagnosis.cause, Cause::EndpointUnreachable);
        (found.is_final, found.diagnosis.remedy)
    };
    let refused = "connection refused";
    for port in ["", ":443"] {
        let (is_final, remedy) = found(&format!("https://{HOST}{port}"), refused);
        assert!(!is_final && remedy.contains("still runs"), "{remedy}");
    }
    let (is_final, remedy) = found(&format!("https://{HOST}:6443"), refused);
    assert!(
        is_final && remedy.starts_with(&format!("pass the endpoint without `:6443`: https://{HOST};")),
        "{remedy}"
    );
    assert!(found(&format!("http://{HOST}"), refused).0);
    assert!(
        found(
            "https://api.example.com",
            "certificate signed by unknown authority"
        )
        .0
    );
}
