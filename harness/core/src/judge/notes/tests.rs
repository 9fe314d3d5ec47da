//! Notes on joins that passed.

use super::*;
use crate::judge::judge;
use crate::judge::tests::{complete, plan};
use crate::judge::verdict::Outcome;
use crate::observation::phases::tests::{aws, journal};
use crate::observation::{AwsCall, TimelineEntry};
use crate::plan::UserDataPlan;

fn with_user_data(expect: &str, user_data: &str) -> Plan {
    let data = UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: STANDARD.encode(user_data),
        gzip: false,
        replace: None,
        is_translated: false,
    };
    Plan {
        user_data: Some(data),
        ..plan(expect)
    }
}

/// A complete join, with further events before the end of its user data.
fn joined(events: Vec<ObservedEvent>) -> Observation {
    let mut seen = complete();
    let done = journal(
        "cloud-final.service",
        "systemd",
        "Finished Execute cloud user/final scripts.",
    );
    let more = events.into_iter().chain([done]);
    seen.timeline
        .extend(more.map(|what| TimelineEntry { at: 9000, what }));
    seen
}

fn of(plan: &Plan, seen: &Observation) -> Vec<(NoteKind, String)> {
    let verdict = judge(plan, seen);
    assert_eq!(verdict.outcome, Outcome::Passed);
    verdict
        .notes
        .into_iter()
        .map(|note| (note.kind, note.what))
        .collect()
}

fn result(seen: &mut Observation) -> &mut UserDataResult {
    seen.collected.as_mut().unwrap().user_data.as_mut().unwrap()
}

const SCRIPT: &str = "#!/bin/bash\ntrue\n";

#[test]
fn a_join_without_problems_has_no_notes() {
    assert_eq!(
        of(&with_user_data("phase: ready", SCRIPT), &joined(vec![])),
        vec![]
    );
}

#[test]
fn user_data_that_failed_after_the_join_is_noted_unless_it_is_expected() {
    let mut seen = joined(vec![]);
    result(&mut seen).exit_codes = [("part-001".to_owned(), 3)].into();
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let what = "the user data failed although the node joined: part-001 exited with 3".to_owned();
    assert_eq!(notes, [(NoteKind::UserDataFailed, what)]);
    for expect in [
        "user_data: { exit_codes: { part-001: 3 } }",
        "user_data: { succeeded: false }",
    ] {
        let plan = with_user_data(&format!("phase: ready\n{expect}"), SCRIPT);
        assert_eq!(judge(&plan, &seen).notes, vec![], "{expect}");
    }
}

#[test]
fn what_follows_the_end_of_a_message_is_not_a_command_of_an_ami() {
    let of = |command: &str| {
        of_ami(
            &Observation::default(),
            &format!("part-001: line 9: {command}: command not found"),
        )
        .to_owned()
    };
    assert!(of("--==BOUNDARY==--").contains("the end of a MIME message"));
    assert!(of("jq").contains("add it with an overlay"));
}

#[test]
fn each_part_has_its_own_last_words() {
    let said = |message: &str| journal("cloud-final.service", "cloud-init", message);
    let failed = |part: &str, code: i32| {
        said(&format!(
            "util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/{part} [{code}]"
        ))
    };
    let mut seen = joined(vec![
        said("mount: no such disk"),
        failed("part-001", 3),
        failed("part-002", 4),
        said("what a pipe delays"),
    ]);
    let codes = [("part-001", 3), ("part-002", 4), ("part-003", 5)];
    result(&mut seen).exit_codes = codes.map(|(part, code)| (part.to_owned(), code)).into();
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let what: Vec<&str> = notes.iter().map(|(_, what)| what.as_str()).collect();
    let start = "the user data failed although the node joined: part-00";
    assert_eq!(
        what,
        [
            format!("{start}1 exited with 3; its last words: mount: no such disk"),
            format!("{start}2 exited with 4"),
            format!("{start}3 exited with 5; its last words: what a pipe delays"),
        ]
    );
}

