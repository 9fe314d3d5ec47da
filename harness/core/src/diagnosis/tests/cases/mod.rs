//! One join for each text that a rule can give, with the lines that real programs wrote; the texts are snapshots.

mod boot;
mod cluster;
mod identity;
mod kubelet;
mod limits;
mod lost;
mod other_cluster;
mod outside;
mod power;
mod registration;
mod script;
mod stored_values;
mod tools;
mod unanswered;
mod units;

use std::fmt::Write as _;

use super::*;
use crate::diagnosis::facts::Facts;
use crate::diagnosis::first_of;
use crate::diagnosis::rules::RuleScope;

/// A join that stopped.
pub(in crate::diagnosis) struct Case {
    name: &'static str,
    plan: Plan,
    observation: Observation,
}

impl Case {
    fn new(name: &'static str, events: impl IntoIterator<Item = ObservedEvent>) -> Self {
        Self {
            name,
            plan: plan(),
            observation: observed(events),
        }
    }

    fn plan(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }

    fn user_data(self, text: &str) -> Self {
        let user_data = plan_with(text).user_data;
        self.plan(|plan| plan.user_data = user_data)
    }

    fn seen(mut self, change: impl FnOnce(&mut Observation)) -> Self {
        change(&mut self.observation);
        self
    }

    pub(in crate::diagnosis) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn cause(&self) -> Cause {
        self.diagnosis().cause
    }

    /// The order of the rule that finds the cause.
    pub(in crate::diagnosis) fn found_by(&self) -> (u32, Cause) {
        let facts = Facts::of(&self.plan, &self.observation);
        let scopes = match facts.reached {
            Some(Phase::Ready) => [RuleScope::Ready, RuleScope::ReadyAtTheEnd],
            _ => [RuleScope::Stopped, RuleScope::AtTheEnd],
        };
        let mut found = scopes.iter().filter_map(|scope| first_of(*scope, &facts));
        let (order, finding) = found.next().unwrap_or_else(|| panic!("{}: no rule", self.name));
        (order, finding.diagnosis.cause)
    }

    pub(super) fn diagnosis(&self) -> Diagnosis {
        diagnose(&self.plan, &self.observation).unwrap_or_else(|| panic!("{}: no diagnosis", self.name))
    }
}

/// The cases of every file.
pub(in crate::diagnosis) fn all() -> Vec<Case> {
    let files = [
        boot::cases(),
        script::cases(),
        units::cases(),
        limits::cases(),
        unanswered::cases(),
        stored_values::cases(),
        power::cases(),
        lost::cases(),
        registration::cases(),
        other_cluster::cases(),
        outside::cases(),
        kubelet::cases(),
        identity::cases(),
        cluster::cases(),
        tools::cases(),
    ];
    files.into_iter().flatten().collect()
}

fn boot() -> ObservedEvent {
    systemd("init.scope", "systemd 252 running in system mode")
}

fn imds() -> ObservedEvent {
    ObservedEvent::Aws(aws(Service::Imds, "meta-data/instance-id", 200))
}

/// The end of user data of which a part failed.
fn failed_part() -> ObservedEvent {
    cloud("Runparts: 1 failures (part-001) in 1 attempted commands")
}

/// Events after the node booted and read its metadata.
fn after_boot<const N: usize>(events: [ObservedEvent; N]) -> Vec<ObservedEvent> {
    [boot(), imds()].into_iter().chain(events).collect()
}

/// Events after the kubelet's first line.
fn after_start<const N: usize>(events: [ObservedEvent; N]) -> Vec<ObservedEvent> {
    started().into_iter().chain(events).collect()
}

/// Events after the API server accepted the node's token.
fn after_token<const N: usize>(events: [ObservedEvent; N]) -> Vec<ObservedEvent> {
    started().into_iter().chain([accepted()]).chain(events).collect()
}

fn text(cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        let found = case.diagnosis();
        let phase = found.phase.map_or("nothing", Phase::word);
        let cause = found.cause.word();
        let _ = writeln!(text, "# {}\n{cause} at {phase}", case.name);
        let _ = writeln!(text, "  because: {}", found.because);
        let _ = writeln!(text, "  seen:    {}", found.seen);
        let _ = writeln!(text, "  remedy:  {}", found.remedy);
        if let Some(script) = &found.script {
            let name = script.script.as_deref().unwrap_or("unnamed");
            let _ = writeln!(text, "  script:  {name}:{}", script.line.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

#[test]
fn diagnoses_of_the_boot() {
    insta::assert_snapshot!(text(&boot::cases()));
}

#[test]
fn diagnoses_of_the_script() {
    insta::assert_snapshot!(text(&script::cases()));
}

#[test]
fn diagnoses_of_units() {
    insta::assert_snapshot!(text(&units::cases()));
}

#[test]
fn diagnoses_of_limits_and_mistakes() {
    insta::assert_snapshot!(text(&limits::cases()));
}

#[test]
fn diagnoses_of_unanswered_requests() {
    insta::assert_snapshot!(text(&unanswered::cases()));
}

#[test]
fn diagnoses_of_stored_values() {
    insta::assert_snapshot!(text(&stored_values::cases()));
}

#[test]
fn diagnoses_of_values_of_other_clusters() {
    insta::assert_snapshot!(text(&other_cluster::cases()));
}

#[test]
fn diagnoses_of_requests_outside() {
    insta::assert_snapshot!(text(&outside::cases()));
}

#[test]
fn diagnoses_of_lost_nodes() {
    insta::assert_snapshot!(text(&lost::cases()));
}

#[test]
fn diagnoses_of_ready_nodes_that_differ() {
    insta::assert_snapshot!(text(&registration::cases()));
}

#[test]
fn diagnoses_of_reboots() {
    insta::assert_snapshot!(text(&power::cases()));
}

#[test]
fn diagnoses_of_the_kubelet() {
    insta::assert_snapshot!(text(&kubelet::cases()));
}

#[test]
fn diagnoses_of_the_identity() {
    insta::assert_snapshot!(text(&identity::cases()));
}

#[test]
fn diagnoses_of_the_cluster() {
    insta::assert_snapshot!(text(&cluster::cases()));
}

#[test]
fn diagnoses_of_kubeadm_and_nodeadm() {
    insta::assert_snapshot!(text(&tools::cases()));
}

#[test]
fn names_of_cases_are_unique() {
    let cases = all();
    let names: std::collections::BTreeSet<_> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len());
}
