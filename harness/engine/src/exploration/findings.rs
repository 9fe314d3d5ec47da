//! What goes wrong in the worlds of a subject.

use std::collections::BTreeSet;

use nodejoin_core::compare::{ChangedLine, MachineRequests, MachineState, WorldChange, unstable_differences};
use nodejoin_core::diagnosis::{Cause, Diagnosis};
use nodejoin_core::explore::{
    Exploration, ExploreFinding, ExploredWorld, FindingKind, Suspicion, lasting, suspicions,
};
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::observation::{ScriptTrace, UserDataResult};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::{Expect, UserDataExpect};
use nodejoin_core::plan::step::{Action, StepPlan};

use super::subject::Subject;
use crate::comparison::cause_of;
use crate::probe::Probed;
use crate::report::text::outcome_word;

/// A world and what came of it.
pub(super) struct Explored {
    pub(super) plan: Plan,
    /// Indexes of its changes.
    pub(super) changes: Vec<usize>,
    pub(super) end: WorldEnd,
}

pub(super) enum WorldEnd {
    Machine(Box<WorldMachine>),
    NotRun(String),
    /// The time did not suffice.
    LeftOut,
}

/// A command of a shell script: its path, the line that bash reports, and its first characters.
pub(super) type ScriptCommand = (String, u64, String);

pub(super) struct WorldMachine {
    pub(super) state: MachineState,
    pub(super) requests: MachineRequests,
    /// What two worlds with equal joins have in common.
    pub(super) alone: MachineState,
    suspicions: Vec<Suspicion>,
    /// Why it has no kubelet.
    diagnosis: Option<Diagnosis>,
    /// The result of a second run of the user data.
    again: Option<UserDataResult>,
    /// The commands of shell scripts that ran.
    pub(super) commands: BTreeSet<ScriptCommand>,
    /// How many steps ran.
    steps: usize,
}

impl WorldEnd {
    /// A machine that stopped at a limit of nodejoin says nothing about the script.
    pub(super) fn of(probed: Probed, plan: &Plan) -> Self {
        if let Some(limit) = probed.limit() {
            return Self::NotRun(limit);
        }
        let Probed {
            state,
            requests,
            diagnosis,
            again,
            trace,
            steps,
            ..
        } = probed;
        Self::Machine(Box::new(WorldMachine {
            alone: state.machine_alone(plan),
            suspicions: suspicions(&state, plan),
            state,
            requests,
            diagnosis,
            again,
            commands: script_commands(trace),
            steps,
        }))
    }
}

fn script_commands(ScriptTrace(scripts): ScriptTrace) -> BTreeSet<ScriptCommand> {
    let commands = scripts.into_iter().flat_map(|script| {
        let commands = script.commands.into_iter();
        commands.map(move |command| (script.path.clone(), command.line, command.start))
    });
    commands.collect()
}

impl Explored {
    pub(super) fn machine(&self) -> Option<&WorldMachine> {
        match &self.end {
            WorldEnd::Machine(machine) => Some(machine),
            WorldEnd::NotRun(_) | WorldEnd::LeftOut => None,
        }
    }
}

pub(super) struct Joins {
    /// Number of distinct machines.
    pub(super) machines: usize,
    /// For each world: the index of the first one with an equal machine.
    pub(super) same_as: Vec<Option<usize>>,
    /// Joins by the index of the world.
    pub(super) verdicts: Vec<(usize, WorldJoin)>,
}

pub(super) struct WorldJoin {
    pub(super) verdict: Verdict,
    pub(super) evidence: Option<String>,
}

impl Joins {
    fn of(&self, world: usize) -> Option<&WorldJoin> {
        self.verdicts
            .iter()
            .find(|(index, _)| *index == world)
            .map(|(_, join)| join)
    }
}

/// What one world shows.
struct Found {
    kind: FindingKind,
    what: String,
    details: Vec<String>,
    /// What a scenario of the finding expects besides a join. `None` if no expectation describes it.
    expect: Option<Expect>,
}

impl Found {
    /// A finding that a scenario shows without further expectations.
    fn by_join(kind: FindingKind, what: String, details: Vec<String>) -> Self {
        Self {
            kind,
            what,
            details,
            expect: Some(Expect::default()),
        }
    }
}

/// Parts of lines that cloud-init prints after a failed script.
const OF_CLOUD_INIT: [&str; 3] = ["cc_scripts_user", "util.py[WARNING]", "Cloud-init v."];
/// The finding of a machine whose user data printed nothing.
const NO_KUBELET: &str = "the user data ends without a kubelet";

/// Changed or last lines of a finding.
const MOST_LINES: usize = 6;

