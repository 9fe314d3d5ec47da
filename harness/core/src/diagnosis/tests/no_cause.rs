//! Joins without a diagnosis, and problems that went away before the end.

use super::*;
use crate::observation::phases::KUBELET_CLIENT;
use crate::observation::{Certificate, NodeChange};

fn cause_of(plan: &Plan, events: Vec<ObservedEvent>) -> Option<Cause> {
    find(plan, &observed(events)).map(|finding| finding.diagnosis.cause)
}

#[test]
fn a_join_that_reached_every_phase_has_no_diagnosis() {
    let mut events = join();
    events.insert(5, refused(RejectionKind::NotMapped, "not mapped"));
    assert_eq!(diagnose(&plan(), &observed(events)), None);
    let mut seen = observed(join());
    seen.node = Some(json!({ "spec": { "providerID": format!("aws:///eu-west-1a/{ID}") } }));
    assert_eq!(diagnose(&plan(), &seen), None);
}

#[test]
fn a_refused_token_is_not_a_cause_after_an_accepted_one() {
    let mut events = started();
    events.extend([
        refused(RejectionKind::NotMapped, "not mapped"),
        accepted(),
        node(false),
    ]);
    assert_eq!(cause_of(&plan(), events), None);
}

#[test]
fn a_throttled_request_is_not_a_cause_after_a_successful_one() {
    let mut events: Vec<_> = started().into_iter().take(2).collect();
    events.extend([
        call(Service::Eks, "DescribeCluster", 429, "ThrottlingException"),
        call(Service::Eks, "DescribeCluster", 200, ""),
    ]);
    assert_eq!(cause_of(&plan(), events), None);
}

#[test]
fn groups_of_the_latest_token_count() {
    let mut events = started();
    events.extend([
        token_accepted("builder", &["builders"]),
        token_accepted("builder", &["system:nodes"]),
    ]);
    assert_eq!(cause_of(&plan(), events), None);
}

#[test]
fn a_node_that_registered_again_was_not_deleted() {
    let mut events = started();
    let gone = ObservedEvent::Node(NodeChange {
        name: NAME.into(),
        exists: false,
        ready: false,
    });
    events.extend([node(false), gone, node(false)]);
    assert_eq!(cause_of(&plan(), events), None);
}

#[test]
fn an_approved_client_certificate_is_not_pending() {
    let approved = Certificate {
        signer: KUBELET_CLIENT.into(),
        ..serving(Some(true), true)
    };
    let mut events = started();
    events.extend([accepted(), ObservedEvent::Certificate(approved)]);
    assert_eq!(cause_of(&plan(), events), None);
}

#[test]
fn a_client_that_repeats_its_request_with_a_token_is_not_a_cause() {
    let path = "meta-data/placement/availability-zone";
    let refused = ObservedEvent::Aws(AwsCall {
        authorization: Some("v1".into()),
        ..aws(Service::Imds, path, 401)
    });
    let mut events = started();
    events.extend([refused, ObservedEvent::Aws(aws(Service::Imds, path, 200))]);
    assert_eq!(cause_of(&plan(), events), None);
}
