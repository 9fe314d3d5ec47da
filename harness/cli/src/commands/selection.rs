//! Which of the loaded scenarios run, how often, and in which order.

use std::ffi::OsStr;
use std::path::Path;

use nodejoin_core::plan::Plan;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::last_run::{LastRun, RUN_MARK};
use nodejoin_core::run::recorded_times::ShardSelection;
use nodejoin_core::run::shard::Shard;
use nodejoin_engine::merge::shard_selection;

use crate::process;
use crate::run_args::OrderArgs;
#[cfg(test)]
use crate::run_args::RepeatCount;

/// The shard to run, and the recorded times that balance it. Reports times that cannot be read.
pub(crate) fn shard(shard: Option<Shard>, times: Option<&OsStr>) -> Result<Option<ShardSelection>, ExitCode> {
    shard_selection(shard, times.map(Path::new)).map_err(|error| {
        process::report_error("could not balance the shards", &error, Some(error.hint()));
        ExitCode::Usage
    })
}

/// Removes the plans of other shards.
pub(crate) fn keep_shard(selection: &ShardSelection, plans: &mut Vec<Plan>) {
    let held = selection.select(plans.iter().map(|plan| plan.id.as_str()));
    let held: Vec<bool> = plans.iter().map(|plan| held.contains(plan.id.as_str())).collect();
    let mut held = held.into_iter();
    plans.retain(|_| held.next().unwrap_or_default());
}

/// Why a selection is impossible.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoSelection {
    /// No earlier run is recorded.
    NoRecord(String),
    /// The recorded runs have no scenario that did not pass.
    NothingFailed,
}

/// The plans to run: those that did not pass before, if requested, repeated and shuffled.
pub(crate) fn select(args: &OrderArgs, plans: Vec<Plan>, artifacts: &Path) -> Result<Vec<Plan>, NoSelection> {
    let plans = if args.rerun_failed {
        not_passed(plans, artifacts)?
    } else {
        plans
    };
    let mut plans = repeated(plans, args.repeat.0);
    if let Some(seed) = args.shuffle {
        fastrand::Rng::with_seed(seed).shuffle(&mut plans);
    }
    Ok(plans)
}

fn not_passed(mut plans: Vec<Plan>, artifacts: &Path) -> Result<Vec<Plan>, NoSelection> {
    let record = LastRun::path(artifacts);
    let last = LastRun::read(&record, &process::disk()).map_err(NoSelection::NoRecord)?;
    plans.retain(|plan| last.needs_rerun(&plan.id));
    if plans.is_empty() {
        return Err(NoSelection::NothingFailed);
    }
    Ok(plans)
}

/// Each plan several times, all plans before any is repeated. The ids end with the number of the run.
fn repeated(plans: Vec<Plan>, count: u32) -> Vec<Plan> {
    if count <= 1 {
        return plans;
    }
    let run = |number: u32| {
        plans.iter().map(move |plan| Plan {
            id: format!("{}{RUN_MARK}{number}", plan.id)
                .parse()
                .unwrap_or_else(|_| plan.id.clone()),
            ..plan.clone()
        })
    };
    (1..=count).flat_map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodejoin_core::testing;

    fn plans(ids: &[&str]) -> Vec<Plan> {
        let plan = |id: &&str| Plan {
            id: id.parse().unwrap(),
            ..testing::plan()
        };
        ids.iter().map(plan).collect()
    }

    fn ids(plans: &[Plan]) -> Vec<&str> {
        plans.iter().map(|plan| plan.id.as_str()).collect()
    }

    fn order(repeat: u32, shuffle: Option<u64>, rerun_failed: bool) -> OrderArgs {
        OrderArgs {
            repeat: RepeatCount(repeat),
            shuffle,
            rerun_failed,
            fail_fast: false,
        }
    }

    #[test]
    fn repeated_plans_have_ids_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let repeated = select(&order(2, None, false), plans(&["a", "b@1.36"]), folder.path()).unwrap();
        assert_eq!(
            ids(&repeated),
            ["a@run-1", "b@1.36@run-1", "a@run-2", "b@1.36@run-2"]
        );
    }

    #[test]
    fn a_seed_determines_the_order() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let shuffled = |seed| {
            let plans = select(&order(1, Some(seed), false), plans(&names), folder.path());
            ids(&plans.unwrap()).join("")
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        let mut sorted: Vec<char> = shuffled(7).chars().collect();
        sorted.sort_unstable();
        assert_eq!(sorted.iter().collect::<String>(), "abcdefgh");
    }

    #[test]
    fn only_scenarios_that_did_not_pass_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let rerun = |plans| select(&order(1, None, true), plans, folder.path());
        assert!(matches!(rerun(plans(&["a"])), Err(NoSelection::NoRecord(_))));
        let record = LastRun::path(folder.path());
        std::fs::write(
            &record,
            r#"{"version":1,"scenarios":{"a":"passed","b":"failed","c":"not-run"}}"#,
        )
        .unwrap();
        assert_eq!(ids(&rerun(plans(&["a", "b", "c", "d"])).unwrap()), ["b", "c"]);
        assert_eq!(rerun(plans(&["a", "d"])), Err(NoSelection::NothingFailed));
    }
}
