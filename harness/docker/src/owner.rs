//! Which process an object belongs to, and whether that process is still there.

use std::fs;

/// A process, told apart from every other that ever had its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Its number in its own namespace.
    pub(crate) pid: u32,
    /// When it started, in ticks since the boot: a reused number has another.
    pub(crate) started: u64,
    /// The namespace in which the number counts: it means nothing in another container.
    pub(crate) namespace: String,
    /// The boot of the machine.
    pub(crate) boot: String,
}

/// What can be said of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    Alive,
    Dead,
    /// It is of another machine, container or system: only its expiry tells.
    Unknown,
}

impl Owner {
    /// This process. Where there is no /proc the start is 0 and nobody can tell.
    pub(crate) fn current() -> Self {
        Self {
            pid: std::process::id(),
            started: started(std::process::id()).unwrap_or_default(),
            namespace: namespace(),
            boot: boot(),
        }
    }

    /// Whether the process is still there, as seen from `here`, with a look at a process' start time.
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

/// When a process started, in ticks since the boot.
pub(crate) fn started(pid: u32) -> Option<u64> {
    start_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of a line of /proc/PID/stat. The second field is the program's name in brackets and may hold anything.
fn start_of(stat: &str) -> Option<u64> {
    let rest = stat.rsplit_once(')')?.1;
    let mut fields = rest.split_whitespace();
    // A zombie has ended; its number is taken until its parent asks for its exit code.
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
    fn a_program_may_be_called_anything() {
        let stat = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 9876 20";
        assert_eq!(start_of(stat), Some(9876));
        assert_eq!(start_of(&stat.replace(" S ", " Z ")), None);
    }

    #[test]
    fn a_reused_number_is_another_process() {
        let here = owner();
        assert_eq!(owner().liveness(&here, |_| Some(100)), Liveness::Alive);
        assert_eq!(owner().liveness(&here, |_| Some(101)), Liveness::Dead);
        assert_eq!(owner().liveness(&here, |_| None), Liveness::Dead);
    }

    #[test]
    fn what_cannot_be_seen_is_not_called_dead() {
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
