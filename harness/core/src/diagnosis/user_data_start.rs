//! The start of user data: whether cloud-init finds and reads it, and whether the kernel can start its parts.

use super::facts::{Evidence, Facts, between};
use super::types::Finding;
use crate::observation::{JournalLine, Millis};
use crate::plan::ImagePlan;
use crate::user_data::{self, FaultKind, PartFault};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// cloud-init finished without a data source, with the status `done`.
pub(super) fn user_data_never_ran(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) || facts.plan.user_data.is_none() {
        return None;
    }
    if let Some(finding) = missing_include(facts) {
        return Some(finding);
    }
    if let Some(finding) = unknown_type(facts).or_else(|| without_parts(facts)) {
        return Some(finding);
    }
    let line = without_data_source(facts);
    let result = facts
        .observation
        .collected
        .as_ref()
        .and_then(|collected| collected.user_data.as_ref());
    let evidence = match (line, result) {
        (Some((at, line)), _) => Evidence::journal(at, line),
        (None, Some(result)) if !result.ran && is_over(result.status.as_deref()) => {
            let source = result.data_source.as_deref().unwrap_or("no data source");
            let at = facts.user_data_done.unwrap_or_default();
            Evidence::new(
                "cloud-init",
                at,
                format!(
                    "status {} with {source}",
                    result.status.as_deref().unwrap_or("none")
                ),
            )
        }
        _ => return None,
    };
    // cloud-init drops the EC2 data source when a metadata path that it reads fails.
    let failed = facts
        .calls()
        .find(|(_, call)| call.service == Service::Imds && !(200..400).contains(&call.status));
    let fault = failed.and_then(|(_, call)| call.fault);
    let by = fault
        .map(|index| format!(" by `faults[{index}]`"))
        .unwrap_or_default();
    let why = failed
        .map(|(_, call)| match call.is_refused_connection() {
            true => format!(" because the metadata service refused a connection{by}"),
            false => format!(" because `{}` returned {}{by}", call.operation, call.status),
        })
        .unwrap_or_default();
    let because =
        format!("cloud-init dropped the EC2 data source{why}, and finished without running any user data");
    let remedy = "make sure that the metadata service responds to every path that it lists: cloud-init gives up at the first error";
    let remedy = fault.map_or(remedy.to_owned(), |index| {
        format!(
            "{remedy}; give `faults[{index}]` `from_seconds`, so that cloud-init reads the path before it"
        )
    });
    facts.final_(Cause::UserDataNeverRan, because, &evidence, remedy)
}

/// No part of the user data is a script that runs, and one has a type that cloud-init does not handle. Text without a
/// type is the fault of the message, not of a type.
fn unknown_type(facts: &Facts<'_>) -> Option<Finding> {
    let done = facts.user_data_done?;
    let parsed = user_data::parse(&facts.user_data()?);
    let fault = parsed
        .faults
        .iter()
        .find(|fault| fault.kind == FaultKind::UnknownType)?;
    let is_text = parsed.parts.iter().any(|part| part.mime == "text/plain");
    if is_text || !parsed.scripts().is_empty() {
        return None;
    }
    let part = fault.part.as_deref().unwrap_or("the user data");
    let because = format!("{part} did not run: {}", fault.what);
    let evidence = Evidence::new("user data", done, format!("{part}: {}", fault.what));
    let remedy = format!("declare {part} as `text/x-shellscript`");
    facts.final_(Cause::UserDataNeverRan, because, &evidence, remedy)
}

/// cloud-init finds no part in a message.
fn without_parts(facts: &Facts<'_>) -> Option<Finding> {
    let done = facts.user_data_done?;
    let parsed = user_data::parse(&facts.user_data()?);
    let mut faults = parsed.faults.iter().filter(|_| parsed.parts.is_empty());
    let fault = faults.find(|fault| fault.kind == FaultKind::Damaged && fault.part.is_none())?;
    let because = format!(
        "cloud-init finds no part in the user data, and runs nothing: {}",
        fault.what
    );
    let evidence = Evidence::new("user data", done, &fault.what);
    let remedy = "begin each part with the boundary that the first header names, and end the last one with `--BOUNDARY--`";
    facts.final_(Cause::UserDataNeverRan, because, &evidence, remedy.to_owned())
}

