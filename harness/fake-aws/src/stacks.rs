//! CloudFormation stacks and the signals that they wait for.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_core::plan::aws::{StackPlan, StackResourcePlan};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::http::ServiceError;
use crate::world::World;

/// The stacks of an account.
#[derive(Debug, Default)]
pub(crate) struct Stacks(Vec<Stack>);

/// A stack and the signals that it received.
#[derive(Debug)]
pub(crate) struct Stack {
    pub name: String,
    /// Current status.
    pub status: String,
    waits_for: BTreeMap<String, u32>,
    resources: BTreeMap<String, StackResourcePlan>,
    /// Senders of success signals, by resource.
    received: BTreeMap<String, BTreeSet<String>>,
}

/// A resource of a stack.
#[derive(Debug)]
pub(crate) struct StackResource<'a> {
    pub resource_type: &'a str,
    pub physical_id: String,
    pub status: &'static str,
    pub metadata: Option<&'a Value>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal<'a> {
    /// Name or id of the stack.
    pub stack: &'a str,
    /// Logical id of the resource.
    pub resource: &'a str,
    /// The sender; a second signal of the same sender does not count.
    pub unique_id: &'a str,
    pub success: bool,
}

impl Stacks {
    #[must_use]
    pub(crate) fn of(plans: &[StackPlan]) -> Self {
        let stacks = plans.iter().map(|plan| Stack {
            name: plan.name.clone(),
            status: plan.status.clone(),
            waits_for: plan.waits_for.clone(),
            resources: plan.resources.clone(),
            received: BTreeMap::new(),
        });
        Self(stacks.collect())
    }

    /// Whether the scenario has no stacks. Then every stack accepts signals.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stack> {
        self.0.iter()
    }

    /// Finds a stack by its name or its id.
    #[must_use]
    pub(crate) fn find(&self, world: &World, name: &str) -> Option<&Stack> {
        self.0.iter().find(|stack| stack.is(world, name))
    }

    /// Receives a signal.
    ///
    /// # Errors
    /// The stack or the resource does not wait for it.
    pub(crate) fn signal(&mut self, world: &World, signal: Signal<'_>) -> Result<(), ServiceError> {
        let name = signal.stack;
        let stack = self.0.iter_mut().find(|stack| stack.is(world, name));
        let stack = stack.ok_or_else(|| validation_error(format!("Stack [{name}] does not exist")))?;
        if !stack.status.ends_with("_IN_PROGRESS") {
            let (id, status) = (stack.id(world), &stack.status);
            return Err(validation_error(format!(
                "Stack {id} is in {status} state and cannot be signaled"
            )));
        }
        stack.receive(signal)
    }
}

impl Stack {
    /// The id, an ARN.
    #[must_use]
    pub(crate) fn id(&self, world: &World) -> String {
        let hash = hex::encode(Sha256::digest(&self.name));
        format!(
            "arn:{}:cloudformation:{}:{}:stack/{}/{}-{}-11ed-{}-{}",
            world.region.partition(),
            world.region,
            world.account,
            self.name,
            &hash[..8],
            &hash[8..12],
            &hash[12..16],
            &hash[16..28]
        )
    }

    fn is(&self, world: &World, name: &str) -> bool {
        self.name == name || (name.starts_with("arn:") && self.id(world) == name)
    }

    /// Finds a resource by its logical id. One that waits for signals is an Auto Scaling group.
    #[must_use]
    pub(crate) fn resource(&self, logical_id: &str) -> Option<StackResource<'_>> {
        let plan = self.resources.get(logical_id);
        if plan.is_none() && !self.waits_for.contains_key(logical_id) {
            return None;
        }
        let hash = hex::encode(Sha256::digest(logical_id)).to_ascii_uppercase();
        let derived = || format!("{}-{logical_id}-{}", self.name, &hash[..12]);
        let status = match self.is_waiting(logical_id) {
            true => "CREATE_IN_PROGRESS",
            false => "CREATE_COMPLETE",
        };
        Some(StackResource {
            resource_type: plan.map_or("AWS::AutoScaling::AutoScalingGroup", |plan| &plan.resource_type),
            physical_id: plan
                .and_then(|plan| plan.physical_id.clone())
                .unwrap_or_else(derived),
            status,
            metadata: plan.and_then(|plan| plan.metadata.as_ref()),
        })
    }

    fn receive(&mut self, signal: Signal<'_>) -> Result<(), ServiceError> {
        if !self.waits_for.contains_key(signal.resource) {
            let message = format!(
                "Resource {} does not exist for stack {}",
                signal.resource, self.name
            );
            return Err(validation_error(message));
        }
        let operation = self.status.split('_').next().unwrap_or_default().to_owned();
        if !signal.success {
            self.status = format!("{operation}_FAILED");
            return Ok(());
        }
        let received = self.received.entry(signal.resource.to_owned()).or_default();
        received.insert(signal.unique_id.to_owned());
        if self.has_all_signals() {
            self.status = format!("{operation}_COMPLETE");
        }
        Ok(())
    }

    fn is_waiting(&self, resource: &str) -> bool {
        let received = self.received.get(resource).map_or(0, BTreeSet::len);
        let count = self.waits_for.get(resource).copied().unwrap_or(0);
        received < count as usize
    }

    fn has_all_signals(&self) -> bool {
        self.waits_for.keys().all(|resource| !self.is_waiting(resource))
    }
}

/// CloudFormation's error for an invalid request.
pub(crate) fn validation_error(message: String) -> ServiceError {
    ServiceError::new(400, "ValidationError", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_stack_completes_after_all_signals() {
        let (world, _events) = testing::world();
        let plan = StackPlan {
            name: "s".into(),
            status: "CREATE_IN_PROGRESS".into(),
            waits_for: [("NodeGroup".to_owned(), 2)].into(),
            resources: BTreeMap::new(),
        };
        let mut stacks = Stacks::of(&[plan]);
        let from = |unique_id, resource, success| Signal {
            stack: "s",
            resource,
            unique_id,
            success,
        };
        stacks.signal(&world, from("i-1", "NodeGroup", true)).unwrap();
        stacks.signal(&world, from("i-1", "NodeGroup", true)).unwrap();
        assert_eq!(
            stacks.0[0].status, "CREATE_IN_PROGRESS",
            "a repeated signal does not count"
        );
        let other = stacks.signal(&world, from("i-2", "Other", true)).unwrap_err();
        assert_eq!(other.message, "Resource Other does not exist for stack s");
        stacks.signal(&world, from("i-2", "NodeGroup", true)).unwrap();
        assert_eq!(stacks.0[0].status, "CREATE_COMPLETE");
        let late = stacks
            .signal(&world, from("i-3", "NodeGroup", false))
            .unwrap_err();
        assert!(
            late.message
                .ends_with("is in CREATE_COMPLETE state and cannot be signaled"),
            "{late:?}"
        );
    }

    #[test]
    fn a_failure_fails_the_stack() {
        let (world, _events) = testing::world();
        let plan = StackPlan {
            name: "s".into(),
            status: "UPDATE_IN_PROGRESS".into(),
            waits_for: [("NodeGroup".to_owned(), 1)].into(),
            resources: BTreeMap::new(),
        };
        let mut stacks = Stacks::of(&[plan]);
        let id = stacks.0[0].id(&world);
        let signal = Signal {
            stack: &id,
            resource: "NodeGroup",
            unique_id: "i-1",
            success: false,
        };
        stacks.signal(&world, signal).unwrap();
        assert_eq!(stacks.0[0].status, "UPDATE_FAILED");
    }
}
