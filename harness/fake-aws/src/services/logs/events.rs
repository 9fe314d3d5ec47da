//! PutLogEvents and GetLogEvents.

use serde_json::{Value, json};

use super::errors::invalid;
use crate::http::ServiceError;
use crate::log_store::{LogEvent, LogStream};
use crate::wire;

const HOUR: i64 = 60 * 60 * 1_000;
/// Older events are rejected.
const MAX_AGE: i64 = 14 * 24 * HOUR;
/// Events that are further in the future are rejected.
const MAX_AHEAD: i64 = 2 * HOUR;
/// Default and limit of the events in a response.
const MAX_EVENTS: usize = 10_000;

/// Adds events to a stream, except those that are too old or too new.
///
/// # Errors
/// There are no events, or they are not in order.
pub(super) fn put(stream: &mut LogStream, body: &Value, now: i64) -> Result<Value, ServiceError> {
    let events = body["logEvents"].as_array().into_iter().flatten();
    let events: Option<Vec<LogEvent>> = events
        .map(|event| {
            Some(LogEvent {
                timestamp: event["timestamp"].as_i64()?,
                ingested: now,
                message: event["message"].as_str()?.to_owned(),
            })
        })
        .collect();
    let events = events.filter(|events| !events.is_empty());
    let events = events.ok_or_else(|| invalid(wire::null_member("logEvents")))?;
    if !events.is_sorted_by_key(|event| event.timestamp) {
        return Err(invalid(
            "Log events in a single PutLogEvents request must be in chronological order.".to_owned(),
        ));
    }
    let too_old = events.partition_point(|event| event.timestamp < now.saturating_sub(MAX_AGE));
    let too_new = events.partition_point(|event| event.timestamp <= now.saturating_add(MAX_AHEAD));
    let count = events.len();
    stream.add(events.into_iter().take(too_new).skip(too_old));
    let mut result = json!({ "nextSequenceToken": sequence_token(stream) });
    if too_old > 0 {
        result["rejectedLogEventsInfo"]["tooOldLogEventEndIndex"] = json!(too_old);
    }
    if too_new < count {
        result["rejectedLogEventsInfo"]["tooNewLogEventStartIndex"] = json!(too_new);
    }
    Ok(result)
}

/// The token that older clients send with the next events. The service ignores it.
pub(super) fn sequence_token(stream: &LogStream) -> String {
    format!("{:056}", stream.received + 1)
}

/// The events of a stream: the newest ones, or those from a token on.
///
/// # Errors
/// The token is invalid.
pub(super) fn get(stream: &LogStream, body: &Value) -> Result<Value, ServiceError> {
    let (from, to) = (body["startTime"].as_i64(), body["endTime"].as_i64());
    let is_in_time = |event: &&LogEvent| {
        from.is_none_or(|from| event.timestamp >= from) && to.is_none_or(|to| event.timestamp < to)
    };
    let found: Vec<&LogEvent> = stream.events.iter().filter(is_in_time).collect();
    let limit = body["limit"]
        .as_u64()
        .and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(MAX_EVENTS).clamp(1, MAX_EVENTS);
    let (start, end) = match body["nextToken"].as_str() {
        None if body["startFromHead"].as_bool().unwrap_or(false) => (0, limit.min(found.len())),
        None => (found.len().saturating_sub(limit), found.len()),
        Some(token) => page(token, limit, found.len())?,
    };
    let events = found.get(start..end).unwrap_or_default().iter().map(|event| {
        json!({ "ingestionTime": event.ingested, "message": event.message, "timestamp": event.timestamp })
    });
    Ok(json!({
        "events": events.collect::<Vec<_>>(),
        "nextBackwardToken": format!("b/{start}"),
        "nextForwardToken": format!("f/{end}"),
    }))
}

/// The events that a token selects. The token of the last page selects none, and is returned again.
fn page(token: &str, limit: usize, count: usize) -> Result<(usize, usize), ServiceError> {
    let invalid = || invalid("The specified nextToken is invalid.".to_owned());
    let (direction, position) = token.split_once('/').ok_or_else(invalid)?;
    let position = position.parse::<usize>().map_err(|_| invalid())?.min(count);
    match direction {
        "f" => Ok((position, position.saturating_add(limit).min(count))),
        "b" => Ok((position.saturating_sub(limit), position)),
        _ => Err(invalid()),
    }
}
