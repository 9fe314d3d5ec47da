//! Expectations that no later event can meet.

use super::checks::Join;
use super::join::{calls_of, decisions};
use super::node::node;
use super::ownership::requests_of;
use crate::plan::expect::CountExpect;

/// Whether an expectation cannot hold any more: too many calls, requests or tokens, or a Node that was created without
/// a label or a taint.
pub(super) fn is_lost(join: Join<'_>) -> bool {
    has_too_many_calls(join)
        || has_too_many_requests(join)
        || has_wrong_tokens(join)
        || was_created_wrong(join)
}

fn exceeds(required: &CountExpect, seen: usize) -> bool {
    let max = match required {
        CountExpect::Count(count) => Some(*count),
        CountExpect::Range(range) => range.max,
    };
    max.is_some_and(|max| seen > max as usize)
}

fn has_too_many_calls(Join { plan, observation }: Join<'_>) -> bool {
    let mut counts = plan.expect.aws.iter();
    counts.any(|(name, required)| exceeds(required, calls_of(name, required, observation).len()))
}

fn has_too_many_requests(Join { plan, observation }: Join<'_>) -> bool {
    let mut requests = plan.expect.audit.iter();
    requests.any(|required| {
        let count = required.times.as_ref();
        count.is_some_and(|count| exceeds(count, requests_of(required, observation)))
    })
}

fn has_wrong_tokens(Join { plan, observation }: Join<'_>) -> bool {
    let Some(required) = &plan.expect.authentication else {
        return false;
    };
    let accepted = decisions(observation)
        .filter(|decision| decision.is_accepted())
        .count();
    let refused = decisions(observation).count() - accepted;
    let is_exceeded = required
        .refused
        .as_ref()
        .is_some_and(|count| exceeds(count, refused));
    is_exceeded || (required.accepted == Some(false) && accepted > 0)
}

fn was_created_wrong(Join { plan, observation }: Join<'_>) -> bool {
    let Some(required) = plan
        .expect
        .node
        .as_ref()
        .filter(|_| observation.node_at_creation.is_some())
    else {
        return false;
    };
    let mut checks = node(required, observation).into_iter();
    checks.any(|check| !check.held && check.key.contains("_at_creation"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::tests::{complete, plan};

    fn lost(expect: &str) -> bool {
        let (plan, observation) = (plan(expect), complete());
        is_lost(Join {
            plan: &plan,
            observation: &observation,
        })
    }

    #[test]
    fn what_happened_too_often_is_lost() {
        for expect in [
            "aws: { eks.DescribeCluster: 0 }",
            "aws: { 'eks.*': { max: 0 } }",
            "audit: [{ verb: create, resource: nodes, times: 0 }]",
            "authentication: { accepted: false }",
            "node: { labels_at_creation: { team: thor } }",
            "node: { taints_at_creation: ['a=b:NoSchedule'] }",
        ] {
            assert!(lost(expect), "{expect}");
        }
    }

    #[test]
    fn what_can_still_happen_is_not_lost() {
        for expect in [
            "aws: { eks.DescribeCluster: 9, 'sts.*': { min: 1 } }",
            "audit: [{ verb: delete, resource: nodes }]",
            "authentication: { refused: { min: 1 } }",
            "node: { labels: { team: thor } }",
        ] {
            assert!(!lost(expect), "{expect}");
        }
    }
}
