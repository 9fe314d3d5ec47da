//! The line of evidence of user data that failed, from the output of its scripts.

use crate::diagnosis::Diagnosis;
use crate::diagnosis::tests::{cloud, diagnosed, done, kubelet, plan, plan_with};
use crate::observation::phases::tests::{join, journal};
use crate::observation::{JournalLine, ObservedEvent};
use crate::vocabulary::cause::Cause;

const FAILED: &str = "Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)";

/// The diagnosis of user data that wrote these lines.
fn after(lines: impl IntoIterator<Item = ObservedEvent>) -> Diagnosis {
    diagnosed(&plan(), join().into_iter().take(2).chain(lines).collect())
}

/// The evidence for user data that failed after these lines.
fn evidence(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| cloud(line));
    let found = after(lines.chain([cloud(FAILED), done("DataSourceEc2")]));
    assert_eq!(found.cause, Cause::ScriptFailed);
    found.seen
}

#[test]
fn keys_that_cloud_init_prints_are_no_output_of_a_script() {
    let missing = "part-001: line 3: /opt/x: No such file or directory";
    let keys = [
        missing,
        "<14>Nov 28 12:00:17 ec2: ",
        "-----BEGIN SSH HOST KEY KEYS-----",
        "-----END SSH HOST KEY KEYS-----",
    ];
    assert!(evidence(&keys).ends_with(missing));
}

#[test]
fn a_complaint_before_the_line_of_a_trap_is_the_evidence() {
    for complaint in [
        "base64: invalid input",
        "cat: /etc/demo/labels: No such file or directory",
        "/var/lib/cloud/instance/scripts/part-001: line 9: warning: here-document at line 3 delimited by end-of-file \
         (wanted `EOF')",
        "curl: (22) The requested URL returned error: 404",
    ] {
        for trap in [
            "failed at 12",
            "Error on line 12",
            "bootstrap.sh: line 12 ended with status 1",
            "aborted with exit status 1 (line 12)",
        ] {
            let seen = evidence(&["starting", complaint, trap]);
            assert!(seen.ends_with(complaint), "{trap}: {seen}");
        }
    }
}

#[test]
fn a_last_line_with_a_reason_of_its_own_stays_the_evidence() {
    for last in [
        "bootstrap.sh: the name of the cluster is missing",
        "An error occurred (ResourceNotFoundException) when calling the DescribeCluster operation: No cluster found for 1",
        "jq: error (at <stdin>:1): Cannot index string with string \"cluster\" after 404 of the requested page",
    ] {
        let seen = evidence(&["rm: cannot remove '/tmp/x': No such file or directory", last]);
        assert!(seen.ends_with(last), "{seen}");
    }
}

#[test]
fn the_line_of_a_trap_is_in_the_remedy() {
    for trap in [
        "failed at 12",
        "Error on line 12",
        "x.sh: line 12 ended with status 1",
    ] {
        let lines = ["base64: invalid input", trap, FAILED];
        let found = after(lines.map(cloud));
        assert!(
            found.remedy.contains("run line 12 of the script"),
            "{trap}: {}",
            found.remedy
        );
    }
}

#[test]
fn a_job_that_failed_is_followed_into_the_journal_of_its_unit() {
    let found = after([
        journal("agent.service", "agent", "agent: error: no such region"),
        journal(
            "agent.service",
            "systemd",
            "agent.service: Failed with result 'exit-code'.",
        ),
        cloud("Job for agent.service failed because the control process exited with error code."),
        cloud("See \"systemctl status agent.service\" and \"journalctl -xeu agent.service\" for details."),
        cloud(FAILED),
    ]);
    assert!(
        found.seen.ends_with("agent: error: no such region"),
        "{}",
        found.seen
    );
    let found = after([
        cloud("Failed to start agent.service: Unit agent.service has a bad unit file setting."),
        cloud("See system logs and 'systemctl status agent.service' for details."),
        cloud(FAILED),
    ]);
    assert!(found.seen.ends_with("bad unit file setting."), "{}", found.seen);
}

#[test]
fn the_package_that_is_missing_is_named() {
    for (missing, last) in [
        ("No package nosuch available.", "Error: Nothing to do"),
        (
            "No match for argument: nosuch",
            "Error: Unable to find a match: nosuch",
        ),
    ] {
        let seen = evidence(&["Loaded plugins: priorities", missing, last]);
        assert!(seen.ends_with(missing), "{seen}");
    }
}

