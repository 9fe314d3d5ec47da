//! The instance as a member of its Auto Scaling group: health, and the lifecycle hooks that it still waits for.

use std::collections::BTreeSet;

use nodejoin_core::plan::aws::AutoscalingPlan;

/// State of the instance in its group.
#[derive(Debug)]
pub(crate) struct GroupMember {
    /// Launch hooks without a CompleteLifecycleAction.
    waiting: BTreeSet<String>,
    is_abandoned: bool,
    pub is_healthy: bool,
}

impl GroupMember {
    #[must_use]
    pub(crate) fn of(plan: Option<&AutoscalingPlan>) -> Self {
        let hooks = plan.map(|plan| plan.launch_hooks.iter().cloned().collect());
        Self {
            waiting: hooks.unwrap_or_default(),
            is_abandoned: false,
            is_healthy: true,
        }
    }

    /// `LifecycleState` in the API.
    #[must_use]
    pub(crate) fn lifecycle_state(&self) -> &'static str {
        if self.is_abandoned {
            "Terminating"
        } else if self.waiting.is_empty() {
            "InService"
        } else {
            "Pending:Wait"
        }
    }

    /// Whether the instance waits for this hook.
    #[must_use]
    pub(crate) fn waits_for(&self, hook: &str) -> bool {
        !self.is_abandoned && self.waiting.contains(hook)
    }

    /// Ends the wait for a hook. One that is abandoned ends the launch.
    pub(crate) fn complete(&mut self, hook: &str, is_abandoned: bool) {
        self.waiting.remove(hook);
        self.is_abandoned |= is_abandoned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting_for(hooks: &[&str]) -> GroupMember {
        let plan = AutoscalingPlan {
            group: "g".into(),
            launch_hooks: hooks.iter().map(|hook| (*hook).to_owned()).collect(),
            min_size: 1,
            max_size: 1,
            desired_capacity: 1,
        };
        GroupMember::of(Some(&plan))
    }

    #[test]
    fn the_instance_is_in_service_after_all_hooks() {
        let mut member = waiting_for(&["a", "b"]);
        member.complete("a", false);
        assert_eq!(member.lifecycle_state(), "Pending:Wait");
        assert!(member.waits_for("b") && !member.waits_for("a"));
        member.complete("b", false);
        assert_eq!(member.lifecycle_state(), "InService");
    }

    #[test]
    fn an_abandoned_hook_ends_the_launch() {
        let mut member = waiting_for(&["a", "b"]);
        member.complete("a", true);
        assert_eq!(
            (member.lifecycle_state(), member.waits_for("b")),
            ("Terminating", false)
        );
    }
}
