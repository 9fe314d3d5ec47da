//! The outcome and the diagnosis of a verdict.

use serde_json::json;

use super::{broken, complete, plan, stopped};
use crate::diagnosis::Cause;
use crate::judge::verdict::Outcome;
use crate::judge::{judge, judge_step};
use crate::observation::phases::tests::{aws, join, observed};
use crate::observation::{AwsCall, CalledService, Observation, ObservedEvent, TimelineEntry};
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

#[test]
fn a_join_without_proof_of_isolation_is_errored() {
    let mut observation = complete();
    observation
        .timeline
        .retain(|seen| seen.what != ObservedEvent::Isolated);
    assert!(matches!(
        judge(&plan("phase: ready"), &observation).outcome,
        Outcome::Errored(_)
    ));
    let exit = ObservedEvent::ContainerExited {
        code: 97,
        lines: vec!["no harness".into()],
    };
    let Outcome::Errored(reason) = judge(&plan("phase: ready"), &observed([exit])).outcome else {
        panic!()
    };
    assert_eq!(
        reason,
        "the node's container exited with code 97 before it reached the harness: no harness"
    );
}

#[test]
fn a_node_that_differs_from_its_snapshot_fails_with_the_difference() {
    let mut required = plan("phase: ready");
    let mut seen = complete();
    seen.collected.as_mut().unwrap().golden = Some("==> kubelet\n--v=2\n".into());
    for (text, expected) in [
        (None, "create it with `nodejoin run --bless`"),
        (Some("==> kubelet\n--v=3\n"), "- --v=3\n+ --v=2"),
    ] {
        required.golden = Some(crate::plan::golden::GoldenPlan {
            path: "a.snapshot".into(),
            files: vec![],
            argv: true,
            without_lines: Vec::new(),
            text: text.map(str::to_owned),
            machine: None,
            is_optional: false,
        });
        let broken = broken(&required, &seen);
        assert_eq!(broken.len(), 1);
        assert!(
            broken[0].key == "golden" && broken[0].seen.contains(expected),
            "{broken:?}"
        );
    }
    required.golden.as_mut().unwrap().text = Some("==> kubelet\n--v=2\n".into());
    assert!(broken(&required, &seen).is_empty());
}

#[test]
fn an_operation_that_the_fake_does_not_implement_fails_every_verdict() {
    let mut observation = complete();
    let call = AwsCall {
        known: false,
        path: "/x".into(),
        ..aws(Service::Ec2, "RunInstances", 400)
    };
    observation.timeline.push(TimelineEntry {
        at: 0,
        what: ObservedEvent::Aws(call),
    });
    let failed = broken(&plan("phase: ready"), &observation);
    assert_eq!(
        (failed[0].key.as_str(), failed[0].seen.as_str()),
        ("aws", "ec2.RunInstances /x")
    );
    let unnamed = AwsCall {
        known: false,
        path: "/x".into(),
        ..aws(Service::Ec2, "GET /x", 400)
    };
    let mut other = complete();
    other.timeline.push(TimelineEntry {
        at: 0,
        what: ObservedEvent::Aws(unnamed),
    });
    assert_eq!(broken(&plan("phase: ready"), &other)[0].seen, "ec2.GET /x");
    let mut allowed = plan("phase: ready");
    allowed.aws.allow = vec!["ec2.Run*".to_owned()];
    assert!(broken(&allowed, &observation).is_empty());
    let limit = plan("phase: ready\ndiagnosis: harness-limit");
    assert!(
        broken(&limit, &observation)
            .iter()
            .all(|check| check.key != "aws")
    );
}

#[test]
fn a_script_can_do_without_a_request_to_the_outside() {
    let mut observation = complete();
    let call = AwsCall {
        service: CalledService::Outside,
        known: false,
        ..aws(Service::Ec2, "GET https://downloads.example.com/x", 0)
    };
    observation.timeline.push(TimelineEntry {
        at: 0,
        what: ObservedEvent::Aws(call),
    });
    let mut plan = plan("phase: ready");
    assert_eq!(judge(&plan, &observation).outcome, Outcome::Passed);
    let count = json!({ "outside.GET https://downloads.example.com/*": 2 });
    plan.expect.aws = serde_json::from_value(count).unwrap();
    let failed = broken(&plan, &observation);
    assert_eq!(failed[0].seen, "1 call");
}