#[test]
fn a_request_without_an_answer_is_noted_once() {
    let refused = |operation: &str, path: &str| {
        ObservedEvent::Aws(AwsCall {
            service: crate::observation::CalledService::Outside,
            path: path.to_owned(),
            ..aws(crate::vocabulary::service::Service::Eks, operation, 0)
        })
    };
    let agent = "GET https://agents.example.com/a.tar.gz";
    let events = [
        (agent, "/a.tar.gz"),
        (agent, "/a.tar.gz"),
        ("GET https://images.example.com/v2/", "/v2/"),
    ];
    let seen = joined(events.map(|(operation, path)| refused(operation, path)).into());
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let [(NoteKind::RequestNotAnswered, what)] = &notes[..] else {
        panic!("{notes:?}")
    };
    assert!(what.contains(agent) && what.contains("outside: {"), "{what}");
}

#[test]
fn a_request_without_an_answer_is_noted_where_the_node_did_not_join() {
    let mut seen = joined(vec![ObservedEvent::Aws(AwsCall {
        service: crate::observation::CalledService::Outside,
        path: "/a.tar.gz".to_owned(),
        ..aws(
            crate::vocabulary::service::Service::Eks,
            "GET https://agents.example.com/a.tar.gz",
            0,
        )
    })]);
    seen.timeline.retain(|entry| entry.at == 9000);
    let notes = |expect: &str| {
        let verdict = judge(&with_user_data(expect, SCRIPT), &seen);
        verdict
            .notes
            .into_iter()
            .map(|note| note.what)
            .collect::<Vec<_>>()
    };
    let found = notes("phase: ready");
    let is_told = |what: &String| what.contains("the node did not join: GET https://agents");
    assert!(found.len() == 1 && is_told(&found[0]), "{found:?}");
    assert!(notes("phase: ready\ndiagnosis: script-failed").is_empty());
}

#[test]
fn a_command_of_a_package_that_was_not_downloaded_is_a_limit() {
    let said = |message| journal("cloud-final.service", "cloud-init", message);
    let seen = joined(vec![
        said("nodejoin, in place of dnf: https://flox.dev/flox.rpm is recorded and not downloaded"),
        said("/var/lib/cloud/instance/scripts/part-001: line 3: flox: command not found"),
    ]);
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let [(NoteKind::CommandFailed, what)] = &notes[..] else {
        panic!("{notes:?}")
    };
    assert!(
        what.contains("`https://flox.dev/flox.rpm` is not downloaded"),
        "{what}"
    );
}

/// yum installs the other packages and succeeds.
#[test]
fn a_package_that_yum_left_out_is_noted() {
    let line = journal("cloud-final.service", "cloud-init", "No package htpo available.");
    let mut seen = joined(vec![line]);
    result(&mut seen).exit_codes = [("part-001".to_owned(), 0)].into();
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let [(NoteKind::CommandFailed, what)] = &notes[..] else {
        panic!("{notes:?}")
    };
    assert!(
        what.contains("script continued: No package htpo available. (correct the name"),
        "{what}"
    );
}

#[test]
fn an_object_that_the_account_does_not_have_is_noted() {
    let missing = AwsCall {
        subject: Some("demo/agent.tgz".to_owned()),
        ..aws(crate::vocabulary::service::Service::S3, "HeadObject", 404)
    };
    let seen = joined(vec![ObservedEvent::Aws(missing)]);
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let [(NoteKind::ObjectNotFound, what)] = &notes[..] else {
        panic!("{notes:?}")
    };
    assert!(what.contains("s3://demo/agent.tgz"), "{what}");
}

#[test]
fn user_data_that_still_runs_is_noted() {
    let notes = of(&with_user_data("phase: ready", SCRIPT), &complete());
    assert_eq!(notes[0].0, NoteKind::UserDataRuns);
}

#[test]
fn problems_in_the_journal_are_noted_once() {
    let shell = "/var/lib/cloud/instance/scripts/part-001: line 3: jq: command not found";
    let unit = "/etc/systemd/system/kubelet.service.d/10-x.conf:3: Invalid environment assignment, ignoring: <h1>404";
    let seen = joined(vec![
        journal("cloud-final.service", "cloud-init", shell),
        journal("cloud-final.service", "cloud-init", shell),
        journal("init.scope", "systemd", unit),
        journal(
            "init.scope",
            "systemd",
            "/usr/lib/systemd/system/x.service:1: Unknown key, ignoring.",
        ),
    ]);
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let kinds: Vec<NoteKind> = notes.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [NoteKind::CommandFailed, NoteKind::UnitLineIgnored]);
    assert!(
        notes[0].1.contains(&format!("{shell} (if your AMI has it")) && notes[1].1.ends_with(unit),
        "{notes:?}"
    );
}

