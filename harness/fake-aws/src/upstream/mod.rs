//! Services that another emulator answers, such as moto or LocalStack, at the address in `aws.upstream`.
//!
//! Checked here as for emulated services: the signature by the credentials that the fake issued, and the permissions
//! of their role. The credential scope is that of the request, because the fake does not know the names in the scopes
//! of all services. An operation of a REST service has no name here, so that only a pattern of `iam.deny` for the whole
//! service, such as `lambda:*`, denies it, and each pattern of `iam.allow` for the service allows it.
//!
//! The request goes out as it came, with its `Host`: emulators select the service by it. An emulator behind `http://`
//! writes URLs of that host with its own scheme; in texts they become `https://`, which is what the host accepts.

mod connection;
mod error;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request as HttpRequest, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::not_emulated::{UPSTREAM_CODE, upstream_message};
use nodejoin_core::vocabulary::upstream::UpstreamUrl;
use nodejoin_net::read_body;
use serde_json::Value;
use time::OffsetDateTime;

use self::connection::UpstreamConnection;
use self::error::UpstreamError;
use crate::http::{Request, Response, ServiceError};
use crate::iam::Signer;
use crate::instance::Instance;
use crate::operation::RequestTarget;
use crate::sigv2;
use crate::sigv4::request_signature::RequestSignature;
use crate::sigv4::{self, SignaturePolicy, error::SignatureError};
use crate::wire::WireFormat;

/// Timeout for the whole exchange.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
/// Limit of a request's body: two parts of an upload by the AWS CLI.
pub(crate) const MAX_REQUEST_BODY: usize = 16 * 1024 * 1024;
/// Limit of a response's body.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Validity of a signature, as for most services.
const WINDOW: time::Duration = time::Duration::minutes(5);
/// Headers of one connection, which are not forwarded (RFC 9110, 7.6.1), and those that the client of the connection
/// sets itself.
const OF_CONNECTION: [HeaderName; 10] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Checks the signature and the permissions of a request.
///
/// # Errors
/// The service's error for an invalid signature, or a denied action.
pub(crate) fn authorize(
    instance: &Instance,
    request: &Request,
    target: &RequestTarget,
    wire_format: WireFormat,
    now: OffsetDateTime,
) -> Result<(), ServiceError> {
    let principal = || {
        if target.service == Service::S3 && sigv2::is_signed(request) {
            let credentials = sigv2::verify(request, &instance.issued, now)?;
            return Ok((&credentials.principal, Service::S3.word().to_owned()));
        }
        let signature = RequestSignature::parse(request)?;
        let policy = SignaturePolicy {
            service: &signature.scope.service,
            region: &signature.scope.region,
            window: WINDOW,
        };
        let credentials = sigv4::verify(request, &instance.issued, policy, now)?;
        Ok((&credentials.principal, signature.scope.service.clone()))
    };
    let (principal, service) =
        principal().map_err(|error: SignatureError| error.service_error(wire_format))?;
    Signer::new(&instance.world, principal).permit_forwarded(wire_format, &service, &target.operation)
}

/// Forwards a request, and returns the response of the emulator.
///
/// # Errors
/// The emulator does not respond.
pub(crate) async fn forward(
    url: UpstreamUrl,
    request: &Request,
    service: &str,
    timeout: Duration,
) -> Result<Response, ServiceError> {
    let exchanged = tokio::time::timeout(timeout, exchange(url, request, service)).await;
    let exchanged = exchanged.unwrap_or(Err(UpstreamError::Timeout(timeout)));
    // No SDK retries status 501.
    exchanged.map_err(|error| {
        let message = upstream_message(service, &url.to_string(), &error.to_string());
        ServiceError::new(501, UPSTREAM_CODE, message)
    })
}

async fn exchange(url: UpstreamUrl, request: &Request, service: &str) -> Result<Response, UpstreamError> {
    let connection = UpstreamConnection::open(url).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(connection)).await?;
    let exchange = async {
        let response = sender.send_request(outgoing(request)?).await?;
        let (parts, body) = response.into_parts();
        let body = read_body(body, MAX_BODY)
            .await?
            .ok_or(UpstreamError::TooLarge(MAX_BODY))?;
        let body = match url.is_tls() || service == Service::S3.word() || !is_text(&parts.headers) {
            true => body,
            false => with_https(body, &request.host),
        };
        let mut response = incoming(parts.status.as_u16(), &parts.headers, body);
        // The length of the body that a response to HEAD leaves out.
        let length = parts.headers.get(header::CONTENT_LENGTH);
        if let (true, Some(length)) = (
            request.method == Method::HEAD,
            length.and_then(|length| length.to_str().ok()),
        ) {
            response = response.with_header("content-length", length);
        }
        Ok(response)
    };
    tokio::pin!(exchange);
    tokio::select! {
        biased;
        response = &mut exchange => response,
        // The connection may end before the response is read completely.
        ended = connection => {
            ended?;
            exchange.await
        }
    }
}

