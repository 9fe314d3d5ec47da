//! All shards together run each test once: the list of this program, shard by shard.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The times of an earlier run. Scenarios without one count as the median of 1 s; one scenario no longer exists.
const TIMES: &str = r#"{"schema":1,"run":"aaaaaaaaaa","started":"2026-01-01T00:00:00Z","nodejoin":"0.1.0","scenarios":[
{"scenario":"first-join","name":"a node joins","outcome":"passed","seconds":1000000.0},
{"scenario":"al2/pod-answers","name":"a node joins","outcome":"passed","seconds":1.0},
{"scenario":"al2/labels-and-taints","name":"a node joins","outcome":"passed","seconds":1.0},
{"scenario":"removed","name":"a node joins","outcome":"passed","seconds":3.5}]}"#;

/// What is wrong with the shares.
pub(crate) fn fault() -> Option<String> {
    let all = match listed(None, None) {
        Ok(all) => all,
        Err(fault) => return Some(fault),
    };
    fault_of(&all, 3, None)
        .or_else(|| fault_of_balanced(&all))
        .or_else(|| refused("4/3"))
}

/// A scenario that takes longer than all others together has a shard of its own.
fn fault_of_balanced(all: &[String]) -> Option<String> {
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return Some(error.to_string()),
    };
    let times = folder.path().join("run.json");
    if let Err(error) = fs::write(&times, TIMES) {
        return Some(error.to_string());
    }
    if let Some(fault) = fault_of(all, 2, Some(&times)) {
        return Some(fault);
    }
    let longest = match listed(Some("1/2"), Some(&times)) {
        Ok(longest) => longest,
        Err(fault) => return Some(fault),
    };
    let missing = match listed(Some("1/2"), Some(&folder.path().join("missing.xml"))) {
        Ok(_) => return Some("missing times are not refused".to_owned()),
        Err(error) => error,
    };
    let is_refused = missing.contains("NODEJOIN_TIMES") && missing.contains("missing.xml");
    (longest.len() != 1 || !is_refused).then(|| format!("{longest:?}: {missing}"))
}

/// What is wrong with this number of shares.
fn fault_of(all: &[String], count: u32, times: Option<&Path>) -> Option<String> {
    let shares: Result<Vec<_>, _> = (1..=count)
        .map(|index| listed(Some(&format!("{index}/{count}")), times))
        .collect();
    let dealt: Vec<String> = match shares {
        Ok(shares) => shares.concat(),
        Err(fault) => return Some(fault),
    };
    let once: BTreeSet<&String> = dealt.iter().collect();
    (once.len() != dealt.len() || once != all.iter().collect()).then(|| {
        format!(
            "of {} tests, {count} shares have {} and {} of them once",
            all.len(),
            dealt.len(),
            once.len()
        )
    })
}

/// The names of the tests of a share; of all tests without one.
fn listed(shard: Option<&str>, times: Option<&Path>) -> Result<Vec<String>, String> {
    let output = list(shard, times)?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text
        .lines()
        .filter(|line| line.ends_with(": test"))
        .map(str::to_owned)
        .collect())
}

/// A share that there is not must end the tests: none of them would run, and all would seem to have passed.
fn refused(shard: &str) -> Option<String> {
    let output = match list(Some(shard), None) {
        Ok(output) => output,
        Err(fault) => return Some(fault),
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_told = said.contains("NODEJOIN_SHARD") && said.contains("the last of 3 is 3/3");
    (output.status.success() || !is_told).then(|| format!("`{shard}` is not refused: {said}"))
}

fn list(shard: Option<&str>, times: Option<&Path>) -> Result<Output, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("--list");
    command.env_remove("NODEJOIN_SHARD").env_remove("NODEJOIN_TIMES");
    command.envs(shard.map(|shard| ("NODEJOIN_SHARD", shard)));
    command.envs(times.map(|times| ("NODEJOIN_TIMES", times)));
    command.output().map_err(|error| error.to_string())
}
