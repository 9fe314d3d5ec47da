//! All shards together run each test once: the list of this program, shard by shard.

use std::collections::BTreeSet;
use std::process::{Command, Output};

/// What is wrong with the shares.
pub(crate) fn fault() -> Option<String> {
    let all = match listed(None) {
        Ok(all) => all,
        Err(fault) => return Some(fault),
    };
    for count in [2, 3] {
        let shares: Result<Vec<_>, _> = (1..=count)
            .map(|index| listed(Some(&format!("{index}/{count}"))))
            .collect();
        let dealt: Vec<String> = match shares {
            Ok(shares) => shares.concat(),
            Err(fault) => return Some(fault),
        };
        let once: BTreeSet<&String> = dealt.iter().collect();
        if once.len() != dealt.len() || once != all.iter().collect() {
            return Some(format!(
                "of {} tests, {count} shares have {} and {} of them once",
                all.len(),
                dealt.len(),
                once.len()
            ));
        }
    }
    refused("4/3")
}

/// The names of the tests of a share; of all tests without one.
fn listed(shard: Option<&str>) -> Result<Vec<String>, String> {
    let output = list(shard)?;
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
    let output = match list(Some(shard)) {
        Ok(output) => output,
        Err(fault) => return Some(fault),
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_told = said.contains("NODEJOIN_SHARD") && said.contains("the last of 3 is 3/3");
    (output.status.success() || !is_told).then(|| format!("`{shard}` is not refused: {said}"))
}

fn list(shard: Option<&str>) -> Result<Output, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("--list").env_remove("NODEJOIN_SHARD");
    command.envs(shard.map(|shard| ("NODEJOIN_SHARD", shard)));
    command.output().map_err(|error| error.to_string())
}
