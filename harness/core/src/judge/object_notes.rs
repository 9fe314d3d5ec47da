//! Notes on objects, parameters and secrets that the user data requests and the account of the scenario does not have.

use std::collections::BTreeSet;

use crate::diagnosis::{how_to_serve_object, how_to_store_object, how_to_store_value, is_in_another_region};
use crate::judge::verdict::{Note, NoteKind};
use crate::observation::phases::user_data_done;
use crate::observation::{AwsCall, Millis, Observation, ObservedEvent};
use crate::plan::Plan;
use crate::vocabulary::service::Service;

/// One note for each object, parameter or secret, or for each bucket that is listed. One that appears later was waited
/// for.
pub(super) fn missing_values(plan: &Plan, observation: &Observation) -> Vec<Note> {
    let done = user_data_done(observation).unwrap_or(Millis::MAX);
    let calls: Vec<&AwsCall> = observation
        .timeline
        .iter()
        .filter_map(|entry| match &entry.what {
            ObservedEvent::Aws(call) if entry.at <= done && is_of_store(call) => Some(call),
            _ => None,
        })
        .collect();
    let is_found = |call: &AwsCall| {
        let mut same = calls.iter().filter(|other| other.subject == call.subject);
        same.any(|other| (200..400).contains(&other.status))
    };
    let mut seen = BTreeSet::new();
    let missing = calls
        .iter()
        .filter(|call| is_missing(plan, call) && !is_found(call));
    missing
        .filter(|call| seen.insert(&call.subject))
        .filter_map(|call| note(plan, call))
        .collect()
}

fn is_of_store(call: &AwsCall) -> bool {
    let stores = [Service::S3, Service::Ssm, Service::Secretsmanager];
    stores.iter().any(|store| call.service == *store)
}

/// Whether the account lacks what a request is for. A fault of the scenario says nothing about it.
fn is_missing(plan: &Plan, call: &AwsCall) -> bool {
    const CODES: [&str; 2] = ["ParameterNotFound", "ResourceNotFoundException"];
    let is_of_scenario = call.fault.is_some() || call.answer.is_some() || call.upstream;
    let is_found = match call.service == Service::S3 {
        true => call.status != 404 && !is_refused_unsigned(plan, call),
        false => call.error.as_deref().is_none_or(|code| !CODES.contains(&code)),
    };
    !is_of_scenario && !is_found
}

/// Whether a request without credentials is for a bucket that the scenario does not have: on AWS it may be public.
fn is_refused_unsigned(plan: &Plan, call: &AwsCall) -> bool {
    let bucket = call
        .subject
        .as_deref()
        .and_then(|subject| subject.split('/').next());
    let is_known = bucket.is_some_and(|bucket| plan.aws.buckets.contains_key(bucket));
    call.status == 403 && call.authorization.is_none() && !is_known
}

