//! A scenario that is explored, and its plans in other worlds.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use nodejoin_core::compare::{ScriptInputs, WorldChange};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::{Expect, UserDataExpect};
use nodejoin_core::plan::step::StepPlan;
use nodejoin_core::scenario::with_own_instance;

/// A scenario whose user data is explored.
#[derive(Debug, Clone)]
pub struct Subject {
    pub plan: Plan,
    /// What the files of the node accept and tell apart, for other worlds.
    pub inputs: ScriptInputs,
}

/// The plan with some changes, and an id that names them.
pub(super) fn changed(subject: &Subject, changes: &[WorldChange], row: &[usize]) -> Plan {
    let mut plan = subject.plan.clone();
    row.iter().for_each(|index| changes[*index].apply(&mut plan));
    let names: Vec<&str> = row.iter().map(|index| changes[*index].name.as_str()).collect();
    if let Ok(id) = format!("{}@{}", subject.plan.id, names.join("_")).parse() {
        plan.id = id;
    }
    plan
}

/// The plan with the instance of its own id.
pub(super) fn on_own_instance(mut plan: Plan, taken: &mut BTreeSet<Ipv4Addr>) -> Plan {
    // Each step names the instance, too.
    let then = std::mem::take(&mut plan.then);
    let mut plan = with_own_instance(&plan, &plan.id, taken);
    let steps = then.into_iter().map(|step| StepPlan {
        instance: plan.instance.clone(),
        ..step
    });
    plan.then = steps.collect();
    plan
}

/// A plan that is complete when its node has registered: other worlds may contradict what the scenario expects. Steps
/// follow the end of user data.
pub(super) fn joining(plan: &Plan) -> Plan {
    let has_steps = !plan.then.is_empty();
    Plan {
        expect: Expect {
            phase: Some(Phase::Registered),
            user_data: has_steps.then(UserDataExpect::default),
            ..Expect::default()
        },
        golden: None,
        pod: None,
        others: Vec::new(),
        ..plan.clone()
    }
}
