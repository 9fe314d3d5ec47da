//! Compares two versions of the same scenarios: a probe of each, and a join of both for each difference.

mod blessed;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::{
    BlessedStates, ComparedScenario, Comparison, Group, JoinOutcome, MachineDifference, MachineRequests,
    ScenarioTraits, ScriptInputs, Shown, SideOutcome, changed_places, differences, group, representatives,
    worlds, worlds_of_kubelet,
};
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::plan::{OverlayFile, Plan};
use nodejoin_core::scenario::with_own_instance;
use tokio_util::sync::CancellationToken;

use crate::probe::ProbeEnd;
use crate::report::text::outcome_word;
use crate::runner::Runner;

pub use blessed::{RecordedMachine, record};

/// One scenario with each version of its files.
#[derive(Debug, Clone)]
pub struct Pair {
    pub id: ScenarioId,
    /// What a derived scenario changes in the world of another one.
    pub world: Option<String>,
    /// `None` if the version does not have the scenario.
    pub old: Option<Plan>,
    pub new: Option<Plan>,
    /// What the files of the node accept and tell apart, for other worlds.
    pub inputs: ScriptInputs,
    /// States to compare with, in place of machines of the old version.
    pub blessed: Option<Arc<BlessedStates>>,
}

impl Pair {
    /// The probe of a version. Only a world has steps: those of scenarios are left out.
    fn probe(&self, plan: &Plan) -> Plan {
        let then = self.world.as_ref().map(|_| plan.then.clone());
        Plan {
            then: then.unwrap_or_default(),
            ..plan.probe()
        }
    }

    /// Whether the machines of both versions can differ.
    fn can_differ(&self) -> bool {
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            return false;
        };
        self.blessed.is_some() || !has_same_files(&self.probe(old), &self.probe(new))
    }

    /// The scenario of which this is another world.
    fn base(&self) -> Option<ScenarioId> {
        let world = self.world.as_ref()?;
        self.id.as_str().strip_suffix(&format!("@{world}"))?.parse().ok()
    }
}

/// Which scenarios with differences join with both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinsWhen {
    Never,
    /// One scenario of each group of differences.
    OfEachGroup,
    /// Every scenario that shows a difference.
    Always,
}

/// What a comparison reports while it runs.
#[derive(Debug)]
pub enum CompareStep<'a> {
    /// A scenario was compared.
    Compared {
        scenario: &'a ScenarioId,
        result: String,
    },
    /// A scenario joined with both versions.
    Joined(&'a JoinOutcome),
}

/// In which other worlds versions are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorldsWhen {
    Never,
    /// The representative of each folder runs in all worlds.
    Always,
    /// It runs in the worlds of these names, and no other scenario runs.
    Only(Vec<String>),
}

impl WorldsWhen {
    /// The scenarios to compare as they are.
    fn chosen(&self, pairs: &[Pair]) -> Vec<Pair> {
        let Self::Only(_) = self else {
            return pairs.to_vec();
        };
        let different = pairs.iter().filter(|pair| pair.can_differ());
        let representatives = representatives(different.filter_map(|pair| pair.new.as_ref()));
        let chosen = pairs.iter().filter(|pair| representatives.contains(&pair.id));
        chosen.cloned().collect()
    }

    fn has(&self, world: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Only(names) => names.iter().any(|name| name == world),
        }
    }
}

/// How versions are compared.
#[derive(Debug, Clone)]
pub struct CompareSettings {
    /// Scenarios that run at the same time.
    pub jobs: usize,
    pub joins: JoinsWhen,
    pub worlds: WorldsWhen,
}

