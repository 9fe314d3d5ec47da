//! CloudWatch Logs, as `https://logs.REGION.amazonaws.com`: JSON 1.1.
//!
//! | `X-Amz-Target` | auth | response |
//! | --- | --- | --- |
//! | `Logs_20140328.CreateLogGroup` | SigV4, the action | nothing; the group exists |
//! | `Logs_20140328.CreateLogStream` | SigV4, the action | nothing; the stream exists |
//! | `Logs_20140328.PutLogEvents` | SigV4, the action | a sequence token; the stream keeps the events |
//! | `Logs_20140328.GetLogEvents` | SigV4, the action | the events of a stream |
//! | `Logs_20140328.DescribeLogGroups` | SigV4, the action | groups, by prefix, in pages |
//! | `Logs_20140328.DescribeLogStreams` | SigV4, the action | streams, by prefix, in pages |
//! | `Logs_20140328.PutRetentionPolicy` | SigV4, the action | nothing; groups have the number of days |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: errors, the order and the age of events, pages. Faked: events are visible at once, and none expires.

mod errors;
mod events;

use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, LogsOperation as Operation};
use serde_json::{Value, json};

use self::errors::{exists, invalid, limit_exceeded, missing};
use super::{ServiceRequest, authorize};
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::log_store::{LogGroup, LogStream, MAX_MEMBERS};
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::{self, WireFormat};

/// Default and limit of the entries of a page.
const MAX_PAGE: usize = 50;

/// The retention periods that CloudWatch Logs has, in days.
const RETENTIONS: [u64; 22] = [
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

/// The members that an operation reads.
const fn accepted(operation: Operation) -> &'static [&'static str] {
    match operation {
        // Neither tags nor encryption nor the class change a response.
        Operation::CreateLogGroup => &["kmsKeyId", "logGroupClass", "logGroupName", "tags"],
        Operation::CreateLogStream => &["logGroupName", "logStreamName"],
        Operation::DescribeLogGroups => &["limit", "logGroupNamePrefix", "nextToken"],
        Operation::DescribeLogStreams => &[
            "descending",
            "limit",
            "logGroupName",
            "logStreamNamePrefix",
            "nextToken",
            "orderBy",
        ],
        Operation::GetLogEvents => &[
            "endTime",
            "limit",
            "logGroupName",
            "logStreamName",
            "nextToken",
            "startFromHead",
            "startTime",
        ],
        Operation::PutLogEvents => &[
            "entity",
            "logEvents",
            "logGroupName",
            "logStreamName",
            "sequenceToken",
        ],
        Operation::PutRetentionPolicy => &["logGroupName", "retentionInDays"],
    }
}

/// The group, the stream, and the number of events.
fn subject(body: &Value) -> Option<String> {
    let group = body["logGroupName"].as_str()?;
    let stream = body["logStreamName"].as_str().map(|stream| format!("/{stream}"));
    let events = body["logEvents"]
        .as_array()
        .map(|events| format!(" ({})", events.len()));
    Some(format!(
        "{group}{}{}",
        stream.unwrap_or_default(),
        events.unwrap_or_default()
    ))
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::of_target(Service::Logs, request, |_: Operation| subject(&request.json()))
}

/// Responds to a request.
///
/// # Errors
/// The error that CloudWatch Logs returns.
pub(crate) fn respond(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let name = call.request.target_name();
    let word = Service::Logs.word();
    let operation = Operation::named(name).ok_or_else(|| not_emulated::error(word, name))?;
    let signer = authorize::signature(instance, call, WireFormat::Json11)?;
    let body = call.request.json();
    if let Some(action) = operation.action() {
        signer.permit(Service::Logs, action, &resource(instance, call, &body))?;
    }
    not_emulated::check_members(word, operation.name(), &body, accepted(operation))?;
    let call = LogsCall {
        region: &call.endpoint.region,
        now: milliseconds(call),
        body: &body,
    };
    let result = match operation {
        Operation::CreateLogGroup => call.create_group(instance)?,
        Operation::CreateLogStream => call.create_stream(instance)?,
        Operation::DescribeLogGroups => call.describe_groups(instance)?,
        Operation::DescribeLogStreams => call.describe_streams(instance)?,
        Operation::GetLogEvents => events::get(call.stream(instance)?, &body)?,
        Operation::PutLogEvents => events::put(call.stream(instance)?, &body, call.now)?,
        Operation::PutRetentionPolicy => call.put_retention(instance)?,
    };
    Ok(match result {
        Value::Null => Response::new(200, "application/x-amz-json-1.1", bytes::Bytes::new()),
        result => wire::json11(&result),
    })
}

fn milliseconds(call: ServiceRequest<'_>) -> i64 {
    let milliseconds = call.time.now.unix_timestamp_nanos() / 1_000_000;
    i64::try_from(milliseconds).unwrap_or(i64::MAX)
}

/// The resource that policies check.
fn resource(instance: &Instance, call: ServiceRequest<'_>, body: &Value) -> String {
    let group = body["logGroupName"].as_str().unwrap_or_default();
    let stream = body["logStreamName"].as_str().unwrap_or_default();
    format!(
        "{}:log-stream:{stream}",
        group_arn(instance, &call.endpoint.region, group)
    )
}

fn group_arn(instance: &Instance, region: &str, name: &str) -> String {
    let world = &instance.world;
    let (partition, account) = (world.region.partition(), &world.account);
    format!("arn:{partition}:logs:{region}:{account}:log-group:{name}")
}

