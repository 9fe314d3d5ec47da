//! When the harness stops waiting for a join.

use super::{complete, plan, stopped, unmapped};
use crate::judge::{Progress, progress};
use crate::observation::phases::tests::{join, journal, observed, serving};
use crate::observation::{Observation, ObservedEvent};
use crate::plan::{Plan, UserDataEngine, UserDataPlan};

fn is_settled(plan: &Plan, observation: &Observation, now: u64) -> bool {
    progress(plan, observation, now).is_settled()
}

#[test]
fn a_join_that_must_succeed_settles_when_all_live_checks_hold() {
    let (ready, label) = (
        plan("phase: ready"),
        plan("{ phase: ready, node: { labels: { team: thor } } }"),
    );
    let part = |count: usize| observed(join().into_iter().take(count));
    assert_eq!(
        progress(&ready, &part(5), 5000),
        Progress::Waiting {
            on: "ready: at kubelet-started".into()
        }
    );
    assert!(is_settled(&ready, &part(9), 8000));
    assert!(!is_settled(&label, &complete(), 11_000));
    assert!(is_settled(&label, &complete(), 90_000), "the timeout");
    // Port 10250 is checked at the end only, so the join does not wait for it.
    let served =
        plan("{ phase: ready, certificates: [{ signer: kubernetes.io/kubelet-serving, served: true }] }");
    assert!(is_settled(&served, &part(9), 8000));
}

#[test]
fn a_journal_that_grows_without_end_ends_the_join() {
    let mut required = plan("phase: ready");
    required.limits.journal_lines = 2000;
    let lines = |count: usize| {
        let line = journal("cloud-final.service", "part-001", "waiting");
        observed(std::iter::repeat_n(line, count))
    };
    assert!(!is_settled(&required, &lines(1999), 8000));
    assert!(is_settled(&required, &lines(2000), 8000));
    let probe = required.probe();
    assert!(is_settled(&probe, &lines(2000), 8000));
    required.limits.journal_lines = 200_000;
    assert_eq!(required.probe().limits.journal_lines, 10_000);
}

#[test]
fn a_delayed_row_of_aws_auth_is_awaited() {
    let mut required = plan("phase: ready");
    let mut unmapped = stopped();
    unmapped.timeline.extend(
        observed([journal("cloud-final.service", "systemd", "Finished cloud-final.")])
            .timeline
            .into_iter()
            .map(|seen| crate::observation::TimelineEntry { at: 6000, ..seen }),
    );
    assert!(is_settled(&required, &unmapped, 60_000));
    required.cluster.aws_auth[0].after_seconds = Some(50.0);
    assert!(!is_settled(&required, &unmapped, 60_000));
    assert!(
        is_settled(&required, &unmapped, 80_000),
        "30 s after the row was added"
    );
}

#[test]
fn a_ready_node_has_time_to_request_its_certificate() {
    let ready = plan("phase: ready");
    let mut events = join();
    events.remove(7);
    let observation = observed(events);
    for required in [&ready, &plan("phase: certified")] {
        assert!(!is_settled(required, &observation, 8000));
        assert!(
            is_settled(required, &observation, 10_000),
            "it did not request one"
        );
    }
    let mut events = join();
    events[7] = ObservedEvent::Certificate(serving(None, false));
    assert!(
        !is_settled(&ready, &observed(events), 20_000),
        "its request is pending"
    );
}

#[test]
fn a_join_that_must_fail_settles_when_its_cause_has_lasted() {
    let required = plan("{ phase: kubelet-started, diagnosis: role-not-mapped }");
    assert!(!is_settled(&required, &stopped(), 7999));
    assert!(
        is_settled(&required, &stopped(), 8000),
        "3 s after the refusal at 5 s"
    );
    let joined = observed(join());
    assert!(!is_settled(&required, &joined, 8000));
    assert!(
        is_settled(&required, &joined, 11_000),
        "it joined, so it will not fail"
    );
    let mut checked =
        plan("{ phase: kubelet-started, diagnosis: role-not-mapped, user_data: { succeeded: true } }");
    checked.user_data = some_user_data();
    assert!(!is_settled(&checked, &stopped(), 8000), "user data has not ended");
}

fn some_user_data() -> Option<UserDataPlan> {
    Some(UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: String::new(),
        gzip: false,
        replace: None,
        is_translated: false,
    })
}