/// Whether a machine shows a finding.
pub(super) fn shows(machine: &WorldMachine, finding: &ExploreFinding) -> bool {
    match finding.kind {
        FindingKind::NoKubelet => !machine.state.has_kubelet() && without_kubelet(machine) == finding.what,
        FindingKind::SuspiciousValue => machine.suspicions.iter().any(|one| sentence(one) == finding.what),
        FindingKind::NoJoin | FindingKind::Unstable | FindingKind::Race => false,
    }
}

fn sentence(suspicion: &Suspicion) -> String {
    format!("{}: {}", suspicion.part, suspicion.what)
}

/// The findings of one subject. The first world is that of the scenario.
pub(super) struct Findings<'a> {
    pub(super) subject: &'a Subject,
    pub(super) changes: &'a [WorldChange],
    pub(super) worlds: &'a [Explored],
    pub(super) joins: &'a Joins,
    /// A second boot in the world of the scenario.
    pub(super) second: Option<&'a WorldMachine>,
}

impl Findings<'_> {
    pub(super) fn all(&self) -> Vec<ExploreFinding> {
        let mut findings: Vec<ExploreFinding> = Vec::new();
        // Single changes come before their combinations.
        for (index, world) in self.worlds.iter().enumerate() {
            for found in self.of_world(index, world) {
                match findings
                    .iter_mut()
                    .find(|known| known.kind == found.kind && known.what == found.what)
                {
                    Some(known) => known.worlds.push(world.plan.id.clone()),
                    None => findings.push(ExploreFinding {
                        id: String::new(),
                        kind: found.kind,
                        worlds: vec![world.plan.id.clone()],
                        only_with: self.names(&world.changes),
                        what: found.what,
                        details: found.details,
                        reproduction: None,
                        expect: found.expect.map(Box::new),
                    }),
                }
            }
        }
        findings
    }

    fn of_world(&self, index: usize, world: &Explored) -> Vec<Found> {
        let Some(machine) = world.machine() else {
            return Vec::new();
        };
        // A request that never succeeds may end the user data. It must not lead to wrong values.
        let should_join = world
            .changes
            .iter()
            .all(|index| self.changes[*index].is_survivable);
        if !machine.state.has_kubelet() && !should_join {
            return Vec::new();
        }
        if let [step] = &world.plan.then[..] {
            if machine.steps == 0 {
                return Vec::new();
            }
            let mut found = self.after_step(step, machine);
            if found.is_empty() {
                found.extend(self.joins.of(index).map(of_join).unwrap_or_default());
            }
            return found;
        }
        if !machine.state.has_kubelet() {
            // What else is wrong on the machine follows from it, or does not matter.
            return vec![Found::by_join(
                FindingKind::NoKubelet,
                without_kubelet(machine),
                script_lines(machine).into_iter().chain(cause(machine)).collect(),
            )];
        }
        let mut found = Vec::new();
        for suspicion in &machine.suspicions {
            let expect = suspicion.expect.clone();
            found.push(Found {
                kind: FindingKind::SuspiciousValue,
                what: sentence(suspicion),
                details: Vec::new(),
                expect: match should_join {
                    true => expect,
                    false => expect.map(or_ends),
                },
            });
        }
        if let Some(join) = self.joins.of(index).filter(|_| should_join) {
            found.extend(of_join(join));
        }
        found
    }

    /// What a step changed.
    fn after_step(&self, step: &StepPlan, machine: &WorldMachine) -> Vec<Found> {
        let after = after(step);
        if !machine.state.has_kubelet() {
            let unit = machine.state.lines("unit kubelet.service").into_iter();
            let state =
                unit.filter(|line| line.starts_with("UnitFileState=") || line.starts_with("ActiveState="));
            let state = state.map(|line| format!("kubelet.service: {line}"));
            return vec![Found::by_join(
                FindingKind::NoKubelet,
                format!("no kubelet runs after {after}"),
                state.chain(cause(machine)).collect(),
            )];
        }
        let mut found = Vec::new();
        let failed = machine.again.iter().flat_map(|again| {
            let failed = again.exit_codes.iter().filter(|(_, code)| **code != 0);
            failed.map(|(part, code)| (format!("{part} ends with {code}"), &again.output))
        });
        for (what, output) in failed {
            let words = last_words(output);
            // That a second run succeeds is expected anyway.
            let what = format!("{what} in {after}");
            found.push(Found::by_join(FindingKind::Unstable, what, words));
        }
        let (Some(Some(base)), Some(second)) = (self.worlds.first().map(Explored::machine), self.second)
        else {
            return found;
        };
        for part in unstable_differences(&base.alone, &machine.alone, &second.alone, step.action.boots()) {
            let lines = part.lines.iter().take(MOST_LINES).map(|line| match line {
                ChangedLine::Old(line) => format!("- {line}"),
                ChangedLine::New(line) => format!("+ {line}"),
            });
            found.push(Found {
                kind: FindingKind::Unstable,
                what: format!("{} is different after {after}", part.part),
                details: lines.collect(),
                expect: lasting(&part, &base.alone, &machine.alone),
            });
        }
        found
    }

    pub(super) fn names(&self, changes: &[usize]) -> Vec<String> {
        changes
            .iter()
            .map(|index| self.changes[*index].name.clone())
            .collect()
    }

    pub(super) fn list(&self, exploration: &mut Exploration) {
        let mut known = BTreeSet::new();
        for (index, world) in self.worlds.iter().enumerate() {
            let not_run = match &world.end {
                WorldEnd::LeftOut => {
                    exploration.left_out += 1;
                    continue;
                }
                WorldEnd::NotRun(why) => Some(why.clone()),
                WorldEnd::Machine(_) => None,
            };
            let commands = world.machine().map(|machine| &machine.commands);
            let new_commands = commands
                .into_iter()
                .flatten()
                .filter(|command| known.insert(*command));
            let new_commands = new_commands.count();
            let first = self.joins.same_as[index];
            exploration.worlds.push(ExploredWorld {
                scenario: world.plan.id.clone(),
                changes: self.names(&world.changes),
                new_commands,
                not_run,
                same_machine_as: first.map(|first| self.worlds[first].plan.id.clone()),
                join: self
                    .joins
                    .of(index)
                    .map(|join| outcome_word(&join.verdict.outcome).to_owned()),
            });
        }
    }
}

