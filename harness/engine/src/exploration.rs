//! Explores other worlds for the user data of scenarios: a probe of each world, and a join of each distinct machine.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::{
    Dimension, MachineState, ScriptArguments, WorldChange, settled_differences, world_changes,
};
use nodejoin_core::diagnosis::Cause;
use nodejoin_core::explore::{
    Exploration, ExploreFinding, ExploredWorld, FindingKind, Suspicion, covering, suspicions,
};
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::scenario::with_own_instance;
use tokio_util::sync::CancellationToken;

use crate::comparison::cause_of;
use crate::probe::ProbeEnd;
use crate::report::text::outcome_word;
use crate::runner::Runner;

/// A scenario whose user data is explored.
#[derive(Debug, Clone)]
pub struct Subject {
    pub plan: Plan,
    /// Arguments of the scripts on the node that other worlds pass.
    pub arguments: Vec<ScriptArguments>,
}

/// How worlds are explored.
#[derive(Debug, Clone)]
pub struct ExploreSettings {
    /// Worlds that run at the same time.
    pub jobs: usize,
    /// Time after which no further world starts.
    pub budget: Duration,
    /// Decides which changes are combined.
    pub seed: u64,
    /// Whether one world of each distinct machine joins.
    pub joins: bool,
    /// Names of the only changes; all changes if empty.
    pub changes: Vec<String>,
}