fn note(plan: &Plan, call: &AwsCall) -> Option<Note> {
    let name = call.subject.as_deref()?;
    let of_value = [
        (Service::Ssm, "the parameter"),
        (Service::Secretsmanager, "the secret"),
    ];
    if let Some((service, what)) = of_value.into_iter().find(|(service, _)| call.service == *service) {
        if is_in_another_region(plan, call) {
            let what = format!(
                "the user data requests {what} {name} at {}, and it is in {}: the node joined without it",
                call.host, plan.region
            );
            return Some(Note::new(NoteKind::ObjectNotFound, what));
        }
        let how = how_to_store_value(plan, service, name)?;
        let what = format!(
            "the user data requests {what} {name}, which the account of the scenario does not have, and the node joined without it (a \
             limit of nodejoin if it exists: {how})"
        );
        return Some(Note::new(NoteKind::ObjectNotFound, what));
    }
    let (why, how) = match call.status {
        404 => (
            "which the account of the scenario does not have",
            how_to_store_object(plan, name),
        ),
        _ => (
            "without credentials, as of a public bucket",
            how_to_serve_object(plan, call),
        ),
    };
    let what = format!(
        "the user data requests s3://{name}, {why}, and the node joined without it (a limit of nodejoin if it exists: {how})"
    );
    Some(Note::new(NoteKind::ObjectNotFound, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::tests::plan;
    use crate::observation::phases::tests::{aws, observed};

    fn call(operation: &str, subject: &str, status: u16, key_id: Option<&str>) -> AwsCall {
        AwsCall {
            subject: Some(subject.to_owned()),
            authorization: key_id.map(str::to_owned),
            host: "demo.s3.eu-west-1.amazonaws.com".to_owned(),
            path: "/agent.tgz".to_owned(),
            ..aws(Service::S3, operation, status)
        }
    }

    fn notes(calls: Vec<AwsCall>) -> Vec<String> {
        let seen = observed(calls.into_iter().map(ObservedEvent::Aws));
        let notes = missing_values(&plan("phase: ready"), &seen);
        notes.into_iter().map(|note| note.what).collect()
    }

    #[test]
    fn each_missing_object_is_noted_with_how_to_store_it() {
        let key = Some("ASIAEXAMPLE");
        let found = notes(vec![
            call("HeadObject", "demo/agent.tgz", 404, key),
            call("GetObject", "demo/agent.tgz", 404, key),
            call("ListObjectsV2", "other", 404, key),
            call("GetObject", "public/x.sh", 403, None),
        ]);
        assert_eq!(
            found,
            [
                "the user data requests s3://demo/agent.tgz, which the account of the scenario does not have, and the node joined \
                 without it (a limit of nodejoin if it exists: set `aws: { buckets: { demo: { objects: { agent.tgz: TEXT } } } }` \
                 in the scenario, or `folder: FOLDER` in place of `objects` for files)",
                "the user data requests s3://other, which the account of the scenario does not have, and the node joined without it \
                 (a limit of nodejoin if it exists: set `aws: { buckets: { other: { folder: FOLDER } } }` in the scenario)",
                "the user data requests s3://public/x.sh, without credentials, as of a public bucket, and the node joined without it \
                 (a limit of nodejoin if it exists: set `aws: { answers: [{ host: demo.s3.eu-west-1.amazonaws.com, path: /agent.tgz, \
                 file: FILE }] }` in the scenario)",
            ]
        );
    }

    #[test]
    fn a_missing_secret_and_a_missing_parameter_are_noted() {
        let of_store = |service, operation: &str, name: &str, code: &str| AwsCall {
            subject: Some(name.to_owned()),
            error: Some(code.to_owned()),
            ..aws(service, operation, 400)
        };
        let found = notes(vec![
            of_store(Service::Ssm, "GetParameter", "/demo/key", "ParameterNotFound"),
            of_store(
                Service::Secretsmanager,
                "GetSecretValue",
                "key",
                "ResourceNotFoundException",
            ),
            of_store(
                Service::Secretsmanager,
                "GetSecretValue",
                "other",
                "AccessDeniedException",
            ),
        ]);
        assert_eq!(
            found,
            [
                "the user data requests the parameter /demo/key, which the account of the scenario does not have, and the node joined \
                 without it (a limit of nodejoin if it exists: set `aws: { parameters: { /demo/key: VALUE } }` in the scenario)",
                "the user data requests the secret key, which the account of the scenario does not have, and the node joined without \
                 it (a limit of nodejoin if it exists: set `aws: { secrets: { key: VALUE } }` in the scenario)",
            ]
        );
    }

    #[test]
    fn objects_that_exist_later_and_denied_ones_are_not_noted() {
        let key = Some("ASIAEXAMPLE");
        let fault = AwsCall {
            fault: Some(0),
            ..call("GetObject", "demo/b", 404, key)
        };
        let found = notes(vec![
            call("HeadObject", "demo/a", 404, key),
            call("HeadObject", "demo/a", 200, key),
            call("GetObject", "demo/c", 403, key),
            fault,
        ]);
        assert_eq!(found, [""; 0]);
    }
}
