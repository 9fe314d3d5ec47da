//! S3, as `https://BUCKET.s3.REGION.amazonaws.com/KEY` and `https://s3.REGION.amazonaws.com/BUCKET/KEY`: REST with XML.
//!
//! | method, path | auth | response |
//! | --- | --- | --- |
//! | `GET`, `HEAD` of a key | SigV4, `s3:GetObject` | the object, or a range of it |
//! | `GET` of a bucket, `list-type=2` | SigV4, `s3:ListBucket` | [keys](list), in pages |
//! | `HEAD` of a bucket | SigV4, `s3:ListBucket` | 200 |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: both styles of URLs, presigned URLs, ranges, errors, missing keys without `s3:ListBucket`. Faked: buckets are
//! in every region, and entity tags are not MD5 sums.

mod list;
mod objects;

use http::Method;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, S3Operation as Operation};
use sha2::{Digest, Sha256};

use self::objects::Bucket;
use super::{ServiceRequest, authorize};
use crate::clock;
use crate::content::Content;
use crate::endpoint::HostName;
use crate::http::{Request, Response, ServiceError, decode_path};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::WireFormat;

/// Queries of an object that read something else than its content.
const SUBRESOURCES: [&str; 8] = [
    "acl",
    "attributes",
    "legal-hold",
    "retention",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
];

/// A request with its bucket and its key.
#[derive(Debug, PartialEq, Eq)]
struct S3Request {
    operation: Option<Operation>,
    bucket: String,
    /// Empty for a request to the bucket itself.
    key: String,
}

impl S3Request {
    fn parse(request: &Request) -> Self {
        let bucket = match HostName::parse(&request.host_name()) {
            Some(HostName::Emulated(endpoint)) => endpoint.bucket,
            Some(HostName::NotEmulated(_)) | None => None,
        };
        let path = decode_path(request.path.strip_prefix('/').unwrap_or(&request.path));
        let (bucket, key) = match bucket {
            Some(bucket) => (bucket, path),
            None => match path.split_once('/') {
                Some((bucket, key)) => (bucket.to_owned(), key.to_owned()),
                None => (path, String::new()),
            },
        };
        Self {
            operation: operation(request, &bucket, &key),
            bucket,
            key,
        }
    }

    fn resource(&self) -> String {
        match self.key.is_empty() {
            true => self.bucket.clone(),
            false => format!("{}/{}", self.bucket, self.key),
        }
    }
}

fn operation(request: &Request, bucket: &str, key: &str) -> Option<Operation> {
    let query = request.query_parameters();
    let is_other = SUBRESOURCES.iter().any(|name| query.get(name).is_some());
    match (&request.method, bucket.is_empty(), key.is_empty()) {
        _ if is_other => None,
        (&Method::GET, false, false) => Some(Operation::GetObject),
        (&Method::HEAD, false, false) => Some(Operation::HeadObject),
        (&Method::HEAD, false, true) => Some(Operation::HeadBucket),
        (&Method::GET, false, true) if query.get("list-type") == Some("2") => Some(Operation::ListObjectsV2),
        _ => None,
    }
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    let parsed = S3Request::parse(request);
    match parsed.operation {
        Some(operation) => RequestTarget::known(Service::S3, operation.name(), Some(parsed.resource())),
        None => RequestTarget::unknown(Service::S3, format!("{} {}", request.method, request.path)),
    }
}

