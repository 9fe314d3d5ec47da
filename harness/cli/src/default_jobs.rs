//! How many scenarios run at the same time by default.

use std::thread::available_parallelism;

/// A join waits half of its time, for the kubelet and for AWS.
const PER_PROCESSOR: usize = 2;
/// More than that, and the engine and the control plane are what all wait for.
const MOST: usize = 8;
/// A node with its programs, in MiB.
const NODE_MIB: usize = 512;
/// The control plane and nodejoin itself, in MiB.
const REST_MIB: usize = 1536;

/// Two for each processor of this machine, as far as its free memory holds their nodes.
pub(crate) fn default_jobs() -> usize {
    let processors = available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    jobs_of(processors, free_mib(&memory))
}

fn jobs_of(processors: usize, free_mib: Option<usize>) -> usize {
    let nodes = free_mib.map_or(MOST, |free| free.saturating_sub(REST_MIB) / NODE_MIB);
    (PER_PROCESSOR * processors).min(nodes).clamp(1, MOST)
}

/// What programs can use without swapping, of /proc/meminfo.
fn free_mib(meminfo: &str) -> Option<usize> {
    let mut lines = meminfo.lines();
    let free = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = free.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_follow_processors_and_free_memory() {
        assert_eq!(jobs_of(2, Some(20_000)), 4);
        assert_eq!(jobs_of(2, Some(3_000)), 2);
        assert_eq!(jobs_of(2, Some(500)), 1);
        assert_eq!(jobs_of(32, Some(100_000)), MOST);
        assert_eq!(jobs_of(1, None), 2);
        let text = "MemTotal:       24644148 kB\nMemFree:         1000 kB\nMemAvailable:   20971520 kB\n";
        assert_eq!(free_mib(text), Some(20_480));
        assert_eq!(free_mib(""), None);
    }
}