#[test]
fn a_failed_join_whose_files_are_checked_waits_for_the_end_of_user_data() {
    for checks in [
        "files: { /var/before: { exists: true } }",
        "units: { late.service: active }",
        "units_enabled: [late.service]",
    ] {
        let mut checked = plan(&format!(
            "{{ phase: kubelet-started, diagnosis: role-not-mapped, {checks} }}"
        ));
        assert!(is_settled(&checked, &stopped(), 8000), "no user data: {checks}");
        checked.user_data = some_user_data();
        assert!(!is_settled(&checked, &stopped(), 34_999), "{checks}");
        assert!(
            is_settled(&checked, &stopped(), 35_000),
            "user data that hangs ends after ten settle times: {checks}"
        );
        let mut done = stopped();
        let end = journal("cloud-final.service", "systemd", "Finished cloud-final.");
        done.timeline.extend(
            observed([end])
                .timeline
                .into_iter()
                .map(|seen| crate::observation::TimelineEntry { at: 6000, ..seen }),
        );
        assert!(is_settled(&checked, &done, 9000), "{checks}");
    }
}

#[test]
fn a_final_cause_ends_a_join_before_its_timeout() {
    let ready = plan("phase: ready");
    let done = journal(
        "cloud-final.service",
        "cloud-init",
        "Cloud-init v. 22.4.2 finished at x. Datasource DataSourceEc2.",
    );
    let started_nothing = observed(join().into_iter().take(3).chain([done.clone()]));
    assert!(!is_settled(&ready, &started_nothing, 5000));
    assert!(
        is_settled(&ready, &started_nothing, 6000),
        "3 s after user data was done"
    );
    let exited = observed([ObservedEvent::ContainerExited {
        code: 1,
        lines: vec![],
    }]);
    assert!(is_settled(&ready, &exited, 0));
    // A role can be mapped a little later, as eksctl does it: the harness waits ten times as long.
    let unmapped_for_good = observed(join().into_iter().take(5).chain([unmapped(), done]));
    assert!(!is_settled(&ready, &unmapped_for_good, 30_000));
    assert!(is_settled(&ready, &unmapped_for_good, 36_000));
}

#[test]
fn without_a_phase_the_join_lasts_until_the_end_of_user_data() {
    let mut required = plan("aws: { eks.DescribeCluster: 1 }");
    required.user_data = Some(UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: String::new(),
        gzip: false,
        replace: None,
        is_translated: false,
    });
    let mut events: Vec<ObservedEvent> = join().into_iter().take(3).collect();
    assert!(!is_settled(&required, &observed(events.clone()), 60_000));
    events.push(journal(
        "cloud-final.service",
        "systemd",
        "Finished Execute cloud user/final scripts.",
    ));
    assert!(!is_settled(&required, &observed(events.clone()), 4000));
    assert!(is_settled(&required, &observed(events), 6000));
}

/// User data that ended at 4 s without a kubelet, and DescribeCluster with a fault that is still pending.
fn dead_script() -> Observation {
    let done = journal(
        "cloud-final.service",
        "systemd",
        "Finished Execute cloud user/final scripts.",
    );
    let mut events: Vec<ObservedEvent> = join().into_iter().take(2).collect();
    let throttled =
        crate::observation::phases::tests::aws(crate::plan::fault::Service::Eks, "DescribeCluster", 429);
    events.extend([
        ObservedEvent::Aws(crate::observation::AwsCall {
            fault: Some(0),
            ..throttled
        }),
        done,
    ]);
    observed(events)
}

fn fault(keys: &str) -> crate::plan::fault::Fault {
    let text = format!("{{ service: eks, operation: DescribeCluster, effect: throttle, {keys} }}");
    serde_json::from_value(crate::input::yaml::parse(&text).unwrap().to_json()).unwrap()
}

#[test]
fn a_pending_fault_does_not_delay_the_verdict_on_a_script_that_ended() {
    for keys in ["times: 20", "until_seconds: 80"] {
        let mut ready = plan("phase: ready");
        ready.faults = vec![fault(keys)];
        assert!(!is_settled(&ready, &dead_script(), 4000), "{keys}");
        assert!(
            is_settled(&ready, &dead_script(), 6000),
            "{keys}: 3 s after the end of the script"
        );
    }
}

#[test]
fn a_process_that_the_script_left_behind_is_awaited_while_it_sends_requests() {
    let mut seen = dead_script();
    let call =
        crate::observation::phases::tests::aws(crate::plan::fault::Service::Eks, "DescribeCluster", 429);
    seen.timeline.push(crate::observation::TimelineEntry {
        at: 20_000,
        what: ObservedEvent::Aws(call),
    });
    let mut ready = plan("phase: ready");
    ready.faults = vec![fault("until_seconds: 80")];
    assert!(!is_settled(&ready, &seen, 22_000));
    assert!(is_settled(&ready, &seen, 23_000));
}

