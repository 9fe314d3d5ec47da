//! Requests of a node to hosts outside, whose names lead here.
//!
//! | request | response |
//! | --- | --- |
//! | `GET` or `HEAD` of a URL in the scenario's `outside` | its file, or the range that a `Range` header requests |
//! | any other | none: the connection closes at once, and the transcript has the URL |
//! | any other of Wget | 403: Wget repeats a request without a response for minutes |
//!
//! The files are real, and so are content length and ranges. A host outside would also send a content type, dates,
//! redirects and errors; only `aws.answers` with a `host` has these.

use std::path::Path;

use http::Method;
use nodejoin_core::observation::{CalledService, NOT_RECORDED};
use nodejoin_core::plan::outside::{OutsideRequest, Scheme, file_of};

use crate::content::Content;
use crate::http::{Request, Response, ServiceError};
use crate::operation::RequestTarget;
use crate::wire::pages::ByteRange;
use crate::world::World;

const CONTENT_TYPE: &str = "application/octet-stream";

/// The target of a request: its operation is the method and the whole URL.
#[must_use]
pub(crate) fn identify(scheme: Scheme, request: &Request) -> RequestTarget {
    let host = request.host_name();
    let operation = format!("{} {}", request.method, requested(scheme, &host, request));
    RequestTarget::unknown(CalledService::Outside, operation)
}

/// The recorded answer to a request; `None` closes the connection.
#[must_use]
pub(crate) fn respond(world: &World, scheme: Scheme, request: &Request) -> Option<Response> {
    if request.method != Method::GET && request.method != Method::HEAD {
        return None;
    }
    let host = request.host_name();
    let Some(file) = file_of(&world.outside, requested(scheme, &host, request)) else {
        let is_wget = request
            .header("user-agent")
            .is_some_and(|agent| agent.starts_with("Wget/"));
        return is_wget.then(not_recorded);
    };
    Some(match Content::of_file(Path::new(file)) {
        Ok(content) => with_range(content, request.header("range")),
        Err(error) => unreadable(file, &error),
    })
}

fn requested<'a>(scheme: Scheme, host: &'a str, request: &'a Request) -> OutsideRequest<'a> {
    OutsideRequest {
        scheme,
        host,
        path: &request.path,
        query: &request.query,
    }
}

fn with_range(content: Content, range: Option<&str>) -> Response {
    let length = content.length();
    let known = usize::try_from(length).unwrap_or(usize::MAX);
    let response = match range.and_then(|range| ByteRange::read(range, known)) {
        None => Response::new(200, CONTENT_TYPE, content),
        Some(ByteRange::Unsatisfiable) => {
            Response::new(416, CONTENT_TYPE, "").with_header("content-range", format!("bytes */{length}"))
        }
        Some(ByteRange::Part { first, last }) => {
            let part = content.part(first as u64, (last - first + 1) as u64);
            Response::new(206, CONTENT_TYPE, part)
                .with_header("content-range", format!("bytes {first}-{last}/{length}"))
        }
    };
    response.with_header("accept-ranges", "bytes")
}

fn not_recorded() -> Response {
    let message = "nodejoin answers no request to hosts outside, except for the URLs of `outside`";
    let mut response = Response::new(403, "text/plain", format!("{message}\n"));
    response.error = Some(ServiceError::new(403, NOT_RECORDED, message.to_owned()));
    response
}

/// The loader has read the file; it is gone since then.
fn unreadable(file: &str, error: &std::io::Error) -> Response {
    tracing::warn!(file, %error, "cannot read the file of a URL in `outside`");
    let message = format!("cannot read `{file}`, a file in `outside`: {error}");
    let mut response = Response::new(500, "text/plain", format!("{message}\n"));
    response.error = Some(ServiceError::new(500, "UnreadableFile", message));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, host: &str, range: Option<&str>) -> Request {
        let mut headers = http::HeaderMap::new();
        if let Some(range) = range {
            headers.insert("range", range.parse().unwrap());
        }
        Request {
            method,
            host: host.to_owned(),
            path: "/a.txt".to_owned(),
            query: "v=1".to_owned(),
            headers,
            body: bytes::Bytes::new(),
        }
    }

    #[test]
    fn a_recorded_url_has_its_file_and_others_have_no_response() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, b"0123456789").unwrap();
        let (mut world, _) = crate::testing::world();
        let path = file.path().display().to_string();
        world
            .outside
            .insert("https://a.example.com/a.txt?v=1".to_owned(), path);
        let answer = |scheme, request: &Request| {
            respond(&world, scheme, request).map(|found| (found.status, found.body.length()))
        };
        let table = [
            (Method::GET, "A.example.com:443", None, Some((200, 10))),
            (Method::HEAD, "a.example.com", None, Some((200, 10))),
            (Method::GET, "a.example.com", Some("bytes=8-"), Some((206, 2))),
            (Method::GET, "a.example.com", Some("bytes=10-"), Some((416, 0))),
            (Method::POST, "a.example.com", None, None),
            (Method::GET, "b.example.com", None, None),
        ];
        for (method, host, range, expected) in table {
            let request = request(method, host, range);
            assert_eq!(answer(Scheme::Https, &request), expected, "{request:?}");
            assert_eq!(answer(Scheme::Http, &request), None, "{request:?}");
        }
        drop(file);
        let gone = respond(
            &world,
            Scheme::Https,
            &request(Method::GET, "a.example.com", None),
        )
        .unwrap();
        assert_eq!(gone.error.unwrap().code, "UnreadableFile");
    }

    #[test]
    fn wget_has_a_response_that_it_does_not_repeat() {
        let (world, _) = crate::testing::world();
        let mut request = request(Method::GET, "b.example.com", None);
        request
            .headers
            .insert("user-agent", "Wget/1.21.3".parse().unwrap());
        let found = respond(&world, Scheme::Https, &request).unwrap();
        assert_eq!(
            (found.status, found.error.unwrap().code.as_str()),
            (403, NOT_RECORDED)
        );
    }

    #[test]
    fn the_operation_is_the_method_and_the_url() {
        let target = identify(Scheme::Http, &request(Method::POST, "A.example.com:80", None));
        assert_eq!(
            (target.service.word(), target.operation.as_str(), target.known),
            ("outside", "POST http://a.example.com/a.txt?v=1", false)
        );
    }
}
