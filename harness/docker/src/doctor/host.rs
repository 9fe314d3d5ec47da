//! Checks of the machine that containers run on: limits, disk, memory, kernel modules.

use std::collections::HashMap;
use std::process::Stdio;

use nodejoin_core::run::concurrency;
use tokio::process::Command;

use crate::doctor::check_result::{CheckResult, not_checked};
use crate::engine::Engine;
use crate::probe::Probe;

/// Prints `name value` lines. None of these values is namespaced: a container reads those of its machine, and the disk
/// of `/` in a container is the engine's.
const LOOK: &str = r#"
for name in max_user_instances max_user_watches; do echo "$name $(cat /proc/sys/fs/inotify/$name)"; done
echo "disk $(df -Pk "${0:-/}" | awk 'NR == 2 { print $2 " " $4 }')"
echo "memory $(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)"
echo "swap $(awk 'NR > 1' /proc/swaps | wc -l)"
grep -qw overlay /proc/filesystems && echo 'overlay yes' || echo 'overlay no'
test -e /proc/sys/net/bridge/bridge-nf-call-iptables && echo 'bridge yes' || echo 'bridge no'
echo "init $(cat /proc/1/comm)"
"#;

/// Minimum memory of a node in KiB.
const NODE_MEMORY: u64 = 1024 * 1024;
/// Number of concurrent nodes to recommend limits for.
const MANY_NODES: u64 = 20;
const WATCHES: u64 = 65_536;
/// Percentage of free disk space below which a kubelet with EKS settings would report DiskPressure.
const FREE_SHARE: u64 = 15;

/// Values read on the machine.
pub(crate) struct HostFacts {
    seen: HashMap<String, String>,
    /// Whether a container read the values.
    inside: bool,
}

impl HostFacts {
    /// Reads the values in a container if an image with a shell exists, else in this process if the engine is local.
    pub(crate) async fn look(engine: &Engine, image: Option<&str>) -> Self {
        if let Some(image) = image {
            let probe = Probe::of(image)
                .with_command(&["/bin/sh", "-c", LOOK, "/"])
                .run(engine)
                .await;
            if let Ok((_, text)) = probe {
                return Self {
                    seen: read(&text),
                    inside: true,
                };
            }
        }
        if !engine.is_local() {
            return Self {
                seen: HashMap::new(),
                inside: false,
            };
        }
        let root = &engine.facts().root;
        let root = if root.exists() {
            root.as_path()
        } else {
            std::path::Path::new("/")
        };
        let here = Command::new("/bin/sh")
            .args(["-c", LOOK])
            .arg(root)
            .stdin(Stdio::null())
            .output()
            .await;
        let text = here
            .map(|done| String::from_utf8_lossy(&done.stdout).into_owned())
            .unwrap_or_default();
        Self {
            seen: read(&text),
            inside: false,
        }
    }

    pub(crate) fn check(&self) -> Vec<CheckResult> {
        let mut results = vec![
            self.inotify_instances(),
            self.inotify_watches(),
            self.disk(),
            self.memory(),
            self.swap(),
            self.overlay(),
            self.bridge(),
        ];
        results.extend(self.init());
        results
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.seen.get(name)?.split_whitespace().next()?.parse().ok()
    }

    /// `fs.inotify.max_user_instances`, shared by all nodes.
    pub(crate) fn instances(&self) -> Option<u64> {
        self.number("max_user_instances")
    }

    fn inotify_instances(&self) -> CheckResult {
        const NAME: &str = "inotify instances";
        let Some(has) = self.instances() else {
            return not_checked(NAME);
        };
        let seen = format!(
            "{has}: enough for about {} concurrent nodes",
            concurrency::nodes_allowed(has)
        );
        match has < concurrency::instances_for(MANY_NODES) {
            true => CheckResult::warn(
                NAME,
                format!("{seen}; exceeding it causes `too many open files`"),
                concurrency::remedy(MANY_NODES),
            ),
            false => CheckResult::ok(NAME, seen),
        }
    }

    fn inotify_watches(&self) -> CheckResult {
        const NAME: &str = "inotify watches";
        match self.number("max_user_watches") {
            None => not_checked(NAME),
            Some(has) if has >= WATCHES => CheckResult::ok(NAME, has.to_string()),
            Some(has) => CheckResult::warn(
                NAME,
                format!(
                    "{has}: containerd and kubelets watch many files; exceeding it causes `no space left on device`"
                ),
                format!("sudo sysctl -w fs.inotify.max_user_watches={WATCHES}"),
            ),
        }
    }

