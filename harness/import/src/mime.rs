//! Parts of MIME user data as they stand in the message, and messages made of such parts.
//!
//! `nodejoin_core::user_data` decodes parts as cloud-init does. A tool that appends its own part hands the others on
//! as they are, with the faults of their headers.

use crate::here_document::HereDocument;

/// cloud-init looks for a MIME header in this many bytes.
pub(crate) const MIME_HEAD: usize = 4096;

/// Splits a message at its boundary. `None`: not a message with parts.
pub(crate) fn raw_parts(text: &str) -> Option<Vec<String>> {
    let (head, body) = split_head(text)?;
    let boundary = boundary(head)?;
    let (open, close) = (format!("--{boundary}"), format!("--{boundary}--"));
    let mut parts: Vec<String> = Vec::new();
    let mut is_inside = false;
    for line in body.split_inclusive('\n') {
        let trimmed = line.trim_end();
        if trimmed == close {
            break;
        } else if trimmed == open {
            parts.push(String::new());
            is_inside = true;
        } else if let (true, Some(part)) = (is_inside, parts.last_mut()) {
            part.push_str(line);
        }
    }
    // A message that ends with a boundary in place of the closing one has no further part.
    parts.pop_if(|last| last.trim().is_empty());
    // The line break before a boundary is part of the boundary.
    for part in &mut parts {
        let line_end = ["\r\n", "\n"].iter().find(|end| part.ends_with(**end));
        part.truncate(part.len() - line_end.map_or(0, |end| end.len()));
    }
    Some(parts)
}

/// The line, from 1, of the first text behind the closing boundary of a message.
pub(crate) fn text_behind_the_end(text: &str) -> Option<usize> {
    let (head, _) = split_head(text)?;
    let close = format!("--{}--", boundary(head)?);
    let mut lines = (1..).zip(text.lines());
    lines.by_ref().find(|(_, line)| line.trim_end() == close)?;
    let behind = lines.find(|(_, line)| !line.trim().is_empty());
    behind.map(|(number, _)| number)
}

/// The message that the author of one with lost parts meant. `None`: it has no such part.
pub(crate) fn meant(text: &str) -> Option<String> {
    with_what_is_behind(text).or_else(|| with_own_boundaries(text))
}

/// The message whose first end is a boundary instead, if text stands behind it: what its author meant.
fn with_what_is_behind(text: &str) -> Option<String> {
    text_behind_the_end(text)?;
    let (head, _) = split_head(text)?;
    let open = format!("--{}", boundary(head)?);
    let close = format!("{open}--");
    let mut is_first = true;
    let lines = text.lines().map(
        |line| match line.trim_end() == close && std::mem::take(&mut is_first) {
            true => open.as_str(),
            false => line,
        },
    );
    Some(lines.map(|line| format!("{line}\n")).collect())
}

/// A line that begins a part as a boundary does and is not the boundary of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForeignBoundary<'t> {
    /// From 1.
    pub(crate) line: usize,
    /// The boundary of the message.
    pub(crate) own: &'t str,
    /// Whether it is the boundary of the message behind blanks.
    pub(crate) is_indented: bool,
    /// Whether a part of the message begins before it.
    pub(crate) is_in_part: bool,
}

/// Such lines of a message.
pub(crate) fn foreign_boundaries(text: &str) -> Vec<ForeignBoundary<'_>> {
    let Some(boundary) = own_boundary(text) else {
        return Vec::new();
    };
    // A message in a part has its own.
    if boundary_parameters(text) > 1 {
        return Vec::new();
    }
    // `text_behind_the_end` finds what follows the end of the message.
    let own = [format!("--{boundary}"), format!("--{boundary}--")];
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let pairs = (1..).zip(lines.windows(2));
    let begins = pairs.filter(|(line, pair)| {
        pair[0].trim_start().starts_with("--")
            && own.iter().all(|own| own != pair[0])
            && is_content_type(pair[1])
            && !is_content(&lines[..*line - 1], pair[1], &own[0])
    });
    let foreign = begins.map(|(line, pair)| ForeignBoundary {
        line,
        own: boundary,
        is_indented: own[0] == pair[0].trim_start(),
        is_in_part: lines[..line].contains(&own[0].as_str()),
    });
    foreign.collect()
}