/// What an exploration reports while it runs.
#[derive(Debug)]
pub enum ExploreStep<'a> {
    /// A world ran up to the start of its kubelet.
    Probed { world: &'a ScenarioId, result: String },
    /// A world joined, or did not.
    Joined { world: &'a ScenarioId, result: String },
}

/// Probes start in this part of the time; the rest belongs to joins.
const SHARE_OF_PROBES: f64 = 0.7;

/// Explores all subjects. `None` if it was cancelled.
pub async fn explore(
    runner: &Runner,
    subjects: &[Subject],
    settings: ExploreSettings,
    report: &(dyn Fn(ExploreStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Option<Exploration> {
    let started = Instant::now();
    let explorer = Explorer {
        runner,
        settings: settings.clone(),
        probes_until: started
            + settings
                .budget
                .mul_f64(if settings.joins { SHARE_OF_PROBES } else { 1.0 }),
        joins_until: started + settings.budget,
        report,
        cancel,
    };
    let mut exploration = Exploration {
        seed: settings.seed,
        ..Exploration::default()
    };
    for subject in subjects {
        explorer.subject(subject, &mut exploration).await;
        if cancel.is_cancelled() {
            return None;
        }
    }
    let findings = std::mem::take(&mut exploration.findings);
    exploration.findings = findings.into_iter().map(ExploreFinding::with_id).collect();
    exploration
        .findings
        .sort_by_key(|finding| (finding.kind, finding.only_with.len()));
    exploration.seconds = started.elapsed().as_secs_f64();
    Some(exploration)
}

struct Explorer<'a> {
    runner: &'a Runner,
    settings: ExploreSettings,
    probes_until: Instant,
    joins_until: Instant,
    report: &'a (dyn Fn(ExploreStep<'_>) + Sync),
    cancel: &'a CancellationToken,
}

/// A world and what came of it.
struct Explored {
    plan: Plan,
    /// Indexes of its changes.
    changes: Vec<usize>,
    end: WorldEnd,
}

enum WorldEnd {
    Machine(Box<WorldMachine>),
    NotRun(String),
    /// The time did not suffice.
    LeftOut,
}

struct WorldMachine {
    state: MachineState,
    /// What two worlds with equal joins have in common.
    alone: MachineState,
    suspicions: Vec<Suspicion>,
}

impl WorldMachine {
    fn of(state: MachineState, plan: &Plan) -> Self {
        Self {
            alone: state.machine_alone(plan),
            suspicions: suspicions(&state, plan),
            state,
        }
    }
}

impl Explored {
    fn machine(&self) -> Option<&WorldMachine> {
        match &self.end {
            WorldEnd::Machine(machine) => Some(machine),
            WorldEnd::NotRun(_) | WorldEnd::LeftOut => None,
        }
    }
}

impl Explorer<'_> {
    async fn subject(&self, subject: &Subject, exploration: &mut Exploration) {
        let base = match self.probe(&subject.plan).await {
            ProbeEnd::State(state) => WorldMachine::of(*state, &subject.plan),
            ProbeEnd::NotRun(why) => {
                exploration.worlds.push(ExploredWorld {
                    scenario: subject.plan.id.clone(),
                    changes: Vec::new(),
                    not_run: Some(why),
                    same_machine_as: None,
                    join: None,
                });
                return;
            }
            ProbeEnd::Cancelled => return,
        };
        self.tell_probed(&subject.plan.id, &base);
        exploration.findings.extend(self.race(subject, &base).await);
        let mut changes = world_changes(&subject.plan, Some(&base.state), &subject.arguments);
        let only = &self.settings.changes;
        changes.retain(|change| only.is_empty() || only.contains(&change.name));
        let mut worlds = self.worlds(subject, &changes).await;
        let base = Explored {
            plan: subject.plan.clone(),
            changes: Vec::new(),
            end: WorldEnd::Machine(Box::new(base)),
        };
        worlds.insert(0, base);
        let joins = self.join_distinct(&worlds).await;
        let found = Findings {
            subject,
            changes: &changes,
            worlds: &worlds,
            joins: &joins,
        };
        let mut findings = found.all();
        for finding in &mut findings {
            self.minimize(&found, finding).await;
        }
        exploration.findings.extend(findings);
        exploration.machines += joins.machines;
        found.list(exploration);
    }

    fn is_over(&self, deadline: Instant) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= deadline
    }

    async fn probe(&self, plan: &Plan) -> ProbeEnd {
        self.runner.probe(&plan.probe(), self.cancel).await
    }

    fn tell_probed(&self, world: &ScenarioId, machine: &WorldMachine) {
        let result = match machine.state.has_kubelet() {
            true => "the kubelet starts",
            false => "no kubelet starts",
        };
        (self.report)(ExploreStep::Probed {
            world,
            result: result.to_owned(),
        });
    }

    /// Whether a second boot of the same world leaves another machine.
    async fn race(&self, subject: &Subject, first: &WorldMachine) -> Option<ExploreFinding> {
        if self.is_over(self.probes_until) {
            return None;
        }
        let ProbeEnd::State(second) = self.probe(&subject.plan).await else {
            return None;
        };
        let second = second.machine_alone(&subject.plan);
        let parts = settled_differences(&first.alone, &second);
        (!parts.is_empty()).then(|| ExploreFinding {
            id: String::new(),
            kind: FindingKind::Race,
            worlds: vec![subject.plan.id.clone()],
            only_with: Vec::new(),
            what: "two boots of the same world leave different machines".to_owned(),
            details: parts.into_iter().map(|part| format!("differs: {part}")).collect(),
        })
    }

    /// Runs each change alone, then combinations.
    async fn worlds(&self, subject: &Subject, changes: &[WorldChange]) -> Vec<Explored> {
        let dimensions: Vec<Dimension> = changes.iter().map(|change| change.dimension).collect();
        let alone = (0..changes.len()).map(|index| vec![index]);
        let combined = covering(&dimensions, self.settings.seed)
            .into_iter()
            .filter(|row| row.len() > 1);
        let mut taken = BTreeSet::new();
        let plans: Vec<(Vec<usize>, Plan)> = alone
            .chain(combined)
            .map(|row| {
                let plan = changed(subject, changes, &row);
                let plan = with_own_instance(&plan, &plan.id, &mut taken);
                (row, plan)
            })
            .collect();
        let one = async |(index, (changes, plan)): (usize, (Vec<usize>, Plan))| {
            let end = match self.is_over(self.probes_until) {
                true => WorldEnd::LeftOut,
                false => match self.probe(&plan).await {
                    ProbeEnd::State(state) => {
                        let machine = WorldMachine::of(*state, &plan);
                        self.tell_probed(&plan.id, &machine);
                        WorldEnd::Machine(Box::new(machine))
                    }
                    ProbeEnd::NotRun(why) => WorldEnd::NotRun(why),
                    ProbeEnd::Cancelled => WorldEnd::LeftOut,
                },
            };
            (index, Explored { plan, changes, end })
        };
        let mut explored: Vec<_> = stream::iter(plans.into_iter().enumerate())
            .map(one)
            .buffer_unordered(self.settings.jobs.max(1))
            .collect()
            .await;
        explored.sort_by_key(|(index, _)| *index);
        explored.into_iter().map(|(_, one)| one).collect()
    }

    /// Joins the first world of each distinct machine with a kubelet. The first machine always joins; the others while
    /// there is time.
    async fn join_distinct(&self, worlds: &[Explored]) -> Joins {
        let mut joins = Joins {
            machines: 0,
            same_as: vec![None; worlds.len()],
            verdicts: Vec::new(),
        };
        let mut firsts: Vec<usize> = Vec::new();
        for (index, world) in worlds.iter().enumerate() {
            let Some(machine) = world.machine() else { continue };
            let is_same = |first: &&usize| {
                worlds[**first]
                    .machine()
                    .is_some_and(|other| other.alone == machine.alone)
            };
            match firsts.iter().find(is_same) {
                Some(first) => joins.same_as[index] = Some(*first),
                None => firsts.push(index),
            }
        }
        joins.machines = firsts.len();
        if !self.settings.joins {
            return joins;
        }
        let starts_kubelet = |index: &usize| {
            worlds[*index]
                .machine()
                .is_some_and(|machine| machine.state.has_kubelet())
        };
        let one = async |index: usize| {
            if self.cancel.is_cancelled() || (index > 0 && self.is_over(self.joins_until)) {
                return None;
            }
            let plan = joining(&worlds[index].plan);
            let verdict = self.runner.run(&plan, self.cancel).await;
            (self.report)(ExploreStep::Joined {
                world: &plan.id,
                result: outcome_word(&verdict.outcome).to_owned(),
            });
            let evidence = self.runner.evidence_folder(&plan);
            let evidence = evidence.is_dir().then(|| evidence.display().to_string());
            Some((index, WorldJoin { verdict, evidence }))
        };
        let verdicts: Vec<_> = stream::iter(firsts.into_iter().filter(starts_kubelet))
            .map(one)
            .buffer_unordered(self.settings.jobs.max(1))
            .collect()
            .await;
        joins.verdicts = verdicts.into_iter().flatten().collect();
        joins.verdicts.sort_by_key(|(index, _)| *index);
        joins
    }

    /// Leaves out each change without which a finding of combined changes stays.
    async fn minimize(&self, found: &Findings<'_>, finding: &mut ExploreFinding) {
        let Some(world) = found
            .worlds
            .iter()
            .find(|world| finding.worlds.first() == Some(&world.plan.id))
        else {
            return;
        };
        let mut needed = world.changes.clone();
        if needed.len() < 2 || finding.kind == FindingKind::NoJoin {
            return;
        }
        for change in world.changes.clone() {
            let fewer: Vec<usize> = needed.iter().copied().filter(|one| *one != change).collect();
            if fewer.is_empty() || self.is_over(self.joins_until) {
                break;
            }
            let plan = changed(found.subject, found.changes, &fewer);
            let ProbeEnd::State(state) = self.probe(&plan).await else {
                continue;
            };
            let machine = WorldMachine::of(*state, &plan);
            if shows(&machine, finding) {
                needed = fewer;
            }
        }
        finding.only_with = found.names(&needed);
    }
}