    fn disk(&self) -> CheckResult {
        const NAME: &str = "disk";
        let numbers: Vec<u64> = self
            .seen
            .get("disk")
            .into_iter()
            .flat_map(|it| it.split_whitespace())
            .flat_map(str::parse)
            .collect();
        let [total, free] = numbers[..] else {
            return not_checked(NAME);
        };
        let share = free * 100 / total.max(1);
        let seen = format!("{share} % free, {} GiB", free / 1024 / 1024);
        match share < FREE_SHARE {
            true => CheckResult::warn(
                NAME,
                format!("{seen}: nodes share this disk, and a run fails when it is full"),
                "nodejoin images prune; docker system prune",
            ),
            false => CheckResult::ok(NAME, seen),
        }
    }

    fn memory(&self) -> CheckResult {
        const NAME: &str = "memory";
        let Some(free) = self.number("memory") else {
            return not_checked(NAME);
        };
        let seen = format!("{:.1} GiB available", free as f64 / 1024.0 / 1024.0);
        match free < 2 * NODE_MEMORY {
            true => CheckResult::warn(
                NAME,
                format!("{seen}: a control plane and a node need about 1.5 GiB"),
                "run fewer scenarios concurrently: --jobs 1",
            ),
            false => CheckResult::ok(
                NAME,
                format!(
                    "{seen}: enough for about {} concurrent nodes",
                    free / NODE_MEMORY - 1
                ),
            ),
        }
    }

    fn swap(&self) -> CheckResult {
        const NAME: &str = "swap";
        match self.number("swap") {
            None => not_checked(NAME),
            Some(0) => CheckResult::ok(NAME, "none"),
            Some(_) => CheckResult::ok(NAME, "enabled; nodes have none, as instances"),
        }
    }

    fn overlay(&self) -> CheckResult {
        const NAME: &str = "overlay";
        match self.seen.get("overlay").map(String::as_str) {
            Some("yes") => CheckResult::ok(NAME, "overlayfs is available"),
            Some(_) => CheckResult::bad(
                NAME,
                "overlayfs is missing: containerd in a node cannot unpack images",
                "sudo modprobe overlay",
            ),
            None => not_checked(NAME),
        }
    }

    fn bridge(&self) -> CheckResult {
        const NAME: &str = "bridge netfilter";
        match self.seen.get("bridge").map(String::as_str) {
            Some("yes") => CheckResult::ok(NAME, "br_netfilter is loaded"),
            // The setting belongs to a network namespace: a container without a network may not have it.
            Some(_) => CheckResult::ok(
                NAME,
                "not detected; only Services between pods on one node need it",
            ),
            None => not_checked(NAME),
        }
    }

    fn init(&self) -> Option<CheckResult> {
        const NAME: &str = "init";
        let first = self.seen.get("init").filter(|_| self.inside)?;
        Some(match first.as_str() {
            "docker-init" | "tini" => CheckResult::ok(
                NAME,
                "the engine adds its own init to containers; nodes disable it, because systemd must be the first process",
            ),
            _ => CheckResult::ok(NAME, "the engine adds no init to containers"),
        })
    }
}

fn read(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
pub(super) fn host(text: &str) -> HostFacts {
    HostFacts {
        seen: read(text),
        inside: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check_result::State;

    fn state(host: &HostFacts, name: &str) -> State {
        host.check()
            .into_iter()
            .find(|result| result.name == name)
            .unwrap()
            .state
    }

    #[test]
    fn limits_are_checked() {
        let low = host(
            "max_user_instances 128\nmax_user_watches 8192\ndisk 1000 100\nmemory 1000000\nswap 1\noverlay no\n",
        );
        for name in ["inotify instances", "inotify watches", "disk", "memory"] {
            assert_eq!(state(&low, name), State::Warn, "{name}");
        }
        assert_eq!(state(&low, "overlay"), State::Bad);
        let good = host(
            "max_user_instances 8192\nmax_user_watches 524288\ndisk 1000 500\nmemory 9000000\nswap 0\noverlay yes\ninit sh\n",
        );
        assert!(
            good.check()
                .iter()
                .all(|result| result.state == State::Ok || result.name == "bridge netfilter")
        );
    }

    #[test]
    fn missing_values_are_warnings() {
        assert!(host("").check().iter().all(|result| result.state == State::Warn));
    }
}
