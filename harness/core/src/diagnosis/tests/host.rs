//! What the host lacks is told as the host's, in the words of whoever met it first.

use super::*;
use crate::verdict::Outcome;

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
        whats.push(What::Isolated);
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