/// The plan with some changes, and an id that names them.
fn changed(subject: &Subject, changes: &[WorldChange], row: &[usize]) -> Plan {
    let mut plan = subject.plan.clone();
    row.iter().for_each(|index| changes[*index].apply(&mut plan));
    let names: Vec<&str> = row.iter().map(|index| changes[*index].name.as_str()).collect();
    if let Ok(id) = format!("{}@{}", subject.plan.id, names.join("_")).parse() {
        plan.id = id;
    }
    plan
}

/// A plan that is complete when its node has registered: other worlds may contradict what the scenario expects.
fn joining(plan: &Plan) -> Plan {
    Plan {
        expect: Expect {
            phase: Some(Phase::Registered),
            ..Expect::default()
        },
        golden: None,
        pod: None,
        then: Vec::new(),
        others: Vec::new(),
        ..plan.clone()
    }
}

struct Joins {
    /// Number of distinct machines.
    machines: usize,
    /// For each world: the index of the first one with an equal machine.
    same_as: Vec<Option<usize>>,
    /// Joins by the index of the world.
    verdicts: Vec<(usize, WorldJoin)>,
}

struct WorldJoin {
    verdict: Verdict,
    evidence: Option<String>,
}

impl Joins {
    fn of(&self, world: usize) -> Option<&WorldJoin> {
        self.verdicts
            .iter()
            .find(|(index, _)| *index == world)
            .map(|(_, join)| join)
    }
}

/// Parts of lines that cloud-init prints after a failed script.
const OF_CLOUD_INIT: [&str; 3] = ["cc_scripts_user", "util.py[WARNING]", "Cloud-init v."];
/// The finding of a machine whose user data printed nothing.
const NO_KUBELET: &str = "the user data ends without a kubelet";

