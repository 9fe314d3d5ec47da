//! Requests for a metadata path that the instance does not have.

use super::facts::{Evidence, Facts};
use super::types::Finding;
use crate::observation::{AwsCall, Millis};
use crate::plan::Plan;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::metadata_path;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// Requests in a row that count as waiting for the path.
const WAITING: usize = 3;

/// The last requests to the metadata service were all for one path, and got 404.
pub(super) fn missing(facts: &Facts<'_>) -> Option<Finding> {
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
    let finding = facts.final_(
        Cause::MetadataPathMissing,
        because,
        &evidence,
        remedy(facts.plan, path),
    )?;
    // The failure lasts since the first of these requests, not only since the last.
    let (first, _) = calls[calls.len() - count];
    Some(Finding { at: first, ..finding })
}

/// Requests for tokens are between the others.
fn is_metadata(call: &AwsCall) -> bool {
    call.service == Service::Imds && call.operation != metadata_path::TOKEN
}

pub(super) fn remedy(plan: &Plan, path: &str) -> String {
    if path.starts_with("meta-data/tags") {
        let name = path.strip_prefix("meta-data/tags/instance/").unwrap_or("NAME");
        let tags = format!("instance: {{ metadata: {{ instance_tags: true }}, tags: {{ {name}: VALUE }} }}");
        let set = plan.key_hint(&tags);
        return format!(
            "the launch template has to allow tags in the metadata, and the instance needs the tag: {set}"
        );
    }
    if path.starts_with("meta-data/iam") {
        let set = plan.key_hint("instance: { role: NAME }");
        return format!("give the instance a role: {set}");
    }
    match nearest(path, metadata_path::patterns()) {
        Some(right) if !metadata_path::exists(path) => format!("request `{right}`, which instances have"),
        _ => "stop after a 404: only some instances have this path".to_owned(),
    }
}