/// A request that the caller may make.
#[derive(Clone, Copy)]
struct LogsCall<'a> {
    region: &'a str,
    /// Milliseconds since 1970.
    now: i64,
    body: &'a Value,
}

impl LogsCall<'_> {
    fn required(&self, name: &str) -> Result<&str, ServiceError> {
        let value = self.body[name].as_str().filter(|value| !value.is_empty());
        value.ok_or_else(|| invalid(wire::null_member(name)))
    }

    fn group<'i>(&self, instance: &'i mut Instance) -> Result<&'i mut LogGroup, ServiceError> {
        let name = self.required("logGroupName")?;
        let group = instance.logs.group_mut(self.region, name);
        group.ok_or_else(|| missing("The specified log group does not exist."))
    }

    fn stream<'i>(&self, instance: &'i mut Instance) -> Result<&'i mut LogStream, ServiceError> {
        let name = self.required("logStreamName")?;
        let stream = self.group(instance)?.streams.get_mut(name);
        stream.ok_or_else(|| missing("The specified log stream does not exist."))
    }

    fn create_group(&self, instance: &mut Instance) -> Result<Value, ServiceError> {
        let name = self.required("logGroupName")?;
        if instance.logs.group(self.region, name).is_some() {
            return Err(exists("The specified log group already exists"));
        }
        match instance.logs.add(self.region, name, self.now) {
            true => Ok(Value::Null),
            false => Err(limit_exceeded()),
        }
    }

    fn create_stream(&self, instance: &mut Instance) -> Result<Value, ServiceError> {
        let name = self.required("logStreamName")?;
        let streams = &mut self.group(instance)?.streams;
        if streams.contains_key(name) {
            return Err(exists("The specified log stream already exists"));
        }
        if streams.len() >= MAX_MEMBERS {
            return Err(limit_exceeded());
        }
        let stream = LogStream {
            created: self.now,
            ..LogStream::default()
        };
        streams.insert(name.to_owned(), stream);
        Ok(Value::Null)
    }

    fn put_retention(&self, instance: &mut Instance) -> Result<Value, ServiceError> {
        let days = self.body["retentionInDays"].as_u64();
        if days.is_none_or(|days| !RETENTIONS.contains(&days)) {
            return Err(invalid("The specified retention period is invalid.".to_owned()));
        }
        self.group(instance)?.retention_days = days;
        Ok(Value::Null)
    }

    fn describe_groups(&self, instance: &Instance) -> Result<Value, ServiceError> {
        let prefix = self.body["logGroupNamePrefix"].as_str().unwrap_or_default();
        let groups = instance.logs.groups(self.region);
        let found = groups.filter(|(name, _)| name.starts_with(prefix));
        let found = found.map(|(name, group)| {
            let arn = group_arn(instance, self.region, name);
            let mut written = json!({
                "arn": format!("{arn}:*"),
                "creationTime": group.created,
                "logGroupArn": arn,
                "logGroupClass": "STANDARD",
                "logGroupName": name,
                "metricFilterCount": 0,
                "storedBytes": 0,
            });
            if let Some(days) = group.retention_days {
                written["retentionInDays"] = json!(days);
            }
            written
        });
        self.page("logGroups", found.collect())
    }

    fn describe_streams(&self, instance: &mut Instance) -> Result<Value, ServiceError> {
        let name = self.required("logGroupName")?;
        let arn = group_arn(instance, self.region, name);
        let prefix = self.body["logStreamNamePrefix"].as_str().unwrap_or_default();
        let streams = self.group(instance)?.streams.iter();
        let mut found: Vec<(&String, &LogStream)> =
            streams.filter(|(name, _)| name.starts_with(prefix)).collect();
        if self.body["orderBy"] == "LastEventTime" {
            if !prefix.is_empty() {
                return Err(invalid(
                    "Cannot order by LastEventTime with a logStreamNamePrefix.".to_owned(),
                ));
            }
            found.sort_by_key(|(_, stream)| stream.events.back().map(|event| event.timestamp));
        }
        if self.body["descending"].as_bool().unwrap_or(false) {
            found.reverse();
        }
        let written = found.into_iter().map(|(name, stream)| {
            let mut written = json!({
                "arn": format!("{arn}:log-stream:{name}"),
                "creationTime": stream.created,
                "logStreamName": name,
                "storedBytes": 0,
                "uploadSequenceToken": events::sequence_token(stream),
            });
            if let (Some(first), Some(last)) = (stream.events.front(), stream.events.back()) {
                written["firstEventTimestamp"] = json!(first.timestamp);
                written["lastEventTimestamp"] = json!(last.timestamp);
                written["lastIngestionTime"] = json!(last.ingested);
            }
            written
        });
        self.page("logStreams", written.collect())
    }

    fn page(&self, member: &str, all: Vec<Value>) -> Result<Value, ServiceError> {
        let limit = self.body["limit"]
            .as_u64()
            .and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
        let start = match self.body["nextToken"].as_str() {
            None => 0,
            Some(token) => token
                .parse::<usize>()
                .map_err(|_| invalid("The specified nextToken is invalid.".to_owned()))?,
        };
        let next = start.saturating_add(limit);
        let mut page = json!({});
        if next < all.len() {
            page["nextToken"] = json!(next.to_string());
        }
        page[member] = all.into_iter().skip(start).take(limit).collect();
        Ok(page)
    }
}