/// Whether a header belongs to what a part of the message writes, such as a mail: it is in a here-document, or its type
/// is that of a mail. `before` are the lines before its boundary.
fn is_content(before: &[&str], header: &str, own: &str) -> bool {
    let Some(begin) = before.iter().rposition(|line| *line == own) else {
        return false;
    };
    let mut document: Option<HereDocument> = None;
    for line in &before[begin..] {
        document = match document {
            Some(open) if line.trim() == open.end => None,
            Some(open) => Some(open),
            None => HereDocument::begun(line),
        };
    }
    let lower = header.to_ascii_lowercase();
    document.is_some()
        || ["text/plain", "text/html"]
            .iter()
            .any(|mail| lower.contains(mail))
}

/// How many headers of a text have a boundary. Its value may have the word, too.
fn boundary_parameters(text: &str) -> usize {
    let lower = text.to_ascii_lowercase();
    let found = lower.match_indices("boundary=");
    let is_name = |at: usize| {
        lower[..at]
            .chars()
            .next_back()
            .is_none_or(|c| c == ';' || c.is_whitespace())
    };
    found.filter(|(at, _)| is_name(*at)).count()
}

/// The line, from 1, that begins the header of a message behind empty lines.
pub(crate) fn header_behind_empty_lines(text: &str) -> Option<usize> {
    let first = text.lines().position(|line| !line.trim().is_empty())?;
    let header = text.lines().nth(first)?.to_ascii_lowercase();
    let is_header = ["mime-version:", "content-type: multipart/"]
        .iter()
        .any(|begin| header.starts_with(begin));
    (is_header && text.starts_with(['\r', '\n'])).then_some(first + 1)
}

/// The message with its own boundary in place of others: what its author meant.
fn with_own_boundaries(text: &str) -> Option<String> {
    let foreign = foreign_boundaries(text);
    let own = format!("--{}", foreign.first()?.own);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let others: Vec<&str> = foreign
        .iter()
        .filter_map(|foreign| lines.get(foreign.line - 1).copied())
        .collect();
    let meant = lines.iter().map(|line| match line.strip_suffix("--") {
        _ if others.contains(line) => format!("{own}\n"),
        Some(begin) if others.contains(&begin) => format!("{own}--\n"),
        _ => format!("{line}\n"),
    });
    Some(meant.collect())
}

/// The lines, from 1, with the beginning of a NodeConfig that no empty line divides from the header of its part: it
/// counts as header.
pub(crate) fn open_headers(text: &str) -> Vec<usize> {
    let Some(boundary) = own_boundary(text) else {
        return Vec::new();
    };
    let own = format!("--{boundary}");
    let (mut open, mut is_in_header) = (Vec::new(), false);
    for (number, line) in (1..).zip(text.lines().map(str::trim_end)) {
        if is_in_header && line.starts_with("apiVersion:") {
            open.push(number);
        }
        let ends = line.is_empty() || line.starts_with("apiVersion:") || line.starts_with("#!");
        is_in_header = line == own || (is_in_header && !ends);
    }
    open
}

/// The lines, from 1, with the header of a part that an empty line precedes.
pub(crate) fn late_headers(text: &str) -> Vec<usize> {
    let Some(boundary) = own_boundary(text) else {
        return Vec::new();
    };
    let own = format!("--{boundary}");
    let mut late = Vec::new();
    let mut lines = (1..).zip(text.lines().map(str::trim_end)).peekable();
    while let Some((_, line)) = lines.next() {
        if line != own {
            continue;
        }
        let mut is_behind = false;
        while lines.next_if(|(_, line)| line.is_empty()).is_some() {
            is_behind = true;
        }
        let header = lines
            .peek()
            .filter(|(_, line)| is_behind && is_content_type(line));
        late.extend(header.map(|(number, _)| *number));
    }
    late
}

fn is_content_type(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    line.contains(':') && name.trim().eq_ignore_ascii_case("content-type")
}

/// A part with its header.
pub(crate) fn part(content_type: &str, content: &str) -> String {
    format!("Content-Type: {content_type}\n\n{content}")
}