/// One finding for each way in which user data ends without a kubelet.
fn without_kubelet(machine: &WorldMachine) -> String {
    let lines = script_lines(machine);
    let words = |line: &&String| line.contains("rror");
    match lines.iter().find(words).or(lines.last()) {
        Some(line) => line.clone(),
        None => NO_KUBELET.to_owned(),
    }
}

fn cause(machine: &WorldMachine) -> Option<String> {
    let found = machine.diagnosis.as_ref()?;
    Some(format!("cause: {}: {}", found.cause.word(), found.because))
}

/// What the scripts of user data printed last, without the lines of cloud-init.
fn script_lines(machine: &WorldMachine) -> Vec<String> {
    let lines = machine.state.lines("user data").into_iter();
    lines
        .filter_map(|line| line.strip_prefix("last words: "))
        .filter(|line| !line.trim().is_empty() && !OF_CLOUD_INIT.iter().any(|word| line.contains(word)))
        .map(str::to_owned)
        .collect()
}

/// A step as the end of a sentence.
fn after(step: &StepPlan) -> String {
    match (step.action, &step.unit, &step.without) {
        (Action::Reboot, ..) => "a reboot".to_owned(),
        (Action::RunUserDataAgain, _, None) => "a second run of the user data".to_owned(),
        (Action::RunUserDataAgain, _, Some(words)) => {
            format!("a run of the user data that follows one with `{}`", words.trim())
        }
        (Action::RestartKubelet, ..) => "a restart of the kubelet".to_owned(),
        (_, Some(unit), _) => format!("a restart of {unit}"),
        (action, None, _) => action.word().to_owned(),
    }
}

fn last_words(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    last.iter().map(|line| format!("last words: {line}")).collect()
}

/// The expectation, or user data that ends with an error: in this world a script need not start a kubelet.
fn or_ends(expect: Expect) -> Expect {
    let ends = Expect {
        user_data: Some(UserDataExpect {
            succeeded: Some(false),
            ..UserDataExpect::default()
        }),
        ..Expect::default()
    };
    Expect {
        one_of: vec![expect, ends],
        ..Expect::default()
    }
}

/// What a join shows. A limit of the harness says nothing about the script.
fn of_join(join: &WorldJoin) -> Vec<Found> {
    let is_limit = join
        .verdict
        .diagnosis
        .as_ref()
        .is_some_and(|found| found.cause == Cause::HarnessLimit);
    match &join.verdict.outcome {
        Outcome::Failed if !is_limit => {
            let cause = cause_of(&join.verdict).unwrap_or_else(|| "the node did not register".to_owned());
            let evidence = join.evidence.iter().map(|folder| format!("evidence: {folder}"));
            vec![Found::by_join(FindingKind::NoJoin, cause, evidence.collect())]
        }
        Outcome::Passed => join
            .verdict
            .notes
            .iter()
            .map(|note| Found {
                kind: FindingKind::SuspiciousValue,
                what: note.what.clone(),
                details: Vec::new(),
                expect: Some(Expect {
                    clean: Some(true),
                    ..Expect::default()
                }),
            })
            .collect(),
        Outcome::Failed | Outcome::Errored(_) | Outcome::Skipped(_) | Outcome::Cancelled => Vec::new(),
    }
}