#[test]
fn errors_of_programs_are_noted_unless_their_part_failed() {
    let lines = [
        "ls: cannot access '/nope': No such file or directory",
        "sed: can't read /etc/x: No such file or directory",
        "Failed to restart acme.service: Unit acme.service not found.",
        "swapon: /swapfile: swapon failed: Operation not permitted",
        "ls: 3 files",
        "error: ls",
        "cp -v /a /b: done",
    ];
    let seen = joined(
        lines
            .map(|line| journal("cloud-final.service", "cloud-init", line))
            .to_vec(),
    );
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let found: Vec<&str> = notes
        .iter()
        .filter_map(|(_, what)| {
            what.strip_prefix("a command of the user data failed, and the script continued: ")
        })
        .collect();
    assert_eq!(found.len(), 4, "{notes:?}");
    assert!(
        found[3].contains("a kubelet exits on a machine with swap"),
        "{notes:?}"
    );
    for (note, line) in found.iter().zip(lines) {
        assert!(note.starts_with(line), "{note}");
    }
}

#[test]
fn a_name_that_is_almost_one_of_ours_is_noted() {
    let plan = with_user_data("phase: ready", "#!/bin/bash\necho {{ region }}\n");
    let what =
        "line 2 of part-001: `{{ region }}` reaches the node as text: did you mean `{{ instance.region }}`?";
    assert_eq!(
        of(&plan, &joined(vec![])),
        [(NoteKind::PlaceholderTypo, what.to_owned())]
    );
    let mut stopped = joined(vec![]);
    stopped.timeline.retain(|entry| entry.at == 9000);
    let diagnosis = judge(&plan, &stopped).diagnosis.unwrap();
    assert!(diagnosis.because.ends_with(what), "{}", diagnosis.because);
}

#[test]
fn a_reboot_is_noted() {
    let mut seen = joined(vec![]);
    let (mut rebooted, mut again) = (seen.timeline.clone(), seen.timeline.clone());
    rebooted.push(TimelineEntry {
        at: 12_300,
        what: ObservedEvent::Rebooted,
    });
    again.iter_mut().for_each(|entry| entry.at += 13_000);
    seen.timeline = rebooted.into_iter().chain(again).collect();
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let what = "the user data rebooted the instance after 12.3 s, and the node joined after it".to_owned();
    assert_eq!(notes, [(NoteKind::InstanceRebooted, what)]);
}

#[test]
fn a_command_that_may_have_ended_its_part_is_not_said_to_have_continued() {
    let shell = "/var/lib/cloud/instance/scripts/part-001: line 3: jq: command not found";
    let mut seen = joined(vec![journal("cloud-final.service", "cloud-init", shell)]);
    result(&mut seen).exit_codes = [("part-001".to_owned(), 127)].into();
    let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
    let [(NoteKind::UserDataFailed, what)] = &notes[..] else {
        panic!("{notes:?}")
    };
    // The reason of the shell, and whose limit it can be.
    for part in [
        "part-001 exited with 127",
        "line 3: jq: command not found",
        "a limit of nodejoin",
    ] {
        assert!(what.contains(part), "{what}");
    }
}

#[test]
fn a_node_that_did_not_join_has_no_notes() {
    let mut seen = joined(vec![]);
    result(&mut seen).exit_codes = [("part-001".to_owned(), 127)].into();
    seen.timeline.retain(|entry| entry.at == 9000);
    let verdict = judge(&with_user_data("phase: ready", SCRIPT), &seen);
    assert_ne!(verdict.outcome, Outcome::Passed);
    assert_eq!(verdict.notes, vec![]);
}

