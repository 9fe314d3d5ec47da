//! The end of the node's container, and the boots after reboots by its user data.

use super::{JournalLine, Millis, Observation, ObservedEvent, TimelineEntry};

/// The node boots again this many times: an instance that reboots more often does so without end.
pub const MOST_REBOOTS: usize = 3;

/// Exit code of a container that could not become a machine: its entry program failed before systemd.
const NOT_MADE: i64 = 98;
/// Begins what the entry program prints.
const OF_HARNESS: &str = "nodejoin: ";

/// The exit of the container, after which it did not start again.
#[derive(Debug, Clone, Copy)]
pub struct ContainerExit<'a> {
    pub at: Millis,
    pub code: i64,
    /// The last lines of its output.
    pub lines: &'a [String],
}

/// How a system ends itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PowerAction {
    Reboot,
    ShutDown,
}

impl PowerAction {
    /// Exit code of the container: the kernel ends it with SIGHUP when its system reboots, and with SIGINT when it
    /// halts or powers off.
    fn exit_code(self) -> i64 {
        match self {
            Self::Reboot => 129,
            Self::ShutDown => 130,
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Reboot => &[
                "The system will reboot now",
                "System is rebooting",
                "System Reboot",
                "reboot.target",
            ],
            Self::ShutDown => &[
                "The system will power off now",
                "System is powering down",
                "Power-Off",
                "poweroff.target",
                "System Halt",
            ],
        }
    }

    fn is_named_by(self, line: &JournalLine) -> bool {
        self.words().iter().any(|word| line.message.contains(word))
    }
}

impl Observation {
    /// Whether the journal has at least this many lines.
    pub(crate) fn has_journal_lines(&self, most: u32) -> bool {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let is_line = |seen: &&TimelineEntry| matches!(seen.what, ObservedEvent::Journal(_));
        self.timeline.len() >= most && self.timeline.iter().filter(is_line).count() >= most
    }

    /// The exit of the container; `None` while it runs, also after a reboot.
    #[must_use]
    pub fn exit(&self) -> Option<ContainerExit<'_>> {
        let last = self.timeline.iter().rev().find(|seen| {
            matches!(
                seen.what,
                ObservedEvent::ContainerExited { .. } | ObservedEvent::Rebooted
            )
        })?;
        match &last.what {
            ObservedEvent::ContainerExited { code, lines } => Some(ContainerExit {
                at: last.at,
                code: *code,
                lines,
            }),
            _ => None,
        }
    }

    /// Why the container did not become a machine, which is a fault of the harness or of the image, and none of the
    /// user data.
    #[must_use]
    pub fn not_made(&self) -> Option<String> {
        let has_booted = self
            .timeline
            .iter()
            .any(|seen| matches!(seen.what, ObservedEvent::Journal(_)));
        // systemd can be told to end with any code.
        let exit = self.exit().filter(|exit| exit.code == NOT_MADE && !has_booted)?;
        let mut lines = exit.lines.iter().rev();
        let line = lines.find_map(|line| line.strip_prefix(OF_HARNESS));
        Some(
            line.unwrap_or("the container could not be set up as a machine")
                .to_owned(),
        )
    }

    /// The starts of the container after reboots by its user data.
    pub fn reboots(&self) -> impl Iterator<Item = Millis> {
        let timeline = self.timeline.iter();
        timeline.filter_map(|seen| matches!(seen.what, ObservedEvent::Rebooted).then_some(seen.at))
    }

    /// The start of the current boot.
    #[must_use]
    pub fn booted_at(&self) -> Millis {
        self.reboots().last().unwrap_or(0)
    }

    /// Whether the container ended because its system reboots.
    #[must_use]
    pub fn is_rebooting(&self) -> bool {
        self.exit()
            .is_some_and(|exit| self.ended_by(PowerAction::Reboot, exit))
    }

    /// Whether the system ended itself in this way.
    pub(crate) fn ended_by(&self, action: PowerAction, exit: ContainerExit<'_>) -> bool {
        let booted = self.booted_at();
        exit.code == action.exit_code() || self.last_line_about(action, booted..=Millis::MAX).is_some()
    }

    /// The last line of the journal about the end of the system, in a range of times.
    pub(crate) fn last_line_about(
        &self,
        action: PowerAction,
        range: impl std::ops::RangeBounds<Millis>,
    ) -> Option<(Millis, &JournalLine)> {
        let lines = self.timeline.iter().rev().filter_map(|seen| match &seen.what {
            ObservedEvent::Journal(line) => Some((seen.at, line)),
            _ => None,
        });
        lines
            .filter(|(at, _)| range.contains(at))
            .find(|(_, line)| action.is_named_by(line))
    }
}

#[cfg(test)]
mod tests {
    use crate::observation::ObservedEvent;
    use crate::observation::phases::tests::{journal, observed};

    fn exited(code: i64) -> ObservedEvent {
        ObservedEvent::ContainerExited {
            code,
            lines: Vec::new(),
        }
    }

    #[test]
    fn a_container_that_started_again_has_not_ended() {
        let seen = observed([exited(129), ObservedEvent::Rebooted]);
        assert!(seen.exit().is_none() && !seen.is_rebooting());
        assert_eq!(seen.booted_at(), 1000);
        let seen = observed([exited(129), ObservedEvent::Rebooted, exited(129)]);
        assert!(seen.exit().is_some() && seen.is_rebooting());
    }

    #[test]
    fn a_reboot_is_recognized_by_the_exit_code_or_by_systemd_in_the_current_boot() {
        let line = || journal("init.scope", "systemd", "Reached target System Reboot.");
        assert!(observed([line(), exited(0)]).is_rebooting());
        let earlier = [line(), exited(129), ObservedEvent::Rebooted, exited(130)];
        assert!(!observed(earlier).is_rebooting());
        assert!(!observed([exited(1)]).is_rebooting());
    }

    #[test]
    fn a_container_that_is_no_machine_says_which_step_failed() {
        let exited = |code: i64, line: &str| {
            let lines = vec!["stat: no such file".to_owned(), line.to_owned()];
            observed([ObservedEvent::ContainerExited { code, lines }]).not_made()
        };
        let step = "nodejoin: the node could not be made: mounting the views (status 1)";
        assert_eq!(
            exited(98, step).as_deref(),
            Some("the node could not be made: mounting the views (status 1)")
        );
        assert!(
            exited(98, "sh: x: not found")
                .unwrap()
                .contains("could not be set up")
        );
        assert_eq!(exited(1, step), None);
        let booted = journal("init.scope", "systemd", "Startup finished");
        let lines = vec![step.to_owned()];
        let ended = ObservedEvent::ContainerExited { code: 98, lines };
        assert_eq!(observed([booted, ended]).not_made(), None);
    }
}
