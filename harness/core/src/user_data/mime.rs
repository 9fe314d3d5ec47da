//! Parses MIME messages as leniently as the `email` package of Python, which cloud-init uses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// A message, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Message {
    /// Splits headers and body. A line that is not a header ends the headers, even without the empty line before the
    /// body.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (line, after) = split_line(rest);
            let text = String::from_utf8_lossy(line);
            if text.is_empty() {
                rest = after;
                break;
            }
            match (text.starts_with([' ', '\t']), text.split_once(':')) {
                (true, _) if !headers.is_empty() => continue_header(&mut headers, text.trim()),
                (false, Some((name, value))) if is_header_name(name) => {
                    headers.push((name.to_lowercase(), value.trim().to_owned()));
                }
                // eksctl writes the character set on a separate line, where Python ends the headers.
                _ => break,
            }
            rest = after;
        }
        Self {
            headers,
            body: rest.to_vec(),
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    /// The MIME type in lower case (default: `text/plain`).
    pub(super) fn content_type(&self) -> String {
        let value = self.header("content-type").unwrap_or("text/plain");
        value.split(';').next().unwrap_or_default().trim().to_lowercase()
    }

    pub(super) fn filename(&self) -> Option<String> {
        let disposition = self
            .header("content-disposition")
            .and_then(|value| parameter(value, "filename"));
        disposition.or_else(|| {
            self.header("content-type")
                .and_then(|value| parameter(value, "name"))
        })
    }

    pub(super) fn is_multipart(&self) -> bool {
        self.content_type().starts_with("multipart/")
    }

    fn boundary(&self) -> Option<String> {
        self.header("content-type")
            .and_then(|value| parameter(value, "boundary"))
    }

    /// Why the message has no parts.
    pub(super) fn lack_of_parts(&self) -> String {
        let Some(boundary) = self.boundary() else {
            return "the header of the MIME message names no boundary".to_owned();
        };
        let body = String::from_utf8_lossy(&self.body);
        let other = body.lines().find(|line| line.starts_with("--"));
        let other = other
            .map(|line| format!(", and `{}` is another", line.trim_end()))
            .unwrap_or_default();
        format!("no line is the boundary `--{boundary}` of the MIME message{other}")
    }

    /// The parts between the boundaries; `None` without a boundary or without parts.
    pub(super) fn parts(&self) -> Option<Vec<Self>> {
        let boundary = self.boundary()?;
        let (open, close) = (format!("--{boundary}"), format!("--{boundary}--"));
        let mut parts: Vec<Vec<u8>> = Vec::new();
        let mut is_inside = false;
        let mut rest = self.body.as_slice();
        while !rest.is_empty() {
            let (line, after) = split_line(rest);
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end();
            if text == close {
                break;
            } else if text == open {
                parts.push(Vec::new());
                is_inside = true;
            } else if let (true, Some(part)) = (is_inside, parts.last_mut()) {
                part.extend_from_slice(&rest[..rest.len() - after.len()]);
            }
            rest = after;
        }
        // The line break before a boundary is part of the boundary.
        let parsed = parts
            .iter()
            .map(|part| Self::read(without_last_line_end(part)))
            .collect::<Vec<_>>();
        (!parsed.is_empty()).then_some(parsed)
    }

    /// The decoded body; `None` if it is damaged.
    pub(super) fn payload(&self) -> Option<Vec<u8>> {
        match self
            .header("content-transfer-encoding")
            .map(str::to_lowercase)
            .as_deref()
        {
            Some("base64") => decode_base64(&self.body),
            Some("quoted-printable") => Some(decode_quoted_printable(&self.body)),
            _ => Some(self.body.clone()),
        }
    }
}

/// Decodes base64 with line breaks, with or without padding.
pub(super) fn decode_base64(bytes: &[u8]) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let compact: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    STANDARD
        .decode(&compact)
        .or_else(|_| GeneralPurpose::new(&base64::alphabet::STANDARD, config).decode(&compact))
        .ok()
}

fn decode_quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'=').then(|| after.get(..2)).flatten();
        let byte = escaped.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        rest = match (first, byte) {
            (_, Some(byte)) => {
                decoded.push(byte);
                &after[2..]
            }
            // A soft line break.
            (b'=', None) if after.first().is_some_and(|next| b"\r\n".contains(next)) => split_line(after).1,
            _ => {
                decoded.push(first);
                after
            }
        };
    }
    decoded
}

fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (line, rest) = end.map_or((bytes, &bytes[bytes.len()..]), |end| {
        (&bytes[..end], &bytes[end + 1..])
    });
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

fn without_last_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'=' && byte != b'"')
}

fn continue_header(headers: &mut [(String, String)], text: &str) {
    if let Some((_, value)) = headers.last_mut() {
        value.push(' ');
        value.push_str(text);
    }
}

/// The value of a parameter, such as `boundary` in `multipart/mixed; boundary="//"`.
fn parameter(value: &str, name: &str) -> Option<String> {
    value.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim().trim_matches('"').to_owned())
    })
}
