//! The metadata service's responses: headers, content types and error pages.

use bytes::Bytes;

use nodejoin_core::plan::link_local;

use crate::http::{Response, ServiceError};

/// A value or a listing.
#[must_use]
pub(crate) fn text(body: String, modified: &str) -> Response {
    plain(body)
        .with_header("accept-ranges", "none")
        .with_header("last-modified", modified)
}

/// Plain text without the headers of metadata: the token.
#[must_use]
pub(crate) fn plain(body: String) -> Response {
    with_common_headers(Response::new(200, "text/plain", body))
}

/// User data, byte for byte: all of it, or the range that a `Range` header requests.
#[must_use]
pub(crate) fn user_data(bytes: &Bytes, range: Option<&str>, modified: &str) -> Response {
    let length = bytes.len();
    let response = match range.and_then(|range| ByteRange::read(range, length)) {
        None => Response::new(200, "application/octet-stream", bytes.clone()),
        Some(ByteRange::Unsatisfiable) => {
            return error(416).with_header("content-range", format!("bytes */{length}"));
        }
        Some(ByteRange::Part { first, last }) => {
            let part = bytes.slice(first..=last);
            Response::new(206, "application/octet-stream", part)
                .with_header("content-range", format!("bytes {first}-{last}/{length}"))
        }
    };
    with_common_headers(response)
        .with_header("accept-ranges", "bytes")
        .with_header("last-modified", modified)
}

/// A part of a body, by the first and the last of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteRange {
    Part { first: usize, last: usize },
    Unsatisfiable,
}

impl ByteRange {
    /// Reads a `Range` header for a body of this length. `None` for a header that a server ignores: another unit,
    /// several ranges, or one that is invalid.
    pub(crate) fn read(header: &str, length: usize) -> Option<Self> {
        let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
        let (first, last) = match (first.trim(), last.trim()) {
            ("", suffix) => match suffix.parse::<usize>().ok()? {
                0 => return Some(Self::Unsatisfiable),
                suffix => (length.saturating_sub(suffix), usize::MAX),
            },
            (first, "") => (first.parse().ok()?, usize::MAX),
            (first, last) => (first.parse().ok()?, last.parse().ok()?),
        };
        if last < first {
            return None;
        }
        Some(match length.checked_sub(1) {
            Some(end) if first <= end => Self::Part {
                first,
                last: last.min(end),
            },
            _ => Self::Unsatisfiable,
        })
    }
}

/// An error page.
#[must_use]
pub(crate) fn error(status: u16) -> Response {
    let title = title(status);
    let mut response = with_common_headers(Response::new(status, "text/html", page(status, title)));
    response.error = Some(ServiceError::new(status, status.to_string(), title));
    response
}

/// The response to a method that a path does not support.
#[must_use]
pub(crate) fn not_allowed(allow: &str) -> Response {
    let mut response =
        with_common_headers(Response::new(405, "text/plain", Bytes::new())).with_header("allow", allow);
    response.error = Some(ServiceError::new(405, "405", title(405)));
    response.reason = Some(title(405));
    response
}

/// A redirection to another path of the same address.
#[must_use]
pub(crate) fn moved(host: &str, location: &str) -> Response {
    // The service redirects to its own address, even if a tunnel reached it by another name.
    let host = if host.starts_with('[') {
        format!("[{}]", link_local::METADATA_IPV6)
    } else {
        link_local::METADATA.to_string()
    };
    with_common_headers(Response::new(301, "text/html", page(301, title(301))))
        .with_header("location", format!("http://{host}{location}"))
}

fn with_common_headers(response: Response) -> Response {
    // Old clients recognize EC2's metadata service by this name.
    response
        .with_header("server", "EC2ws")
        .with_header("connection", "close")
}

fn title(status: u16) -> &'static str {
    match status {
        301 => "Moved Permanently",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Not Allowed",
        413 => "Request Entity Too Large",
        416 => "Requested Range Not Satisfiable",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        500.. => "Internal Server Error",
        _ => "Error",
    }
}

/// The page that a script reads as the value if it ignores the status: 339 bytes for a 404.
fn page(status: u16, title: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n\
         <!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n\
         \t\t \"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n\
         <html xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang=\"en\" lang=\"en\">\n \
         <head>\n  <title>{status} - {title}</title>\n </head>\n <body>\n  <h1>{status} - {title}</h1>\n </body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        let part = |first, last| Some(ByteRange::Part { first, last });
        let table = [
            ("bytes=0-3", part(0, 3)),
            ("bytes=2-", part(2, 9)),
            ("bytes=-4", part(6, 9)),
            ("bytes=-40", part(0, 9)),
            ("bytes=9-99", part(9, 9)),
            ("bytes=10-", Some(ByteRange::Unsatisfiable)),
            ("bytes=-0", Some(ByteRange::Unsatisfiable)),
            ("bytes=3-2", None),
            ("bytes=0-1,3-4", None),
            ("lines=0-1", None),
            ("bytes=a-", None),
        ];
        for (header, expected) in table {
            assert_eq!(ByteRange::read(header, 10), expected, "{header}");
        }
        assert_eq!(ByteRange::read("bytes=0-", 0), Some(ByteRange::Unsatisfiable));
    }

    /// 404: recorded traffic of smithy-rs' aws-config (`imds_no_iam_role`). The others follow by substitution.
    #[test]
    fn error_pages_have_the_length_of_real_ones() {
        for (status, length) in [(404, 339), (401, 345), (400, 343), (403, 339), (503, 359)] {
            assert_eq!(error(status).body.length(), length, "{status}");
        }
    }
}
