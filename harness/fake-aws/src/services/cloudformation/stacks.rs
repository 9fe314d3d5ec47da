//! Stacks and the signals that they wait for.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_core::plan::aws::StackPlan;
use sha2::{Digest, Sha256};

use crate::exchange::ServiceError;
use crate::world::World;

/// The stacks of an account.
#[derive(Debug, Default)]
pub struct Stacks(Vec<Stack>);

/// A stack and what it has heard.
#[derive(Debug)]
pub struct Stack {
    /// Its name.
    pub name: String,
    /// Its status by now.
    pub status: String,
    waits_for: BTreeMap<String, u32>,
    /// Who signalled success, by the resource.
    heard: BTreeMap<String, BTreeSet<String>>,
}

/// A signal.
#[derive(Debug, Clone, Copy)]
pub struct Signal<'a> {
    /// Name or id of the stack.
    pub stack: &'a str,
    /// Logical id of the resource.
    pub resource: &'a str,
    /// Who signals; the same twice counts once.
    pub unique_id: &'a str,
    /// Whether it tells of success.
    pub success: bool,
}

impl Stacks {
    /// Before any signal.
    #[must_use]
    pub fn of(plans: &[StackPlan]) -> Self {
        let stacks = plans.iter().map(|plan| Stack {
            name: plan.name.clone(),
            status: plan.status.clone(),
            waits_for: plan.waits_for.clone(),
            heard: BTreeMap::new(),
        });
        Self(stacks.collect())
    }

    /// Whether the account says anything of stacks. Where it does not, every stack takes signals.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Stack> {
        self.0.iter()
    }

    /// A stack by its name or its id.
    #[must_use]
    pub fn find(&self, world: &World, name: &str) -> Option<&Stack> {
        self.0.iter().find(|stack| stack.is(world, name))
    }

    /// Takes a signal.
    ///
    /// # Errors
    /// Where nothing waits for it.
    pub fn signal(&mut self, world: &World, signal: Signal<'_>) -> Result<(), ServiceError> {
        let name = signal.stack;
        let stack = self.0.iter_mut().find(|stack| stack.is(world, name));
        let stack = stack.ok_or_else(|| invalid(format!("Stack [{name}] does not exist")))?;
        if !stack.status.ends_with("_IN_PROGRESS") {
            let (id, status) = (stack.id(world), &stack.status);
            return Err(invalid(format!(
                "Stack {id} is in {status} state and cannot be signaled"
            )));
        }
        stack.hear(signal)
    }
}

impl Stack {
    /// Its id: an ARN.
    #[must_use]
    pub fn id(&self, world: &World) -> String {
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

    fn hear(&mut self, signal: Signal<'_>) -> Result<(), ServiceError> {
        if !self.waits_for.contains_key(signal.resource) {
            let message = format!(
                "Resource {} does not exist for stack {}",
                signal.resource, self.name
            );
            return Err(invalid(message));
        }
        let operation = self.status.split('_').next().unwrap_or_default().to_owned();
        if !signal.success {
            self.status = format!("{operation}_FAILED");
            return Ok(());
        }
        let heard = self.heard.entry(signal.resource.to_owned()).or_default();
        heard.insert(signal.unique_id.to_owned());
        if self.has_heard_everything() {
            self.status = format!("{operation}_COMPLETE");
        }
        Ok(())
    }

    fn has_heard_everything(&self) -> bool {
        self.waits_for.iter().all(|(resource, wanted)| {
            let heard = self.heard.get(resource).map_or(0, BTreeSet::len);
            heard >= *wanted as usize
        })
    }
}

/// A request that cannot be, in CloudFormation's words.
pub(super) fn invalid(message: String) -> ServiceError {
    ServiceError::new(400, "ValidationError", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_stack_is_complete_once_everybody_has_signalled() {
        let (world, _events) = testing::world();
        let plan = StackPlan {
            name: "s".into(),
            status: "CREATE_IN_PROGRESS".into(),
            waits_for: [("NodeGroup".to_owned(), 2)].into(),
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
            "the same twice counts once"
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