#[test]
fn an_expectation_that_cannot_hold_any_more_is_not_awaited() {
    let required = plan("{ phase: ready, aws: { eks.DescribeCluster: 0 } }");
    let done = journal(
        "cloud-final.service",
        "systemd",
        "Finished Execute cloud user/final scripts.",
    );
    let seen = observed(join().into_iter().chain([done]));
    assert!(is_settled(&required, &seen, 9000));
    let label = plan("{ phase: ready, node: { labels: { team: thor } } }");
    assert!(
        !is_settled(&label, &seen, 9000),
        "a controller can set the label later"
    );
}

#[test]
fn a_node_without_its_authenticator_has_to_stay_ready() {
    let mut required = plan("phase: ready");
    required.limits.settle_seconds = 70.0;
    let seen = observed(join());
    assert!(is_settled(&required, &seen, 9000));
    required.cluster.authenticator_until = Some(crate::vocabulary::phase::Phase::Ready);
    assert!(!is_settled(&required, &seen, 9000));
    assert!(is_settled(&required, &seen, 79_000));
}

#[test]
fn a_ready_node_that_changes_has_to_stay_ready() {
    let ready = plan("phase: ready");
    let unit = |message: &str| journal("kubelet.service", "systemd", message);
    let done = end_of_user_data();
    let with = |events: Vec<ObservedEvent>| {
        observed(join().into_iter().chain(events).chain([ObservedEvent::Isolated]))
    };
    for change in [unit("Started Kubernetes Kubelet."), done.clone()] {
        let changed = with(vec![change]);
        assert!(!is_settled(&ready, &changed, 11_000));
        assert!(is_settled(&ready, &changed, 12_000), "3 s after 9 s");
    }
    let exited = || unit("kubelet.service: Main process exited, code=exited, status=1/FAILURE");
    let once = with(vec![done.clone(), exited()]);
    assert!(!is_settled(&ready, &once, 20_000), "systemd can start it again");
    assert!(is_settled(&ready, &once, 40_000));
    let thrice = with(vec![done, exited(), exited(), exited()]);
    assert!(is_settled(&ready, &thrice, 14_000), "it does not recover");
    let verdict = crate::judge::judge(&ready, &thrice);
    let found = verdict.diagnosis.map(|found| found.cause);
    assert_eq!(found, Some(crate::diagnosis::Cause::NodeLost));
    let lower = crate::judge::judge(&plan("phase: registered"), &thrice);
    assert!(lower.checks.iter().all(|check| check.key != "node"));
}

#[test]
fn a_trial_waits_a_minute_for_user_data_that_continues_after_the_join() {
    let mut ready = plan("phase: ready");
    ready.user_data = some_user_data();
    ready.limits.join_seconds = 300.0;
    let joined = observed(join());
    let last = joined.timeline.last().unwrap().at;
    assert!(is_settled(&ready, &joined, last + 10_000));
    ready.is_trial = true;
    assert!(!is_settled(&ready, &joined, last + 10_000));
    assert!(is_settled(&ready, &joined, last + 61_000));
}

#[test]
fn a_node_that_must_be_lost_is_watched_until_its_user_data_ends() {
    let mut required = plan("{ phase: ready, diagnosis: node-lost }");
    required.user_data = Some(UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: String::new(),
        gzip: false,
        replace: None,
        is_translated: false,
    });
    assert!(!is_settled(&required, &observed(join()), 20_000));
    let ended = [end_of_user_data(), ObservedEvent::Isolated];
    let ended = observed(join().into_iter().chain(ended));
    assert!(
        !is_settled(&required, &ended, 11_000),
        "what it changed last shows later"
    );
    assert!(is_settled(&required, &ended, 12_000), "3 s after 9 s");
}

fn end_of_user_data() -> ObservedEvent {
    journal(
        "cloud-final.service",
        "cloud-init",
        "Cloud-init v. 22.4.2 finished at x. Datasource DataSourceEc2.",
    )
}

#[test]
fn a_script_that_waits_for_a_failing_runtime_ends_unless_a_fault_passes() {
    let unit = "containerd.service";
    let fails = |_| {
        journal(
            unit,
            "systemd",
            "containerd.service: Failed with result 'exit-code'.",
        )
    };
    let mut events: Vec<ObservedEvent> = join().into_iter().take(2).collect();
    events.extend((0..3).map(fails));
    let seen = observed(events);
    let mut ready = plan("phase: ready");
    assert!(!is_settled(&ready, &seen, 4000));
    assert!(is_settled(&ready, &seen, 12_000));
    ready.faults = vec![fault("until_seconds: 40")];
    assert!(!is_settled(&ready, &seen, 12_000));
}