fn outgoing(request: &Request) -> Result<HttpRequest<Full<Bytes>>, http::Error> {
    let target = match request.query.as_str() {
        "" => request.path.clone(),
        query => format!("{}?{query}", request.path),
    };
    let mut outgoing = HttpRequest::builder()
        .method(request.method.clone())
        .uri(target)
        .body(Full::new(request.body.clone()))?;
    *outgoing.headers_mut() = end_to_end(&request.headers);
    let host = header::HeaderValue::from_str(&request.host)?;
    outgoing.headers_mut().insert(header::HOST, host);
    Ok(outgoing)
}

fn incoming(status: u16, headers: &HeaderMap, body: Bytes) -> Response {
    let headers = end_to_end(headers);
    let error = (status >= 400).then(|| error(status, &headers, &body));
    let headers = headers.iter().filter(|(name, _)| **name != header::DATE);
    let headers = headers.filter_map(|(name, value)| {
        let value = value.to_str().ok()?;
        Some((name.to_string().into(), value.to_owned()))
    });
    Response {
        status,
        headers: headers.collect(),
        body: body.into(),
        error,
        authorization: None,
        hop_limit: None,
        reason: None,
    }
}

/// Whether a body is JSON or XML.
fn is_text(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    content_type.contains("json") || content_type.contains("xml")
}

/// Replaces the scheme in URLs of the host of the request, such as the URL of a queue.
fn with_https(body: Bytes, host: &str) -> Bytes {
    let (http, https) = (format!("http://{host}/"), format!("https://{host}/"));
    match std::str::from_utf8(&body) {
        Ok(text) if text.contains(&http) => text.replace(&http, &https).into(),
        Ok(_) | Err(_) => body,
    }
}

/// The headers for the other side.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in OF_CONNECTION.into_iter().chain(listed) {
        headers.remove(name);
    }
    headers
}

/// Code and message of an error, for the transcript, from the formats that SDKs read.
fn error(status: u16, headers: &HeaderMap, body: &[u8]) -> ServiceError {
    let text = String::from_utf8_lossy(body);
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let of_header = headers
        .get("x-amzn-errortype")
        .and_then(|value| value.to_str().ok());
    let member = |names: &[&str]| names.iter().find_map(|name| json[name].as_str());
    let code = of_header
        .or_else(|| member(&["__type", "code", "Code"]))
        .or_else(|| element(&text, "Code"));
    let message = member(&["message", "Message"]).or_else(|| element(&text, "Message"));
    // `com.amazonaws.dynamodb.v20120810#ResourceNotFoundException:http://...`
    let code = code.map(|code| code.split(':').next().unwrap_or(code));
    let code = code.map(|code| code.rsplit('#').next().unwrap_or(code));
    ServiceError::new(status, code.unwrap_or_default(), message.unwrap_or_default())
}

fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once('<')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_all_protocols_have_a_code_and_a_message() {
        let typed = |code: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static("x-amzn-errortype"), code.parse().unwrap())])
        };
        let table = [
            (
                HeaderMap::new(),
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no table"}"#,
                "ResourceNotFoundException",
                "no table",
            ),
            (
                typed("NoSuchThing:http://x"),
                r#"{"Message":"gone"}"#,
                "NoSuchThing",
                "gone",
            ),
            (
                HeaderMap::new(),
                "<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchEntity</Code><Message>no role</Message></Error></ErrorResponse>",
                "NoSuchEntity",
                "no role",
            ),
            (
                HeaderMap::new(),
                "<Error><Code>NoSuchKey</Code><Message>no key</Message></Error>",
                "NoSuchKey",
                "no key",
            ),
            (HeaderMap::new(), "<html>", "", ""),
        ];
        for (headers, body, code, message) in table {
            let found = error(404, &headers, body.as_bytes());
            assert_eq!(
                (found.code.as_str(), found.message.as_str()),
                (code, message),
                "{body}"
            );
        }
    }

    #[test]
    fn urls_of_the_host_have_the_scheme_of_the_host() {
        let table = [
            (
                r#"{"QueueUrl": "http://sqs.x.amazonaws.com/1/q"}"#,
                r#"{"QueueUrl": "https://sqs.x.amazonaws.com/1/q"}"#,
            ),
            ("http://other.example.com/1", "http://other.example.com/1"),
            (
                "https://sqs.x.amazonaws.com/1/q",
                "https://sqs.x.amazonaws.com/1/q",
            ),
        ];
        for (body, expected) in table {
            assert_eq!(with_https(body.into(), "sqs.x.amazonaws.com"), expected);
        }
        let bytes = Bytes::from_static(b"\xffhttp://sqs.x.amazonaws.com/");
        assert_eq!(with_https(bytes.clone(), "sqs.x.amazonaws.com"), bytes);
    }

    #[test]
    fn headers_of_a_connection_are_not_forwarded() {
        let headers = [
            "connection: close, x-own",
            "x-own: 1",
            "content-length: 5",
            "transfer-encoding: chunked",
            "x-amz-target: T",
        ];
        let headers: HeaderMap = headers
            .iter()
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect();
        let left: Vec<String> = end_to_end(&headers).keys().map(ToString::to_string).collect();
        assert_eq!(left, ["x-amz-target"]);
    }
}
