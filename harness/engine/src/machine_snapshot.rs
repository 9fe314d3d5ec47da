//! Compares the machine of a scenario with its snapshot: a node boots up to the start of its kubelet.

use nodejoin_core::compare::{ChangedLine, MachineDifference, MachineSnapshot, MachineState, differences};
use nodejoin_core::judge::verdict::{Check, Outcome, Verdict};
use nodejoin_core::judge::{machine_snapshot, unusable_machine_snapshot};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::golden::MachineSnapshotPlan;
use nodejoin_core::run::event::RunEvent;
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::error::EngineError;
use crate::events::Events;
use crate::probe::{ProbeEnd, probe};

/// What the snapshot of a machine says about a scenario.
#[derive(Debug)]
pub(crate) enum ComparedSnapshot {
    /// The scenario has none, or one that is not for it.
    None,
    Checked(Check),
    /// It is written if the node passes.
    Blessed {
        path: String,
        text: String,
    },
}

/// How a snapshot relates to a run.
enum Use {
    Compare(MachineSnapshot),
    Write(Option<MachineSnapshot>),
    Unusable(String),
    /// Why it is not compared.
    NotCompared(String),
}

/// Boots the node of `golden.machine`, and compares it.
///
/// # Errors
/// The outcome of the scenario if there is nothing to compare.
pub(crate) async fn compared(
    context: &RunContext,
    plan: &Plan,
    kubelet: &str,
    cancel: &CancellationToken,
) -> Result<ComparedSnapshot, Outcome> {
    let Some((snapshot, is_optional)) = snapshot_of(plan) else {
        return Ok(ComparedSnapshot::None);
    };
    let kubelet = Minor::of(kubelet);
    let known = match use_of(snapshot, is_optional, kubelet, context.settings.bless) {
        Use::Unusable(why) => {
            return Ok(ComparedSnapshot::Checked(unusable_machine_snapshot(
                &snapshot.path,
                &why,
            )));
        }
        Use::NotCompared(why) => {
            context.events.send(RunEvent::Warning {
                text: format!("{}: {why}", plan.id),
            });
            return Ok(ComparedSnapshot::None);
        }
        Use::Compare(known) | Use::Write(Some(known)) => Some(known),
        Use::Write(None) => None,
    };
    let state = async || match probe(context, &plan.probe(), cancel).await {
        ProbeEnd::Machine(probed) => match probed.limit() {
            Some(limit) => Err(Outcome::Errored(limit)),
            None => Ok(MachineSnapshot::of(kubelet, &probed.state, &snapshot.except)),
        },
        ProbeEnd::NotRun(reason) => Err(Outcome::Errored(format!(
            "the machine of {}: {reason}",
            snapshot.path
        ))),
        ProbeEnd::Cancelled => Err(Outcome::Cancelled),
    };
    let now = state().await?;
    let known = known.map(|known| known.without_marks(&now));
    let is_equal = known.as_ref().is_some_and(|known| known.state == now.state);
    // Only what differs now can be noise.
    let again = match is_equal {
        true => now.clone(),
        false => state().await?,
    };
    let found = known.map(|known| unlike(&known.state, &now.state, &again.state));
    Ok(match (context.settings.bless, found) {
        (false, found) => {
            ComparedSnapshot::Checked(machine_snapshot(&snapshot.path, &found.unwrap_or_default()))
        }
        (true, Some(found)) if found.is_empty() => ComparedSnapshot::None,
        (true, _) => ComparedSnapshot::Blessed {
            path: snapshot.path.clone(),
            text: now.with_marks(&again).text(),
        },
    })
}

impl ComparedSnapshot {
    /// Adds the check to a verdict, or writes the snapshot of a node that passes.
    pub(crate) fn conclude(&self, events: &Events, verdict: &mut Verdict) -> Result<(), EngineError> {
        match self {
            Self::None => {}
            Self::Checked(check) => nodejoin_core::judge::add_check(verdict, check.clone()),
            Self::Blessed { path, text } if verdict.outcome == Outcome::Passed => {
                std::fs::write(path, text).map_err(|source| EngineError::Write {
                    path: path.into(),
                    source,
                })?;
                events.send(RunEvent::SnapshotWritten { path: path.clone() });
            }
            Self::Blessed { .. } => {}
        }
        Ok(())
    }
}

/// The first of these differences that the snapshot of a plan has.
pub(crate) fn first_in_snapshot<'a>(
    plan: &Plan,
    found: &'a [MachineDifference],
) -> Option<&'a MachineDifference> {
    let (snapshot, _) = snapshot_of(plan)?;
    let is_in = |one: &&MachineDifference| {
        let mut lines = one.lines.iter().map(|line| match line {
            ChangedLine::Old(text) | ChangedLine::New(text) => text,
        });
        lines.any(|line| MachineSnapshot::has(&one.part, line, &snapshot.except))
    };
    found.iter().find(is_in)
}

