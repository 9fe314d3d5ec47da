//! Requests for a metadata path that the instance does not have.

use super::facts::{Evidence, Facts};
use super::types::{Finding, RuleEntry, rule};
use crate::observation::{AwsCall, Millis};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::metadata_path;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// Rules with their order and the causes that they find.
pub(super) const RULES: &[RuleEntry] = &[rule(325, missing, &[Cause::MetadataPathMissing])];

/// Requests in a row that count as waiting for the path.
const WAITING: usize = 3;

/// The last requests to the metadata service were all for one path, and got 404.
fn missing(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let calls: Vec<(Millis, &AwsCall)> = facts.calls().filter(|(_, call)| is_metadata(call)).collect();
    let (at, last) = *calls.last()?;
    let is_same = |call: &AwsCall| call.operation == last.operation && call.status == 404;
    let count = calls.iter().rev().take_while(|(_, call)| is_same(call)).count();
    if count < WAITING {
        return None;
    }
    let path = &last.operation;
    let because = format!(
        "the script requested the metadata path `{path}` {count} times, and the instance does not have it"
    );
    let evidence = Evidence::call(at, last);
    let finding = facts.final_(Cause::MetadataPathMissing, because, &evidence, remedy(path))?;
    // The failure lasts since the first of these requests, not only since the last.
    let (first, _) = calls[calls.len() - count];
    Some(Finding { at: first, ..finding })
}

/// Requests for tokens are between the others.
fn is_metadata(call: &AwsCall) -> bool {
    call.service == Service::Imds && call.operation != metadata_path::TOKEN
}

fn remedy(path: &str) -> String {
    if path.starts_with("meta-data/tags") {
        return "set `instance.metadata.instance_tags: true`, as the launch template has to do, and give the instance the tag"
            .to_owned();
    }
    if path.starts_with("meta-data/iam") {
        return "give the instance a role: `instance.role` in a scenario".to_owned();
    }
    match nearest(path, metadata_path::patterns()) {
        Some(right) if !metadata_path::exists(path) => format!("request `{right}`, which instances have"),
        _ => "stop after a 404: only some instances have this path".to_owned(),
    }
}