/// A message in the form of EKS and Karpenter.
pub(crate) fn message(parts: &[String]) -> String {
    let mut boundary = "//".to_owned();
    while parts.iter().any(|part| part.contains(&format!("--{boundary}"))) {
        boundary.push('/');
    }
    let mut text = format!("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"{boundary}\"\n\n");
    for part in parts {
        text.push_str(&format!("--{boundary}\n{part}\n"));
    }
    text.push_str(&format!("--{boundary}--\n"));
    text
}

/// A message in the form of Go's writer: CRLF in headers and around boundaries, content as it is. A type with several
/// values is several lines, of which Python reads the first.
pub(crate) fn message_of_go(parts: &[(&[&str], String)]) -> String {
    const BOUNDARY: &str = "6e6f64656a6f696e6e6f64656a6f696e6e6f64656a6f696e6e6f64656a6f";
    let mut text = format!("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary={BOUNDARY}\r\n\r\n");
    for (types, content) in parts {
        text.push_str(&format!("--{BOUNDARY}\r\n"));
        for value in *types {
            text.push_str(&format!("Content-Type: {value}\r\n"));
        }
        text.push_str(&format!("\r\n{content}\r\n"));
    }
    text.push_str(&format!("--{BOUNDARY}--\r\n"));
    text
}

/// Whether an empty line ends the header of a part. The reader of Go, which Karpenter and nodeadm use, rejects others;
/// that of Python, which cloud-init uses, reads them.
pub(crate) fn has_complete_header(part: &str) -> bool {
    for line in part.lines() {
        if line.is_empty() {
            return true;
        }
        let name = line.split_once(':').map(|(name, _)| name).unwrap_or_default();
        let is_header = !name.is_empty() && !name.contains([' ', '/', '#']);
        if !is_header && !line.starts_with([' ', '\t']) {
            return false;
        }
    }
    false
}

/// Whether cloud-init reads the text as a MIME message. The header begins a line: indented text belongs to a
/// manifest that contains user data.
pub(crate) fn is_mime(text: &str) -> bool {
    let head = text.as_bytes().get(..MIME_HEAD).unwrap_or(text.as_bytes());
    let has = |line: &[u8], header: &str| {
        line.get(..header.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(header.as_bytes()))
    };
    head.split(|byte| *byte == b'\n')
        .any(|line| has(line, "mime-version:") || has(line, "content-type: multipart/"))
}

