//! Decides when a probe is complete: the machine has started its kubelet, or will not.

use super::progress::{Progress, millis};
use crate::observation::phases::{phases, user_data_done};
use crate::observation::{Millis, Observation};
use crate::plan::Plan;
use crate::vocabulary::phase::Phase;

/// How long a machine that is complete does nothing, in milliseconds: a unit that user data started writes its files
/// meanwhile.
const QUIET: Millis = 1_000;
/// The same for a machine whose user data still runs after the start of the kubelet. It may wait for a node that never
/// registers, as `kubeadm join` does.
const QUIET_WITH_USER_DATA: Millis = 6_000;

/// Evaluates a running probe, `now` milliseconds after the start of its node.
pub(super) fn progress(plan: &Plan, observation: &Observation, now: Millis) -> Progress {
    let has_kubelet = phases(observation).contains_key(&Phase::KubeletStarted);
    let is_done = plan.user_data.is_none() || user_data_done(observation).is_some();
    let last = observation
        .timeline
        .iter()
        .map(|entry| entry.at)
        .max()
        .unwrap_or(0);
    let quiet = now.saturating_sub(last);
    let (needed, on) = match (has_kubelet, is_done) {
        (true, true) => (QUIET, "the machine to be quiet"),
        (true, false) => (QUIET_WITH_USER_DATA, "the end of user data"),
        (false, true) => (millis(plan.limits.settle_seconds), "the start of the kubelet"),
        (false, false) => (Millis::MAX, "the end of user data"),
    };
    if quiet >= needed {
        return Progress::Settled;
    }
    Progress::Waiting { on: on.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{JournalLine, ObservedEvent, TimelineEntry};
    use crate::testing::{plan, user_data_of};

    fn line(at: Millis, unit: &str, command: &str, message: &str) -> TimelineEntry {
        TimelineEntry {
            at,
            what: ObservedEvent::Journal(JournalLine {
                unit: Some(unit.to_owned()),
                command: Some(command.to_owned()),
                by_systemd: false,
                message: message.to_owned(),
            }),
        }
    }

    fn settles_at(lines: Vec<TimelineEntry>) -> Option<Millis> {
        let mut plan = plan().probe();
        plan.user_data = Some(user_data_of("#!/bin/sh"));
        plan.limits.settle_seconds = 3.0;
        plan.limits.join_seconds = 60.0;
        let observation = Observation {
            timeline: lines,
            ..Observation::default()
        };
        let settled = |now: &Millis| super::super::progress(&plan, &observation, *now).is_settled();
        (0..60_000).step_by(100).find(settled)
    }

    fn done(at: Millis) -> TimelineEntry {
        let message = "Cloud-init v. 22.4.2 finished at Sat, 21 Nov 2026 10:00:00 +0000. Datasource DataSourceEc2.  Up 4.20 seconds";
        line(at, "cloud-final.service", "cloud-init", message)
    }

    #[test]
    fn a_machine_that_started_its_kubelet_is_complete_once_it_is_quiet() {
        let kubelet = |at| line(at, "kubelet.service", "kubelet", "the probe ends here");
        assert_eq!(settles_at(vec![kubelet(2000), done(2500)]), Some(3500));
        // Its user data still runs.
        assert_eq!(settles_at(vec![kubelet(2000)]), Some(8000));
    }

    #[test]
    fn a_machine_without_a_kubelet_is_complete_a_settle_time_after_its_user_data() {
        assert_eq!(settles_at(vec![done(2000)]), Some(5000));
        assert_eq!(settles_at(vec![line(2000, "x.service", "x", "works")]), None);
    }
}