#[test]
fn a_fault_that_did_not_fire_fails_the_verdict_without_may_fire() {
    for (may_fire, fired, held) in [(false, 0, false), (false, 2, true), (true, 0, true)] {
        let mut plan = plan("phase: ready");
        plan.faults =
            serde_json::from_value(json!([{"service": "eks", "effect": "refuse", "may_fire": may_fire}]))
                .unwrap();
        let observation = Observation {
            faults_fired: [(0, fired)].into(),
            ..complete()
        };
        assert_eq!(broken(&plan, &observation).is_empty(), held, "{may_fire} {fired}");
    }
}

#[test]
fn a_dns_fault_that_did_not_fire_fails_the_verdict_without_may_fire() {
    for (may_fire, fault, held) in [
        (false, None, false),
        (false, Some(1), false),
        (false, Some(0), true),
        (true, None, true),
    ] {
        let mut plan = plan("phase: ready");
        plan.dns_faults =
            serde_json::from_value(json!([{"effect": "servfail", "may_fire": may_fire}])).unwrap();
        let mut observation = complete();
        let query = json!({"at": 0, "kind": "dns", "name": "a.internal", "record": "A", "answered": false, "fault": fault});
        observation.timeline.push(serde_json::from_value(query).unwrap());
        assert_eq!(
            broken(&plan, &observation).is_empty(),
            held,
            "{may_fire} {fault:?}"
        );
    }
}

#[test]
fn a_scenario_that_expects_a_failure_passes_at_its_phase_for_its_cause_only() {
    for (expect, observation, outcome) in [
        (
            "{ phase: kubelet-started, diagnosis: role-not-mapped }",
            stopped(),
            Outcome::Passed,
        ),
        ("{ diagnosis: role-not-mapped }", stopped(), Outcome::Passed),
        (
            "{ diagnosis: role-not-mapped, diagnosis_contains: [aws-auth] }",
            stopped(),
            Outcome::Passed,
        ),
        (
            "{ diagnosis: role-not-mapped, diagnosis_contains: [aws-auth, Ferris] }",
            stopped(),
            Outcome::Failed,
        ),
        (
            "{ phase: configured, diagnosis: role-not-mapped }",
            stopped(),
            Outcome::Failed,
        ),
        (
            "{ phase: kubelet-started, diagnosis: label-refused }",
            stopped(),
            Outcome::Failed,
        ),
        (
            "{ phase: kubelet-started, diagnosis: role-not-mapped }",
            complete(),
            Outcome::Failed,
        ),
        ("phase: ready", stopped(), Outcome::Failed),
    ] {
        let verdict = judge(&plan(expect), &observation);
        assert_eq!(verdict.outcome, outcome, "{expect}: {:#?}", verdict.checks);
    }
}

#[test]
fn verdicts_on_joins_that_stopped_have_a_diagnosis() {
    let cause = |expect: &str, observation: &Observation| {
        judge(&plan(expect), observation).diagnosis.map(|d| d.cause)
    };
    assert_eq!(cause("phase: ready", &stopped()), Some(Cause::RoleNotMapped));
    assert_eq!(
        cause(
            "{ phase: kubelet-started, diagnosis: role-not-mapped }",
            &stopped()
        ),
        Some(Cause::RoleNotMapped)
    );
    assert_eq!(cause("phase: kubelet-started", &stopped()), None);
    assert_eq!(cause("node: { name: x }", &complete()), None);
}

/// A restarted kubelet does not register again: that the step stops at `kubelet-started` does not explain a missing
/// file.
#[test]
fn a_step_without_a_phase_has_no_unknown_diagnosis() {
    let restarted = observed(join().into_iter().take(5).chain([ObservedEvent::Isolated]));
    let cause = |expect: &str, observation: &Observation| {
        let verdict = judge_step(&plan(expect), observation);
        assert_eq!(verdict.outcome, Outcome::Failed, "{expect}");
        verdict.diagnosis.map(|found| found.cause)
    };
    let file = "files: { /etc/nope: { mode: '0644' } }";
    assert_eq!(cause(file, &restarted), None);
    // A known cause is reported.
    assert_eq!(cause(file, &stopped()), Some(Cause::RoleNotMapped));
    assert_eq!(cause("phase: ready", &restarted), Some(Cause::Unknown));
}

#[test]
fn a_verdict_has_the_phases_that_were_reached() {
    let verdict = judge(&plan("phase: ready"), &complete());
    assert_eq!(verdict.phases[&Phase::Ready], 8000);
    assert_eq!(verdict.phases[&Phase::Booted], 0);
}