/// Responds to a request.
///
/// # Errors
/// The error that S3 returns.
pub(crate) fn respond(instance: &Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let request = call.request;
    let parsed = S3Request::parse(request);
    let operation = parsed.operation.ok_or_else(|| {
        not_emulated::error(
            Service::S3.word(),
            &format!("{} {}", request.method, request.path),
        )
    })?;
    let signer = authorize::signature(instance, call, WireFormat::S3)?;
    let arn = |resource: &str| format!("arn:{}:s3:::{resource}", instance.world.region.partition());
    let bucket = instance.world.aws.buckets.get(&parsed.bucket);
    let bucket = bucket
        .ok_or_else(|| ServiceError::new(404, "NoSuchBucket", "The specified bucket does not exist"))?;
    if let Some(action) = operation.action() {
        let resource = match operation {
            Operation::GetObject | Operation::HeadObject => parsed.resource(),
            Operation::HeadBucket | Operation::ListObjectsV2 => parsed.bucket.clone(),
        };
        signer.permit(Service::S3, action, &arn(&resource))?;
    }
    let bucket = Bucket(bucket);
    match operation {
        Operation::GetObject | Operation::HeadObject => {
            let Some(content) = bucket.object(&parsed.key) else {
                // Only callers that may list a bucket learn that it lacks a key.
                signer.permit(Service::S3, "s3:ListBucket", &arn(&parsed.bucket))?;
                let message = "The specified key does not exist.";
                return Err(ServiceError::new(404, "NoSuchKey", message));
            };
            object(request, &parsed, content, &clock::http(instance.launched.into()))
        }
        Operation::HeadBucket => Ok(Response::new(200, "application/xml", "")),
        Operation::ListObjectsV2 => Ok(list::respond(
            &parsed.bucket,
            &bucket,
            &request.query_parameters(),
            instance.launched.into(),
        )),
    }
}

/// The object, or the range of it that the request names.
fn object(
    request: &Request,
    parsed: &S3Request,
    content: Content,
    modified: &str,
) -> Result<Response, ServiceError> {
    let length = content.length();
    let range = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes="));
    let (status, content, range) = match range.and_then(|range| first_and_last(range, length)) {
        Some((first, last)) if first <= last => {
            let range = format!("bytes {first}-{last}/{length}");
            (206, content.part(first, last - first + 1), Some(range))
        }
        Some(_) => {
            let message = "The requested range is not satisfiable";
            return Err(ServiceError::new(416, "InvalidRange", message));
        }
        None => (200, content, None),
    };
    let response = Response::new(status, "binary/octet-stream", content)
        .with_header("accept-ranges", "bytes")
        .with_header("etag", entity_tag(&parsed.resource(), length))
        .with_header("last-modified", modified);
    Ok(match range {
        Some(range) => response.with_header("content-range", range),
        None => response,
    })
}

/// First and last byte of `2-5`, `2-` or `-4`. The first is past the last if the range is not satisfiable.
fn first_and_last(range: &str, length: u64) -> Option<(u64, u64)> {
    let (first, last) = range.split_once('-')?;
    let end = length.saturating_sub(1);
    match (first, last) {
        ("", count) => {
            let count: u64 = count.parse().ok()?;
            Some((length.saturating_sub(count), end))
        }
        (first, "") => Some((first.parse().ok()?, end)),
        (first, last) => Some((first.parse().ok()?, last.parse::<u64>().ok()?.min(end))),
    }
    .map(|(first, last)| if length == 0 { (1, 0) } else { (first, last) })
}

/// The entity tag of an object: the fake's objects do not change.
fn entity_tag(resource: &str, length: u64) -> String {
    let hash = hex::encode(Sha256::digest(format!("{resource} {length}")));
    format!("\"{}\"", &hash[..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_within_the_object() {
        let table = [
            ("0-3", Some((0, 3))),
            ("2-", Some((2, 9))),
            ("-4", Some((6, 9))),
            ("8-99", Some((8, 9))),
            ("10-", Some((10, 9))),
            ("x-1", None),
        ];
        for (range, expected) in table {
            assert_eq!(first_and_last(range, 10), expected, "{range}");
        }
        assert_eq!(first_and_last("0-3", 0), Some((1, 0)));
    }

    #[test]
    fn keys_are_decoded() {
        assert_eq!(decode_path("a%2Fb%20c+d=e&f%"), "a/b c+d=e&f%");
    }
}