pub(crate) fn begins_with_header(text: &str) -> bool {
    // A mailbox begins a message with a line of its own, which Python skips.
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.find(|line| !line.starts_with("From ")).unwrap_or_default();
    let name = first.split_once(':').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether a text begins with the header of a message.
pub(crate) fn is_message(text: &str) -> bool {
    let text = text.trim_start();
    ["MIME-Version:", "Content-Type:"]
        .iter()
        .any(|begin| text.starts_with(begin))
}

/// The header of a message and what follows it. `None`: the text does not begin with one, as a script that writes a
/// message.
fn split_head(text: &str) -> Option<(&str, &str)> {
    if !begins_with_header(text) {
        return None;
    }
    let ends = ["\r\n\r\n", "\n\n"];
    let found = ends.iter().filter_map(|end| text.find(end).map(|at| (at, end)));
    let (at, end) = found.min_by_key(|(at, _)| *at)?;
    Some((&text[..at], &text[at + end.len()..]))
}

/// The boundary of a message.
pub(crate) fn own_boundary(text: &str) -> Option<&str> {
    split_head(text).and_then(|(head, _)| boundary(head))
}

fn boundary(head: &str) -> Option<&str> {
    let lower = head.to_ascii_lowercase();
    let start = lower.find("boundary=")? + "boundary=".len();
    let rest = &head[start..];
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([';', ' ', '\r', '\n']).next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_headers() {
        let text = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: a\r\n\r\nx\r\n--B\n\
                    Content-Type: b\n#!/bin/sh\n\n--B--\nrest\n";
        let parts = raw_parts(text).unwrap();
        assert_eq!(
            parts,
            ["Content-Type: a\r\n\r\nx", "Content-Type: b\n#!/bin/sh\n"]
        );
        let unclosed = text.replace("--B--\nrest\n", "--B\n");
        assert_eq!(raw_parts(&unclosed).unwrap(), parts);
        assert_eq!(raw_parts("#!/bin/sh\n\necho\n"), None);
    }

    #[test]
    fn messages_that_user_data_writes_have_no_misspelt_boundaries() {
        let mail = "Content-Type: multipart/mixed; boundary=MAIL\n\n--MAIL\nContent-Type: text/plain\n\nhi\n--MAIL--\nrest\n";
        let by_script = format!("#!/bin/bash\nsendmail a@b.c <<EOF\nMIME-Version: 1.0\n{mail}EOF\n");
        let indented = mail.replace('\n', "\n    ");
        let by_config = format!("#cloud-config\nwrite_files:\n- path: /a\n  content: |\n    {indented}\n");
        for text in [by_script, by_config] {
            assert_eq!(foreign_boundaries(&text), [], "{text}");
            assert_eq!(text_behind_the_end(&text), None, "{text}");
        }
        let part = |content: &str| message(&[part("text/x-shellscript", content)]);
        let body = "--MAIL\nContent-Type: text/x-shellscript\n\nhi\n";
        let in_document = part(&format!("#!/bin/bash\ncat <<'EOF'\n{body}EOF\n"));
        assert_eq!(foreign_boundaries(&in_document), []);
        let behind_it = part(&format!("#!/bin/bash\ncat <<'EOF'\nEOF\n{body}"));
        assert_eq!(foreign_boundaries(&behind_it).len(), 1);
        let of_a_mail = part("#!/bin/bash\ncat /mail\n--MAIL\nContent-Type: text/plain\n\nhi\n");
        assert_eq!(foreign_boundaries(&of_a_mail), []);
    }

    #[test]
    fn a_message_of_a_mailbox_begins_with_a_header() {
        let text = format!(
            "From nobody Thu Jan  1 00:00:00 1970\n{}",
            message(&[part("a", "x")])
        );
        assert!(begins_with_header(&text));
        assert_eq!(raw_parts(&text).unwrap().len(), 1);
    }

    #[test]
    fn misspelt_boundaries_and_late_headers_are_found() {
        let head = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"==B==\"\n\n";
        let part = "Content-Type: text/x-shellscript\n\n#!/bin/sh\n-- x\n";
        let whole = format!("{head}--==B==\n{part}--==B==--\n");
        assert_eq!(
            (foreign_boundaries(&whole), late_headers(&whole)),
            (vec![], vec![])
        );
        let misspelt = whole.replacen("--==B==\n", "--==b==\n", 1);
        let foreign = ForeignBoundary {
            line: 4,
            own: "==B==",
            is_indented: false,
            is_in_part: false,
        };
        assert_eq!(foreign_boundaries(&misspelt), [foreign]);
        let with_the_word = misspelt.replace("==B==", "==BOUNDARY==");
        assert_eq!(foreign_boundaries(&with_the_word).len(), 1);
        let indented = whole.replace("--==B==", " --==B==");
        assert!(foreign_boundaries(&indented)[0].is_indented);
        assert_eq!(with_own_boundaries(&indented), Some(whole.clone()));
        let late = whole.replacen("--==B==\n", "--==B==\n\n", 1);
        assert_eq!(late_headers(&late), [6]);
    }

    #[test]
    fn what_is_meant_by_another_boundary_or_without_an_empty_line_is_found() {
        let head = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n";
        let part = "Content-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\n";
        let right = format!("{head}--B\n{part}--B--\n");
        let foreign = right.replace("--B", "--BB");
        assert_eq!(with_own_boundaries(&foreign).as_deref(), Some(right.as_str()));
        assert_eq!(with_own_boundaries(&right), None);
        assert_eq!(open_headers(&right), [] as [usize; 0]);
        let open = right.replacen("aws\n\napi", "aws\napi", 1);
        assert_eq!(open_headers(&open), [6]);
    }

    #[test]
    fn an_empty_line_ends_a_header() {
        assert!(has_complete_header("Content-Type: a;\r\n charset=b\r\n\r\nx"));
        assert!(!has_complete_header("Content-Type: a\n#!/bin/sh\n\nx"));
        assert!(!has_complete_header("Content-Type: a"));
    }

    #[test]
    fn the_boundary_of_a_message_is_not_in_its_parts() {
        let parts = [part("text/plain", "--// x\n")];
        let text = message(&parts);
        assert!(text.contains("boundary=\"///\""), "{text}");
        assert_eq!(raw_parts(&text).unwrap(), parts);
    }
}
