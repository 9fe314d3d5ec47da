//! The process that owns an object, and whether it is alive.

use std::fs;

/// A process, identified uniquely even if its pid is reused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The pid in the process's own pid namespace.
    pub(crate) pid: u32,
    /// Start time in clock ticks since boot, which differs for a reused pid.
    pub(crate) started: u64,
    /// The pid namespace: a pid is only comparable within it.
    pub(crate) namespace: String,
    /// Boot id of the machine.
    pub(crate) boot: String,
}

/// Whether a process is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    Alive,
    Dead,
    /// The process belongs to another machine or pid namespace: only the expiry of its objects counts.
    Unknown,
}

impl Owner {
    /// This process. The start time is 0 without /proc.
    pub(crate) fn current() -> Self {
        Self {
            pid: std::process::id(),
            started: started(std::process::id()).unwrap_or_default(),
            namespace: namespace(),
            boot: boot(),
        }
    }

    /// Whether the process is alive as seen from the process `here`; `started` looks up the start time of a pid.
    pub(crate) fn liveness(&self, here: &Self, started: impl Fn(u32) -> Option<u64>) -> Liveness {
        if self.boot.is_empty() || self.started == 0 || here.boot.is_empty() {
            return Liveness::Unknown;
        }
        if self.boot != here.boot || self.namespace != here.namespace {
            return Liveness::Unknown;
        }
        match started(self.pid) {
            Some(start) if start == self.started => Liveness::Alive,
            _ => Liveness::Dead,
        }
    }
}

/// Start time of a process in clock ticks since boot.
pub(crate) fn started(pid: u32) -> Option<u64> {
    start_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of /proc/PID/stat. Field 2 is the program name in parentheses and may contain anything.
fn start_of(stat: &str) -> Option<u64> {
    let rest = stat.rsplit_once(')')?.1;
    let mut fields = rest.split_whitespace();
    // A zombie has ended, but keeps its pid until its parent collects the exit code.
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy()
        .chars()
        .filter(char::is_ascii_digit)
        .collect()
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner {
            pid: 7,
            started: 100,
            namespace: "1".to_owned(),
            boot: "b".to_owned(),
        }
    }

    #[test]
    fn a_program_name_may_contain_parentheses_and_spaces() {
        let stat = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 9876 20";
        assert_eq!(start_of(stat), Some(9876));
        assert_eq!(start_of(&stat.replace(" S ", " Z ")), None);
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let here = owner();
        assert_eq!(owner().liveness(&here, |_| Some(100)), Liveness::Alive);
        assert_eq!(owner().liveness(&here, |_| Some(101)), Liveness::Dead);
        assert_eq!(owner().liveness(&here, |_| None), Liveness::Dead);
    }

    #[test]
    fn a_process_that_is_not_visible_is_not_reported_dead() {
        let elsewhere = Owner {
            namespace: "2".to_owned(),
            ..owner()
        };
        assert_eq!(elsewhere.liveness(&owner(), |_| None), Liveness::Unknown);
        let another_machine = Owner {
            boot: "c".to_owned(),
            ..owner()
        };
        assert_eq!(another_machine.liveness(&owner(), |_| None), Liveness::Unknown);
    }

    #[test]
    fn this_process_is_alive() {
        let here = Owner::current();
        assert_eq!(here.liveness(&here, started), Liveness::Alive);
    }
}