#[test]
fn output_through_logger_counts_although_it_arrives_after_the_end() {
    let logged = |message: &str| journal("cloud-final.service", "user-data", message);
    let without_unit = |message: &str| {
        ObservedEvent::Journal(JournalLine {
            unit: None,
            command: Some("user-data".to_owned()),
            by_systemd: false,
            message: message.to_owned(),
        })
    };
    let late: [fn(&str) -> ObservedEvent; 2] = [
        |message| journal("cloud-final.service", "user-data", message),
        |message| {
            ObservedEvent::Journal(JournalLine {
                unit: None,
                command: Some("user-data".to_owned()),
                by_systemd: false,
                message: message.to_owned(),
            })
        },
    ];
    for late in late {
        let found = after([logged("starting"), cloud(FAILED), late("base64: invalid input")]);
        assert!(found.seen.ends_with("base64: invalid input"), "{}", found.seen);
    }
    let found = after([
        cloud(FAILED),
        without_unit("base64: invalid input"),
        cloud(FAILED),
        cloud(FAILED),
        cloud("a service writes later"),
    ]);
    assert!(found.seen.ends_with("base64: invalid input"), "{}", found.seen);
}

#[test]
fn user_data_that_succeeded_without_a_kubelet_shows_its_complaint() {
    let warning = "/var/lib/cloud/instance/scripts/part-001: line 9: warning: here-document at line 3 delimited by \
                   end-of-file (wanted `EOF')";
    let found = after([cloud(warning), done("DataSourceEc2")]);
    assert_eq!(found.cause, Cause::KubeletNeverStarted);
    assert!(
        found.seen.ends_with(warning) && found.because.contains("here-document"),
        "{found:?}"
    );
}

#[test]
fn an_error_that_a_later_command_hides_has_its_complaint() {
    let found = after([
        cloud("base64: invalid input"),
        cloud("Exited with error on line 388"),
        done("DataSourceEc2"),
    ]);
    assert!(
        found.because.contains("(base64: invalid input; Exited with"),
        "{}",
        found.because
    );
}

/// Lines of cloud-init, of `set -x` and of the harness repeat what a script does.
#[test]
fn only_output_of_the_script_is_evidence() {
    let noise = [
        "+ echo 'error: base64: invalid input'",
        "+++ /etc/eks/bootstrap.sh:41: grep -q error /var/log/messages",
        "+(/etc/eks/bootstrap.sh:41): test -f /etc/failed",
        "2026-11-21 10:00:00,000 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]",
        "2026-11-21 10:00:00,000 - cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in x)",
        "Cloud-init v. 22.4.2 running 'modules:final' at Sat, 21 Nov 2026 10:00:00 +0000. Up 4.20 seconds.",
        "ci-info: no authorized SSH keys fingerprints found for user admin: failed.",
        "Traceback (most recent call last):",
        "  File \"/usr/lib/python3/dist-packages/cloudinit/subp.py\", line 295, in subp",
        "    raise ProcessExecutionError(",
        "cloudinit.subp.ProcessExecutionError: Unexpected error while running command.",
        "Command: ['/var/lib/cloud/instance/scripts/part-001']",
        "Exit code: 1",
        "RuntimeError: Runparts: 1 failures (part-001) in 1 attempted commands",
    ];
    for line in noise {
        let seen = evidence(&["the last words", line]);
        assert!(seen.ends_with("the last words"), "{line}: {seen}");
    }
    let mut all = vec!["the last words"];
    all.extend(noise);
    assert!(evidence(&all).ends_with("the last words"));
}

#[test]
fn the_unknown_cause_quotes_no_line_of_cloud_init_or_a_trace() {
    let started = join().into_iter().take(5);
    let events = started.chain([
        cloud("curl: (22) The requested URL returned error: 404"),
        kubelet("I1122 21:36:22.019841     343 flags.go:59] FLAG: --fail-swap-on=\"true\""),
        cloud("+ echo error"),
        cloud("2026-11-21 10:00:00,000 - util.py[WARNING]: Failed running /var/lib/cloud/x [1]"),
        cloud("cloudinit.subp.ProcessExecutionError: Unexpected error while running command."),
    ]);
    let found = diagnosed(&plan_with("#!/bin/bash\n"), events.collect());
    assert_eq!(found.cause, Cause::Unknown);
    assert!(found.seen.contains("curl: (22)"), "{}", found.seen);
}
