//! What the host lacks is told as the host's, in the words of whoever met it first.

use super::*;
use crate::judge::verdict::Outcome;

#[test]
fn inotify_instances_that_are_used_up_are_told_with_the_line_that_sets_more() {
    for (unit, program, said) in [
        ("kubelet.service", "kubelet", "inotify_init: too many open files"),
        (
            "init.scope",
            "systemd",
            "Failed to allocate directory watch: Too many open files",
        ),
    ] {
        let mut whats = started();
        whats.push(ObservedEvent::Isolated);
        whats.push(journal(unit, program, said));
        let seen = observed(whats);
        let diagnosis = diagnose(&plan(), &seen).unwrap();
        assert_eq!(diagnosis.cause, Cause::HostLimit, "{said}");
        let line = "sudo sysctl -w fs.inotify.max_user_instances=1024";
        assert!(diagnosis.remedy.contains(line), "{}", diagnosis.remedy);
        let verdict = crate::judge::judge(&plan(), &seen);
        assert!(
            matches!(verdict.outcome, Outcome::Errored(_)),
            "{:?}",
            verdict.outcome
        );
    }
}

#[test]
fn a_limit_of_the_host_is_no_fault_of_the_node() {
    let mut whats = started();
    let said = "failed to create CRI service: failed to create fsnotify watcher: too many open files";
    whats.push(ObservedEvent::Isolated);
    whats.push(journal("containerd.service", "containerd", said));
    let seen = observed(whats);
    let diagnosis = diagnose(&plan(), &seen).unwrap();
    assert_eq!(diagnosis.cause, Cause::HostLimit);
    assert!(
        words(&diagnosis).contains("fs.inotify.max_user_instances"),
        "{}",
        words(&diagnosis)
    );
    let verdict = crate::judge::judge(&plan(), &seen);
    let crate::judge::verdict::Outcome::Errored(reason) = verdict.outcome else {
        panic!("{:?}", verdict.outcome)
    };
    assert!(reason.contains("too many open files"), "{reason}");
}

#[test]
fn an_api_server_that_gives_up_is_the_hosts_until_the_node_is_there() {
    let mut whats = started();
    whats.push(ObservedEvent::Isolated);
    whats.push(kubelet(
        "E1121 23:27:37.010037     408 kubelet_node_status.go:93] Unable to register node \"ip-192-168-40-16\" with API server: the \
         server was unable to return a response in the time allotted, but may still be processing the request (post nodes)",
    ));
    let seen = observed(whats.clone());
    let found = find(&plan(), &seen).unwrap();
    assert!(!found.is_final, "a busy host may yet get better");
    assert!(
        words(&found.diagnosis).contains("too busy"),
        "{}",
        words(&found.diagnosis)
    );
    let verdict = crate::judge::judge(&plan(), &seen);
    assert!(
        matches!(&verdict.outcome, crate::judge::verdict::Outcome::Errored(reason) if reason.contains("--jobs 1")),
        "{:?}",
        verdict.outcome
    );
    whats.extend([accepted(), node(false)]);
    let diagnosis = diagnose(&plan(), &observed(whats)).unwrap();
    assert_ne!(diagnosis.cause, Cause::HostLimit);
}