/// cloud-init reads every `#include` first, and stops at one that it cannot read.
fn missing_include(facts: &Facts<'_>) -> Option<Finding> {
    let mut lines = facts.user_data_lines();
    let (at, line, url) = lines.find_map(|(at, line)| {
        let (_, error) = line.message.split_once("Exception: ")?;
        Some((at, line, error.trim().split_once(" for url: ")?.1))
    })?;
    let because = format!(
        "cloud-init cannot read `{url}`, which the user data includes, and runs nothing of the user data"
    );
    let remedy = "make the file or URL available before cloud-init starts: boothooks run only after cloud-init has read \
                  every `#include`";
    facts.final_(
        Cause::UserDataNeverRan,
        because,
        &Evidence::journal(at, line),
        remedy.to_owned(),
    )
}

/// The line of cloud-init that reports that it has no data source.
pub(super) fn without_data_source<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a JournalLine)> {
    facts
        .user_data_lines()
        .find(|(_, line)| line.message.contains("DataSourceNone"))
}

fn is_over(status: Option<&str>) -> bool {
    matches!(status, Some("done" | "error" | "degraded done"))
}

/// A script part that the kernel cannot start because it names no interpreter.
pub(super) fn missing_shebang(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let reported = facts.user_data_lines().find(|(_, line)| is_format_error(line));
    // Parse the user data only if it can matter: the rules run after every event.
    reported.map(|(at, _)| at).or(facts.user_data_done)?;
    let faulty = faulty_part(facts, kinds_that_do_not_run(&facts.plan.image));
    let evidence = match (reported, &faulty, facts.user_data_done) {
        (Some((at, line)), _, _) => Evidence::journal(at, line),
        (None, Some((part, what)), Some(done)) => Evidence::new("user data", done, format!("{part}: {what}")),
        _ => return None,
    };
    let part =
        reported.and_then(|(_, line)| between(&line.message, "/scripts/", &['\'', '"', ' ', ':', ',', ']']));
    let part = part
        .map(str::to_owned)
        .or(faulty.map(|(part, _)| part))
        .unwrap_or_else(|| "a part".to_owned());
    let because =
        format!("{part} of the user data did not run: its first line does not name an interpreter with `#!`");
    let remedy = format!("begin {part} with `#!/bin/bash`");
    facts.final_(Cause::MissingShebang, because, &evidence, remedy)
}

/// Amazon Linux 2 runs parts without `#!` with bash, and reports nothing. Other user data without it does not run.
fn kinds_that_do_not_run(image: &ImagePlan) -> &'static [FaultKind] {
    /// The file of a node image that says what happens to such parts.
    const RULE: &str = "/etc/cloud/scripts-without-interpreter";
    let is_replaced = image.added().any(|file| file.to == RULE);
    if image.name == AMAZON_LINUX_2 && !is_replaced {
        &[FaultKind::Unhandled]
    } else {
        &[FaultKind::MissingShebang, FaultKind::Unhandled]
    }
}

/// The node image of this repository.
const AMAZON_LINUX_2: &str = "al2";