/// Whether a machine shows a finding.
fn shows(machine: &WorldMachine, finding: &ExploreFinding) -> bool {
    match finding.kind {
        FindingKind::NoKubelet => !machine.state.has_kubelet(),
        FindingKind::SuspiciousValue => machine.suspicions.iter().any(|one| sentence(one) == finding.what),
        FindingKind::NoJoin | FindingKind::Race => false,
    }
}

fn sentence(suspicion: &Suspicion) -> String {
    format!("{}: {}", suspicion.part, suspicion.what)
}

/// The findings of one subject. The first world is that of the scenario.
struct Findings<'a> {
    subject: &'a Subject,
    changes: &'a [WorldChange],
    worlds: &'a [Explored],
    joins: &'a Joins,
}

impl Findings<'_> {
    fn all(&self) -> Vec<ExploreFinding> {
        let mut findings: Vec<ExploreFinding> = Vec::new();
        // Single changes come before their combinations.
        for (index, world) in self.worlds.iter().enumerate() {
            for (kind, what, details) in self.of_world(index, world) {
                match findings
                    .iter_mut()
                    .find(|known| known.kind == kind && known.what == what)
                {
                    Some(known) => known.worlds.push(world.plan.id.clone()),
                    None => findings.push(ExploreFinding {
                        id: String::new(),
                        kind,
                        worlds: vec![world.plan.id.clone()],
                        only_with: self.names(&world.changes),
                        what,
                        details,
                    }),
                }
            }
        }
        findings
    }

    fn of_world(&self, index: usize, world: &Explored) -> Vec<(FindingKind, String, Vec<String>)> {
        let Some(machine) = world.machine() else {
            return Vec::new();
        };
        if !machine.state.has_kubelet() {
            // What else is wrong on the machine follows from it, or does not matter.
            return vec![(
                FindingKind::NoKubelet,
                without_kubelet(machine),
                script_lines(machine),
            )];
        }
        let mut found = Vec::new();
        for suspicion in &machine.suspicions {
            found.push((FindingKind::SuspiciousValue, sentence(suspicion), Vec::new()));
        }
        if let Some(join) = self.joins.of(index) {
            found.extend(of_join(join));
        }
        found
    }

    fn names(&self, changes: &[usize]) -> Vec<String> {
        changes
            .iter()
            .map(|index| self.changes[*index].name.clone())
            .collect()
    }

    fn list(&self, exploration: &mut Exploration) {
        for (index, world) in self.worlds.iter().enumerate() {
            let not_run = match &world.end {
                WorldEnd::LeftOut => {
                    exploration.left_out += 1;
                    continue;
                }
                WorldEnd::NotRun(why) => Some(why.clone()),
                WorldEnd::Machine(_) => None,
            };
            let first = self.joins.same_as[index];
            exploration.worlds.push(ExploredWorld {
                scenario: world.plan.id.clone(),
                changes: self.names(&world.changes),
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

/// What the scripts of user data printed last, without the lines of cloud-init.
fn script_lines(machine: &WorldMachine) -> Vec<String> {
    let lines = machine.state.lines("user data").into_iter();
    lines
        .filter_map(|line| line.strip_prefix("last words: "))
        .filter(|line| !line.trim().is_empty() && !OF_CLOUD_INIT.iter().any(|word| line.contains(word)))
        .map(str::to_owned)
        .collect()
}

/// What a join shows. A limit of the harness says nothing about the script.
fn of_join(join: &WorldJoin) -> Vec<(FindingKind, String, Vec<String>)> {
    let is_limit = join
        .verdict
        .diagnosis
        .as_ref()
        .is_some_and(|found| found.cause == Cause::HarnessLimit);
    match &join.verdict.outcome {
        Outcome::Failed if !is_limit => {
            let cause = cause_of(&join.verdict).unwrap_or_else(|| "the node did not register".to_owned());
            let evidence = join.evidence.iter().map(|folder| format!("evidence: {folder}"));
            vec![(FindingKind::NoJoin, cause, evidence.collect())]
        }
        Outcome::Passed => join
            .verdict
            .notes
            .iter()
            .map(|note| (FindingKind::SuspiciousValue, note.what.clone(), Vec::new()))
            .collect(),
        Outcome::Failed | Outcome::Errored(_) | Outcome::Skipped(_) | Outcome::Cancelled => Vec::new(),
    }
}
