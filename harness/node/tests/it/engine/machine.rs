//! The machine that a node finds: that of its instance type on every host.

use std::collections::HashMap;

use nodejoin_core::observation::JournalLine;

use super::bench::{Bench, ask, plan, until, user_data_is_over};

/// Prints one `NAME VALUE` a line.
const VIEWS: &str = r#"name: views
instance: { type: TYPE }
user_data: |
  #!/bin/bash
  say() { echo "seen $1 $(tr -s ' \n' ' ' <<< "$2")"; }
  say nproc "$(nproc)"
  say all "$(nproc --all)"
  say ignoring "$(nproc --ignore=1)"
  say bound "$(taskset -c "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)" nproc)"
  say getconf "$(getconf _NPROCESSORS_ONLN)"
  say python "$(python3 -c 'import os; print(os.cpu_count())')"
  say lscpu "$(lscpu --parse=CPU,CORE,NODE | grep -v '#' | tail -n 1)"
  say cpuinfo "$(grep -c ^processor /proc/cpuinfo)"
  say stat "$(grep -c '^cpu[0-9]' /proc/stat)"
  say online "$(cat /sys/devices/system/cpu/online)"
  say siblings "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)"
  say mask "$(cat /sys/devices/system/node/node0/cpumap)"
  say bus "$(ls /sys/bus/cpu/devices | wc -l)"
  say memory "$(sed -n 's/^MemTotal: *//p' /proc/meminfo)"
  say node_memory "$(sed -n 's/^Node 0 MemTotal: *//p' /sys/devices/system/node/node0/meminfo)"
  say limit "$(cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2> /dev/null)"
expect: { phase: booted }
"#;

/// What user data printed with `seen NAME VALUE`.
#[derive(Debug)]
pub(super) struct Seen(HashMap<String, String>);

impl Seen {
    /// The values in the output of user data.
    pub(super) fn of(output: &str) -> Self {
        let lines = output.lines().filter_map(|line| line.strip_prefix("seen "));
        let pair = |line: &str| {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            (name.to_owned(), value.trim().to_owned())
        };
        Self(lines.map(pair).collect())
    }

    #[track_caller]
    pub(super) fn check(&self, expected: &[(&str, &str)]) {
        for (name, value) in expected {
            let found = self.0.get(*name).map(String::as_str);
            assert_eq!(found, Some(*value), "{name} of {self:?}");
        }
    }

    pub(super) fn value(&self, name: &str) -> &str {
        self.0.get(name).map_or("nothing", String::as_str)
    }

    pub(super) fn lacks(&self, name: &str) -> bool {
        !self.0.contains_key(name)
    }
}

/// Boots a node and waits for the end of its user data.
pub(super) async fn seen(scenario: &str) -> Seen {
    let bench = Bench::new().await;
    let plan = plan(scenario);
    let (node, _events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node.collect(&ask(&[], &[], &plan, &bench.aws.ca_pem)).await;
    let output = collected.unwrap().user_data.unwrap().output;
    bench.end().await;
    Seen::of(&output)
}

/// Fewer processors and less memory than any host that runs these tests.
#[tokio::test(flavor = "multi_thread")]
async fn a_small_type_has_one_processor() {
    let seen = seen(&VIEWS.replace("TYPE", "t2.small")).await;
    let expected = [
        ("nproc", "1"),
        ("all", "1"),
        ("ignoring", "1"),
        ("bound", "1"),
        ("getconf", "1"),
        ("python", "1"),
        ("lscpu", "0,0,0"),
        ("cpuinfo", "1"),
        ("stat", "1"),
        ("online", "0"),
        ("siblings", "0"),
        ("mask", "1"),
        ("bus", "1"),
        ("memory", "1937244 kB"),
        ("node_memory", "1937244 kB"),
        ("limit", "1983737856"),
    ];
    seen.check(&expected);
}

/// More processors than most hosts have.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_type_has_more_processors_than_its_host() {
    let seen = seen(&VIEWS.replace("TYPE", "m5.24xlarge")).await;
    let expected = [
        ("nproc", "96"),
        ("all", "96"),
        ("ignoring", "95"),
        // A program that limits itself gets its own number.
        ("bound", "1"),
        ("getconf", "96"),
        ("python", "96"),
        ("lscpu", "95,47,0"),
        ("cpuinfo", "96"),
        ("stat", "96"),
        ("online", "0-95"),
        ("siblings", "0,48"),
        ("mask", "ffffffff,ffffffff,ffffffff"),
        ("bus", "96"),
        ("memory", "384468254 kB"),
        ("node_memory", "384468254 kB"),
    ];
    seen.check(&expected);
}

/// User data that starts itself without end, as soon as a command of the harness runs.
const FORKS: &str = r#"name: forks
user_data: |
  #!/bin/bash
  logger waits for the harness
  until [ -e /run/harness-is-here ]; do sleep 0.1; done
  spread() { spread & spread & wait; }
  spread
limits: { processes: 700 }
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_node_ends_its_programs_and_no_command_of_the_harness() {
    let bench = Bench::new().await;
    let (node, _events) = bench.boot(&plan(FORKS), None).await;
    // systemd moves the processes that it finds at its start to its own control group.
    until(&node, |line| line.message == "waits for the harness").await;
    // Its loop is a child of the command that the engine starts, and each pause a child of the loop.
    let loops = "touch /run/harness-is-here
        (i=0; while [ $i -lt 80 ]; do sleep 0.1 || exit 1; i=$((i + 1)); done); echo \"ended with $?\"";
    let command = ["/bin/sh", "-c", loops];
    let engine = bench.run.engine();
    let is_reported = |line: &JournalLine| line.message.starts_with("processes: ");
    let running = engine.exec(&node.id, &command);
    let (output, _) = tokio::join!(running, until(&node, is_reported));
    let output = output.unwrap();
    assert_eq!(
        (output.code, String::from_utf8_lossy(&output.stdout).trim()),
        (0, "ended with 0"),
        "{output:?}"
    );
    // A reader that follows a busy container can lose lines.
    let reports = std::sync::atomic::AtomicUsize::new(0);
    let is_third = |line: &JournalLine| {
        is_reported(line) && reports.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 2
    };
    until(&node, is_third).await;
    bench.end().await;
}