/// A script part whose `#!` follows a byte order mark, which the kernel does not skip.
pub(super) fn byte_order_mark(facts: &Facts<'_>) -> Option<Finding> {
    const MARK: &[u8] = b"\xef\xbb\xbf#!";
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let done = facts.user_data_done?;
    let parsed = user_data::parse(&facts.user_data()?);
    let part = parsed.parts.iter().find(|part| part.content.starts_with(MARK))?;
    let reported = facts.user_data_lines().find(|(_, line)| is_format_error(line));
    // Amazon Linux 2 runs a part of a MIME message with bash nevertheless.
    let is_unhandled =
        |fault: &PartFault| fault.kind == FaultKind::Unhandled && fault.part.as_ref() == Some(&part.name);
    if reported.is_none() && !parsed.faults.iter().any(is_unhandled) {
        return None;
    }
    let evidence = reported.map_or_else(
        || {
            Evidence::new(
                "user data",
                done,
                format!("{}: its first bytes are ef bb bf", part.name),
            )
        },
        |(at, line)| Evidence::journal(at, line),
    );
    let because = format!(
        "{} of the user data did not run: it begins with a byte order mark, so the kernel does not find its `#!`",
        part.name
    );
    let remedy = format!("save {} as UTF-8 without a byte order mark", part.name);
    facts.final_(Cause::ByteOrderMark, because, &evidence, remedy)
}

fn is_format_error(line: &JournalLine) -> bool {
    line.message.contains("Exec format error") || line.message.contains("Missing #! in script")
}

/// The first part of the user data with a fault of one of these kinds, and the fault.
pub(super) fn faulty_part(facts: &Facts<'_>, kinds: &[FaultKind]) -> Option<(String, String)> {
    let parsed = user_data::parse(&facts.user_data()?);
    let fault = parsed
        .faults
        .into_iter()
        .find(|fault| kinds.contains(&fault.kind))?;
    Some((
        fault.part.unwrap_or_else(|| "the user data".to_owned()),
        fault.what,
    ))
}

/// cloud-init knows a MIME message by its header. Parts without one, or a header that is indented, are a text that it
/// ignores.
pub(super) fn message_without_header(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let done = facts.user_data_done?;
    let bytes = facts.user_data()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next()?;
    let is_header = |line: &str| {
        line.trim_start()
            .to_ascii_lowercase()
            .starts_with("content-type:")
    };
    let boundary = first
        .trim_start()
        .strip_prefix("--")
        .filter(|name| !name.is_empty());
    let because = match boundary {
        Some(_) if lines.take(2).any(is_header) => {
            "the user data is parts of a MIME message without its header, so cloud-init ran nothing of it"
        }
        None if first.starts_with([' ', '\t'])
            && (first.trim_start().starts_with("MIME-Version:") || is_header(first)) =>
        {
            "the header of the MIME message in the user data is indented, so cloud-init ran nothing of it"
        }
        _ => return None,
    };
    let remedy = match boundary {
        Some(name) => format!(
            "begin the user data with the lines `MIME-Version: 1.0` and `Content-Type: multipart/mixed; \
             boundary=\"{}\"`, and an empty line",
            name.trim()
        ),
        None => "begin each line of the message in the first column".to_owned(),
    };
    let reported = facts
        .user_data_lines()
        .find(|(_, line)| line.message.contains("Unhandled"));
    let evidence = reported.map_or_else(
        || Evidence::new("user data", done, first.to_owned()),
        |(at, line)| Evidence::journal(at, line),
    );
    facts.final_(Cause::UserDataNeverRan, because.to_owned(), &evidence, remedy)
}

/// cloud-init does not decode user data that is encoded twice: it warns about an unknown type and continues.
pub(super) fn user_data_is_base64(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let done = facts.user_data_done?;
    let (part, what) = faulty_part(facts, &[FaultKind::Base64])?;
    let reported = facts
        .user_data_lines()
        .find(|(_, line)| line.message.contains("Unhandled non-multipart"));
    let evidence = reported.map_or_else(
        || Evidence::new("user data", done, format!("{part}: {what}")),
        |(at, line)| Evidence::journal(at, line),
    );
    let because = "the user data is encoded in base64 twice, so nothing in it ran".to_owned();
    let remedy = "encode the user data once: EC2's API, launch templates and Terraform's `user_data_base64` take base64, while \
                  `Fn::Base64` and Terraform's `user_data` of an instance encode plain text themselves"
        .to_owned();
    facts.final_(Cause::UserDataNeverRan, because, &evidence, remedy)
}