/// Compares all pairs. `None` if it was cancelled.
pub async fn compare(
    runner: &Runner,
    pairs: &[Pair],
    settings: CompareSettings,
    report: &(dyn Fn(CompareStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Option<Comparison> {
    let started = Instant::now();
    let chosen = settings.worlds.chosen(pairs);
    let mut compared = compare_pairs(runner, chosen, settings.jobs, report, cancel).await;
    if settings.worlds != WorldsWhen::Never && !cancel.is_cancelled() {
        let worlds = worlds_of(&compared, &settings.worlds);
        compared.extend(compare_pairs(runner, worlds, settings.jobs, report, cancel).await);
        let further = worlds_of_newest_kubelet(&compared, &settings.worlds);
        compared.extend(compare_pairs(runner, further, settings.jobs, report, cancel).await);
    }
    if cancel.is_cancelled() {
        return None;
    }
    let shown: Vec<Shown> = compared
        .iter()
        .filter_map(|(pair, compared)| compared.shown(pair))
        .collect();
    let mut comparison = Comparison {
        scenarios: compared
            .iter()
            .map(|(pair, compared)| compared.listed(pair))
            .collect(),
        groups: group(&shown),
        ..Comparison::default()
    };
    let join_pair = async |id: ScenarioId| {
        let pair = compared.iter().map(|(pair, _)| pair).find(|pair| pair.id == id)?;
        let (old, new) = (pair.old.as_ref()?, pair.new.as_ref()?);
        let outcome = JoinOutcome {
            old: match pair.blessed {
                Some(_) => SideOutcome::not_run(),
                None => join(runner, old, "old", cancel).await,
            },
            new: join(runner, new, "new", cancel).await,
            scenario: id,
        };
        if !cancel.is_cancelled() {
            report(CompareStep::Joined(&outcome));
        }
        Some(outcome)
    };
    // No kubelet of another version is at hand.
    let reports_another = |id: &ScenarioId| {
        let pair = compared.iter().map(|(pair, _)| pair).find(|pair| pair.id == *id);
        pair.and_then(|pair| pair.new.as_ref())
            .is_some_and(|plan| plan.probed_kubelet.is_some())
    };
    let mut joining = comparison.groups.clone();
    joining
        .iter_mut()
        .for_each(|group| group.scenarios.retain(|id| !reports_another(id)));
    let joins: Vec<_> = stream::iter(to_join(&joining, settings.joins))
        .map(join_pair)
        .buffered(settings.jobs.max(1))
        .collect()
        .await;
    if cancel.is_cancelled() {
        return None;
    }
    comparison.joins = joins.into_iter().flatten().collect();
    comparison.seconds = started.elapsed().as_secs_f64();
    Some(comparison)
}

/// Compares pairs, several at a time, and returns them in their order.
async fn compare_pairs(
    runner: &Runner,
    pairs: Vec<Pair>,
    jobs: usize,
    report: &(dyn Fn(CompareStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Vec<(Pair, Compared)> {
    let one = async |(index, pair): (usize, Pair)| {
        let compared = compare_pair(runner, &pair, cancel).await;
        let (scenario, result) = (&pair.id, compared.text());
        report(CompareStep::Compared { scenario, result });
        (index, pair, compared)
    };
    let mut compared: Vec<_> = stream::iter(pairs.into_iter().enumerate())
        .map(one)
        .buffer_unordered(jobs.max(1))
        .collect()
        .await;
    compared.sort_by_key(|(index, ..)| *index);
    compared
        .into_iter()
        .map(|(_, pair, compared)| (pair, compared))
        .collect()
}

/// The worlds of the representative of each folder, of the scenarios whose versions have different files.
fn worlds_of(compared: &[(Pair, Compared)], when: &WorldsWhen) -> Vec<Pair> {
    let booted = compared
        .iter()
        .filter(|(_, result)| matches!(result, Compared::States { .. }));
    let representatives = representatives(booted.filter_map(|(pair, _)| pair.new.as_ref()));
    let mut pairs = Vec::new();
    let mut taken = BTreeSet::new();
    for (pair, result) in compared {
        let Compared::States { requests, .. } = result else {
            continue;
        };
        let (Some(old), Some(new)) = (&pair.old, &pair.new) else {
            continue;
        };
        if !representatives.contains(&pair.id) {
            continue;
        }
        let of_new: BTreeMap<String, Plan> = worlds(new, requests, &pair.inputs).into_iter().collect();
        for (world, old) in worlds(old, requests, &pair.inputs) {
            if let Some(new) = of_new.get(&world).cloned().filter(|_| when.has(&world)) {
                pairs.extend(in_world(pair, world, old, new, &mut taken));
            }
        }
    }
    pairs
}

/// Worlds of the newest kubelet that scripts tell apart, if a script makes other requests with it. `compared` are
/// scenarios and their worlds.
fn worlds_of_newest_kubelet(compared: &[(Pair, Compared)], when: &WorldsWhen) -> Vec<Pair> {
    let requests = |id: &ScenarioId| {
        let found = compared.iter().find(|(pair, _)| pair.id == *id);
        match found.map(|(_, result)| result) {
            Some(Compared::States { requests, .. }) => Some(requests),
            _ => None,
        }
    };
    let mut newest: BTreeMap<ScenarioId, &Pair> = BTreeMap::new();
    let with_kubelet = compared.iter().map(|(pair, _)| pair);
    let with_kubelet = with_kubelet.filter(|pair| {
        pair.new
            .as_ref()
            .is_some_and(|plan| plan.probed_kubelet.is_some())
    });
    for (base, pair) in with_kubelet.filter_map(|pair| Some((pair.base()?, pair))) {
        newest.insert(base, pair);
    }
    let (mut pairs, mut taken) = (Vec::new(), BTreeSet::new());
    for (base, pair) in newest {
        let (Some(before), Some(after)) = (requests(&base), requests(&pair.id)) else {
            continue;
        };
        let (Some(old), Some(new), Some(kubelet)) = (&pair.old, &pair.new, &pair.world) else {
            continue;
        };
        let of_new = worlds_of_kubelet(new, before, after);
        let both = worlds_of_kubelet(old, before, after).into_iter().zip(of_new);
        for ((world, old), (_, new)) in both {
            let world = format!("{kubelet}-{world}");
            if when.has(&world) {
                let of_base = Pair {
                    id: base.clone(),
                    ..pair.clone()
                };
                pairs.extend(in_world(&of_base, world, old, new, &mut taken));
            }
        }
    }
    pairs
}

/// A scenario in another world, of which `old` and `new` are the plans.
fn in_world(
    pair: &Pair,
    world: String,
    mut old: Plan,
    mut new: Plan,
    taken: &mut BTreeSet<Ipv4Addr>,
) -> Option<Pair> {
    let id = format!("{}@{world}", pair.id).parse::<ScenarioId>().ok()?;
    old.id = id.clone();
    new.id = id.clone();
    // Worlds of one scenario run side by side. Both versions of a world have the same instance.
    let own_old = with_own_instance(&old, &id, &mut taken.clone());
    let own_new = with_own_instance(&new, &id, taken);
    if own_old.instance.id == own_new.instance.id {
        (old, new) = (own_old, own_new);
    }
    Some(Pair {
        id,
        world: Some(world),
        old: Some(old),
        new: Some(new),
        inputs: ScriptInputs::default(),
        blessed: pair.blessed.clone(),
    })
}

/// The result for one pair.
enum Compared {
    /// Both versions have the same files: nothing can differ.
    SameFiles,
    /// What differs; nothing if both machines are equal.
    States {
        /// What the old version requests.
        requests: MachineRequests,
        /// Why the new version has no kubelet, if neither has one.
        without_kubelet: Option<String>,
        differences: Vec<MachineDifference>,
    },
    Not(String),
}

impl Compared {
    fn text(&self) -> String {
        match self {
            Self::SameFiles => "same files".to_owned(),
            Self::States {
                differences,
                without_kubelet: Some(why),
                ..
            } if differences.is_empty() => format!("same machine, and no kubelet started: {why}"),
            Self::States { differences, .. } if differences.is_empty() => "same machine".to_owned(),
            Self::States { differences, .. } => {
                let parts: Vec<&str> = differences.iter().map(|one| one.part.as_str()).collect();
                format!("differs in {}", parts.join(", "))
            }
            Self::Not(why) => format!("not compared: {why}"),
        }
    }

    /// Why neither version starts a kubelet in a scenario that expects a join.
    fn without_kubelet(&self, pair: &Pair) -> Option<&String> {
        let expects_join = pair
            .new
            .as_ref()
            .is_some_and(|plan| plan.expect.diagnosis.is_none());
        match self {
            Self::States { without_kubelet, .. } => without_kubelet.as_ref().filter(|_| expects_join),
            Self::SameFiles | Self::Not(_) => None,
        }
    }

    fn shown(&self, pair: &Pair) -> Option<Shown> {
        let differences = match self {
            Self::SameFiles => Vec::new(),
            Self::States { differences, .. } => differences.clone(),
            Self::Not(_) => return None,
        };
        let plan = pair.new.as_ref().or(pair.old.as_ref())?;
        Some(Shown {
            scenario: pair.id.clone(),
            traits: ScenarioTraits::of(plan),
            places: match (&pair.old, &pair.new) {
                (Some(old), Some(new)) if !differences.is_empty() => changed_places(old, new, text),
                _ => Vec::new(),
            },
            differences,
        })
    }

    fn listed(&self, pair: &Pair) -> ComparedScenario {
        let not_compared = match self {
            Self::Not(why) => Some(why.clone()),
            Self::SameFiles | Self::States { .. } => None,
        };
        ComparedScenario {
            scenario: pair.id.clone(),
            not_compared,
            without_kubelet: self.without_kubelet(pair).is_some(),
            without_kubelet_because: self.without_kubelet(pair).cloned(),
            world: pair.world.clone(),
        }
    }
}

async fn compare_pair(runner: &Runner, pair: &Pair, cancel: &CancellationToken) -> Compared {
    let (old, new) = match (&pair.old, &pair.new) {
        (Some(old), Some(new)) => (pair.probe(old), pair.probe(new)),
        (None, _) => return Compared::Not("only the new version has the scenario".to_owned()),
        (_, None) => return Compared::Not("only the old version has the scenario".to_owned()),
    };
    if let Some(states) = &pair.blessed {
        return blessed::compare_blessed(runner, states, &new, cancel).await;
    }
    if has_same_files(&old, &new) {
        return Compared::SameFiles;
    }
    let probed = async |plan: &Plan, version: &str| match runner.probe(plan, cancel).await {
        ProbeEnd::Machine(probed) => Ok(probed),
        ProbeEnd::NotRun(why) => Err(Compared::Not(format!("with the {version} version: {why}"))),
        ProbeEnd::Cancelled => Err(Compared::Not("cancelled".to_owned())),
    };
    let states = async {
        let (before, after) = (probed(&old, "old").await?, probed(&new, "new").await?);
        let mut found = differences(&before.state, &after.state, None);
        if !found.is_empty() {
            // Only what differs now can be noise.
            let again = probed(&old, "old").await?;
            found = differences(&before.state, &after.state, Some(&again.state));
        }
        Ok(Compared::States {
            without_kubelet: match before.state.has_kubelet() {
                true => None,
                false => after.without_kubelet(),
            },
            requests: before.requests.clone(),
            differences: found,
        })
    };
    states.await.unwrap_or_else(|not_compared| not_compared)
}

/// Whether both versions give a node the same input. Names and positions of files do not reach the node, nor does what
/// the scenario expects.
fn has_same_files(old: &Plan, new: &Plan) -> bool {
    let without_paths = |plan: &Plan| {
        let mut plan = plan.clone();
        plan.file.clear();
        plan.name.clear();
        plan.tags.clear();
        plan.sources = Default::default();
        let overlay = std::mem::take(&mut plan.image.overlay);
        (plan, overlay.iter().map(laid).collect::<Vec<_>>())
    };
    without_paths(old) == without_paths(new)
}

/// The content that a file of an overlay puts on the node; `None` if it puts none there, or is unreadable.
fn content(file: &OverlayFile) -> Option<Vec<u8>> {
    match &file.patched {
        Some(patched) => Some(patched.content.clone().into_bytes()),
        None if file.removed => None,
        None => std::fs::read(&file.from).ok(),
    }
}

/// The content of a text file of an overlay.
fn text(file: &OverlayFile) -> Option<String> {
    String::from_utf8(content(file)?).ok()
}

/// What a file of an overlay puts on the node; an unreadable file equals no other.
fn laid(file: &OverlayFile) -> (String, u32, bool, Option<Vec<u8>>, Option<String>) {
    let content = content(file);
    let unread = (content.is_none() && !file.removed).then(|| file.from.clone());
    (file.to.clone(), file.mode, file.removed, content, unread)
}

/// The scenarios that join. One that shows several groups stands for all of them.
fn to_join(groups: &[Group], when: JoinsWhen) -> Vec<ScenarioId> {
    let mut chosen: Vec<ScenarioId> = Vec::new();
    for group in groups {
        let is_chosen = |id: &ScenarioId| chosen.contains(id);
        match when {
            JoinsWhen::Never => {}
            JoinsWhen::OfEachGroup if group.scenarios.iter().any(is_chosen) => {}
            JoinsWhen::OfEachGroup => chosen.extend(group.scenarios.first().cloned()),
            JoinsWhen::Always => chosen.extend(group.scenarios.clone()),
        }
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|id| seen.insert(id.clone()));
    chosen
}

async fn join(runner: &Runner, plan: &Plan, version: &str, cancel: &CancellationToken) -> SideOutcome {
    let mut plan = plan.clone();
    // The evidence of both versions lies side by side.
    if let Ok(id) = format!("{}@{version}", plan.id).parse() {
        plan.id = id;
    }
    let verdict = runner.run(&plan, cancel).await;
    let folder = runner.evidence_folder(&plan);
    SideOutcome {
        cause: cause_of(&verdict),
        outcome: outcome_word(&verdict.outcome).to_owned(),
        evidence: folder.is_dir().then(|| folder.display().to_string()),
    }
}

/// Why a join did not pass.
pub(crate) fn cause_of(verdict: &Verdict) -> Option<String> {
    let diagnosis = verdict
        .diagnosis
        .as_ref()
        .map(|found| format!("{}: {}", found.cause.word(), found.because));
    let check = verdict
        .checks
        .iter()
        .find(|check| !check.held)
        .map(|check| format!("{}: expected {}, seen {}", check.key, check.expected, check.seen));
    match &verdict.outcome {
        Outcome::Passed => None,
        Outcome::Errored(why) | Outcome::Skipped(why) => Some(why.clone()),
        Outcome::Failed => diagnosis.or(check),
        Outcome::Cancelled => None,
    }
}