/// Whether a machine equals the snapshot of its plan. A run of the plan compares its machine then.
pub(crate) fn is_equal(plan: &Plan, kubelet: &str, state: &MachineState) -> bool {
    let Some((snapshot, is_optional)) = snapshot_of(plan) else {
        return false;
    };
    let kubelet = Minor::of(kubelet);
    let Use::Compare(known) = use_of(snapshot, is_optional, kubelet, false) else {
        return false;
    };
    let now = MachineSnapshot::of(kubelet, state, &snapshot.except);
    known.without_marks(&now).state == now.state
}

fn snapshot_of(plan: &Plan) -> Option<(&MachineSnapshotPlan, bool)> {
    let golden = plan.golden.as_ref()?;
    Some((golden.machine.as_ref()?, golden.is_optional))
}

fn use_of(snapshot: &MachineSnapshotPlan, is_optional: bool, kubelet: Minor, bless: bool) -> Use {
    let Some(text) = &snapshot.text else {
        let path = &snapshot.path;
        return match (bless, is_optional) {
            (true, _) => Use::Write(None),
            (false, true) => Use::NotCompared(format!(
                "its machine is not compared: `{path}` does not exist; `nodejoin run --bless` with the same overlays writes it"
            )),
            (false, false) => {
                Use::Unusable("the snapshot does not exist: create it with `nodejoin run --bless`".to_owned())
            }
        };
    };
    match (MachineSnapshot::parse(text), bless) {
        (Ok(known), _) if known.kubelet != kubelet && !bless => Use::NotCompared(format!(
            "its machine is not compared: `{}` is of kubelet {}, this node has {kubelet}",
            snapshot.path, known.kubelet
        )),
        (Ok(known), true) => Use::Write(Some(known).filter(|known| known.kubelet == kubelet)),
        (Ok(known), false) => Use::Compare(known),
        (Err(_), true) => Use::Write(None),
        (Err(why), false) => Use::Unusable(format!("cannot read the snapshot: {why}")),
    }
}

/// What differs from a snapshot, and from neither of two boots of the machine as it is now.
fn unlike(known: &MachineState, now: &MachineState, again: &MachineState) -> Vec<MachineDifference> {
    let mut found = differences(now, known, Some(again));
    found.iter_mut().for_each(MachineDifference::swap);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(text: Option<&str>) -> MachineSnapshotPlan {
        MachineSnapshotPlan {
            path: "a.machine".to_owned(),
            except: Vec::new(),
            text: text.map(str::to_owned),
        }
    }

    fn word(text: Option<&str>, is_optional: bool, bless: bool) -> String {
        match use_of(&snapshot(text), is_optional, Minor::new(20), bless) {
            Use::Compare(_) => "compare".to_owned(),
            Use::Write(known) => format!("write, known: {}", known.is_some()),
            Use::Unusable(why) | Use::NotCompared(why) => why,
        }
    }

    #[test]
    fn a_snapshot_is_for_one_kubelet_and_may_be_missing_for_an_overlay_alone() {
        let of = |minor: &str| format!("# kubelet {minor}\n==> mounts\n  x\n");
        assert_eq!(word(Some(&of("1.20")), false, false), "compare");
        assert_eq!(word(Some(&of("1.20")), false, true), "write, known: true");
        assert_eq!(word(Some(&of("1.36")), false, true), "write, known: false");
        assert!(word(Some(&of("1.36")), false, false).contains("is of kubelet 1.36, this node has 1.20"));
        assert!(word(Some("x"), false, false).contains("cannot read"));
        assert_eq!(word(Some("x"), false, true), "write, known: false");
        assert!(word(None, false, false).contains("does not exist: create it"));
        assert!(word(None, true, false).contains("its machine is not compared: `a.machine` does not exist"));
        assert_eq!(word(None, true, true), "write, known: false");
    }

    #[test]
    fn noise_of_a_machine_is_no_difference_from_its_snapshot() {
        let state = |time: &str, flag: &str| {
            let parts = [("file /run/at", time), ("kubelet arguments", flag)];
            MachineState::of_machine(
                parts
                    .map(|(part, text)| (part.to_owned(), format!("{text}\n")))
                    .into(),
            )
        };
        let (known, now, again) = (
            state("10:01", "--v=2"),
            state("11:02", "--v=4"),
            state("11:03", "--v=4"),
        );
        let found = unlike(&known, &now, &again);
        let lines = vec![
            ChangedLine::Old("--v=2".to_owned()),
            ChangedLine::New("--v=4".to_owned()),
        ];
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].part.as_str(), &found[0].lines),
            ("kubelet arguments", &lines)
        );
        assert!(unlike(&known, &state("11:02", "--v=2"), &state("11:03", "--v=2")).is_empty());
    }
}