#[test]
fn a_part_that_did_not_run_is_noted() {
    let mime = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n--b\nContent-Type: text/x-shellscript\n\n\
                #!/bin/bash\ntrue\n\n--b\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\ntrue\n\n--b--\n";
    let mut seen = joined(vec![]);
    result(&mut seen).exit_codes = [("part-001".to_owned(), 0)].into();
    let notes = of(&with_user_data("phase: ready", mime), &seen);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].0, NoteKind::PartNotRun);
    assert!(notes[0].1.starts_with("part-002 did not run"), "{notes:?}");
}

#[test]
fn requests_without_a_token_are_noted() {
    let refused = ObservedEvent::Aws(AwsCall {
        authorization: Some("v1".into()),
        ..aws(crate::vocabulary::service::Service::Imds, "meta-data/mac", 401)
    });
    let notes = of(&with_user_data("phase: ready", SCRIPT), &joined(vec![refused]));
    let what = "the metadata service rejected a request without a token: `meta-data/mac`".to_owned();
    assert_eq!(notes, [(NoteKind::RequestWithoutToken, what)]);
}

#[test]
fn a_client_may_ask_without_a_token_first_if_it_repeats_the_request_soon() {
    let aws_at = |at: u64, status: u16, authorization: &str| TimelineEntry {
        at,
        what: ObservedEvent::Aws(AwsCall {
            authorization: Some(authorization.into()),
            ..aws(crate::vocabulary::service::Service::Imds, "meta-data/mac", status)
        }),
    };
    for (second, count) in [(1500, 0), (6000, 1)] {
        let mut seen = joined(vec![]);
        seen.timeline.insert(0, aws_at(second, 200, "v2"));
        seen.timeline.insert(0, aws_at(1000, 401, "v1"));
        let notes = of(&with_user_data("phase: ready", SCRIPT), &seen);
        assert_eq!(notes.len(), count, "{second}: {notes:?}");
    }
}

#[test]
fn expected_notes_are_the_complete_list() {
    let mut seen = joined(vec![]);
    result(&mut seen).errors = vec!["ValueError: x".to_owned(), "KeyError: y".to_owned()];
    for (notes, outcome) in [
        ("['KeyError', 'ValueError: x']", Outcome::Passed),
        ("['cloud-init reports']", Outcome::Passed),
        ("['KeyError']", Outcome::Failed),
        ("['KeyError', 'ValueError', 'still running']", Outcome::Failed),
        ("[]", Outcome::Failed),
    ] {
        let plan = with_user_data(&format!("phase: ready\nnotes: {notes}"), SCRIPT);
        assert_eq!(judge(&plan, &seen).outcome, outcome, "{notes}");
    }
    let none = with_user_data("phase: ready\nnotes: []", SCRIPT);
    assert_eq!(judge(&none, &joined(vec![])).outcome, Outcome::Passed);
}

#[test]
fn a_clean_scenario_fails_with_a_note() {
    let mut seen = joined(vec![]);
    result(&mut seen).errors = vec!["('scripts_user', RuntimeError())".to_owned()];
    let clean = with_user_data("phase: ready\nclean: true", SCRIPT);
    let verdict = judge(&clean, &seen);
    assert_eq!(verdict.outcome, Outcome::Failed);
    let broken: Vec<&Check> = verdict.checks.iter().filter(|check| !check.held).collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(
        broken[0].seen,
        "cloud-init reports: ('scripts_user', RuntimeError())"
    );
    assert_eq!(judge(&clean, &joined(vec![])).outcome, Outcome::Passed);
    let noted = with_user_data("phase: ready\nclean: false", SCRIPT);
    assert_eq!(judge(&noted, &seen).outcome, Outcome::Passed);
    assert_eq!(judge(&noted, &joined(vec![])).outcome, Outcome::Failed);
}

#[test]
fn a_value_that_a_run_fills_in_is_text() {
    let text = "#cloud-config\nwrite_files:\n- path: /ca\n  content: {{ cluster.certificate_authority }}\n";
    let mut seen = joined(vec![]);
    result(&mut seen).exit_codes.clear();
    assert_eq!(of(&with_user_data("phase: ready", text), &seen), vec![]);
    let other = text.replace("cluster.certificate_authority", "authority");
    let found = of(&with_user_data("phase: ready", &other), &seen);
    assert_eq!(found[0].0, NoteKind::PartNotRun, "{found:?}");
}
