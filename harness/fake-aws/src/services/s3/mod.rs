//! S3, as `https://BUCKET.s3.REGION.amazonaws.com/KEY` and `https://s3.REGION.amazonaws.com/BUCKET/KEY`: REST with XML.
//!
//! | method, path | auth | response |
//! | --- | --- | --- |
//! | `GET`, `HEAD` of a key | SigV4, `s3:GetObject` | the object, or a range of it |
//! | `GET` of a bucket, `list-type=2` or without | SigV4, `s3:ListBucket` | [keys](list), in pages |
//! | `GET` of a bucket, `location` | SigV4, `s3:GetBucketLocation` | the scenario's region |
//! | `HEAD` of a bucket | SigV4, `s3:ListBucket` | 200 |
//! | `GET` of the service | SigV4, `s3:ListAllMyBuckets` | [the buckets](buckets), in pages |
//! | any other | - | 501 `NotEmulated` |
//!
//! A presigned URL may have a signature of version 2 instead, in the regions where S3 accepts one. A request to a
//! bucket with a parameter that is not read here is another operation.
//!
//! Real: both styles of URLs, presigned URLs and their expiry, ranges, conditions, errors, missing keys without
//! `s3:ListBucket`. Faked: buckets are in every region, and entity tags are not MD5 sums.

mod buckets;
mod conditions;
mod list;
mod objects;

use http::Method;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, S3Operation as Operation};

use self::objects::{Bucket, entity_tag};
use super::{ServiceRequest, authorize};
use crate::clock;
use crate::content::Content;
use crate::endpoint::HostName;
use crate::http::{Request, Response, ServiceError, decode_path};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::sigv2;
use crate::wire::WireFormat;

/// Queries of an object that read something else than its content.
const SUBRESOURCES: [&str; 11] = [
    "acl",
    "annotation",
    "attributes",
    "legal-hold",
    "partNumber",
    "retention",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
];
/// The start of parameters in the place of headers.
const AMZ: &str = "x-amz-";
/// The parameter with the name of the operation, which some SDKs add.
const OPERATION: &str = "x-id";
const LIST_TYPE: &str = "list-type";
const LOCATION: &str = "location";
const LIST_BUCKETS: [&str; 4] = ["bucket-region", "continuation-token", "max-buckets", "prefix"];
const LIST_OBJECTS: [&str; 5] = ["delimiter", "encoding-type", "marker", "max-keys", "prefix"];
const LIST_OBJECTS_V2: [&str; 8] = [
    "continuation-token",
    "delimiter",
    "encoding-type",
    "fetch-owner",
    LIST_TYPE,
    "max-keys",
    "prefix",
    "start-after",
];
/// Parameters of a presigned URL of an object that set headers of the response.
const RESPONSE_HEADERS: [(&str, &str); 6] = [
    ("response-cache-control", "cache-control"),
    ("response-content-disposition", "content-disposition"),
    ("response-content-encoding", "content-encoding"),
    ("response-content-language", "content-language"),
    ("response-content-type", "content-type"),
    ("response-expires", "expires"),
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
            Some(HostName::NotEmulated(_) | HostName::Resource(_)) | None => None,
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
    let has_only = |accepted: &[&str]| {
        let mut names = query.0.iter().map(|(name, _)| name.as_str());
        names.all(|name| accepted.contains(&name) || is_of_any_request(name))
    };
    match (&request.method, bucket.is_empty(), key.is_empty()) {
        (&Method::GET, true, _) if has_only(&LIST_BUCKETS) => Some(Operation::ListBuckets),
        (&Method::GET, false, false) if !is_other => Some(Operation::GetObject),
        (&Method::HEAD, false, false) if !is_other => Some(Operation::HeadObject),
        (&Method::HEAD, false, true) if has_only(&[]) => Some(Operation::HeadBucket),
        (&Method::GET, false, true) if query.get(LOCATION).is_some() && has_only(&[LOCATION]) => {
            Some(Operation::GetBucketLocation)
        }
        (&Method::GET, false, true) if query.get(LIST_TYPE) == Some("2") && has_only(&LIST_OBJECTS_V2) => {
            Some(Operation::ListObjectsV2)
        }
        (&Method::GET, false, true) if has_only(&LIST_OBJECTS) => Some(Operation::ListObjects),
        _ => None,
    }
}

/// Whether a parameter belongs to every operation: to the signature, or in the place of a header.
fn is_of_any_request(name: &str) -> bool {
    let start = name.get(..AMZ.len()).unwrap_or_default();
    name == OPERATION || start.eq_ignore_ascii_case(AMZ) || sigv2::is_parameter(name)
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    let parsed = S3Request::parse(request);
    match parsed.operation {
        Some(operation) => {
            let subject = Some(parsed.resource()).filter(|subject| !subject.is_empty());
            RequestTarget::known(Service::S3, operation.name(), subject)
        }
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
    let world = &instance.world;
    let list_buckets = || buckets::respond(world, &request.query_parameters(), instance.launched.into());
    if operation == Operation::ListBuckets {
        signer.permit(Service::S3, "s3:ListAllMyBuckets", "*")?;
        return list_buckets();
    }
    let arn = |resource: &str| format!("arn:{}:s3:::{resource}", world.region.partition());
    let bucket = world.aws.buckets.get(&parsed.bucket);
    let bucket = bucket
        .ok_or_else(|| ServiceError::new(404, "NoSuchBucket", "The specified bucket does not exist"))?;
    if request
        .header("x-amz-expected-bucket-owner")
        .is_some_and(|owner| owner != world.account.as_str())
    {
        return Err(ServiceError::new(403, "AccessDenied", "Access Denied"));
    }
    if let Some(action) = operation.action() {
        let resource = match operation {
            Operation::GetObject | Operation::HeadObject => parsed.resource(),
            Operation::GetBucketLocation
            | Operation::HeadBucket
            | Operation::ListBuckets
            | Operation::ListObjects
            | Operation::ListObjectsV2 => parsed.bucket.clone(),
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
        Operation::HeadBucket => {
            let response = Response::new(200, "application/xml", "");
            Ok(response.with_header("x-amz-bucket-region", world.region.as_str()))
        }
        Operation::GetBucketLocation => Ok(buckets::location(&world.region)),
        Operation::ListBuckets => list_buckets(),
        Operation::ListObjects | Operation::ListObjectsV2 => {
            let keys = list::Keys {
                bucket: &parsed.bucket,
                owner: buckets::owner(world),
                all: bucket.lengths(),
                modified: instance.launched.into(),
            };
            keys.respond(operation, &request.query_parameters())
        }
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
    let tag = entity_tag(&parsed.resource(), length);
    if let Some(refused) = conditions::refused(request, &tag, modified)? {
        return Ok(refused);
    }
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
        .with_header("etag", tag)
        .with_header("last-modified", modified);
    let response = match range {
        Some(range) => response.with_header("content-range", range),
        None => response,
    };
    Ok(with_requested_headers(response, request))
}

/// Sets the headers that the request asks for.
fn with_requested_headers(response: Response, request: &Request) -> Response {
    let query = request.query_parameters();
    RESPONSE_HEADERS
        .iter()
        .fold(response, |mut response, (parameter, name)| {
            match query.get(parameter) {
                Some(value) => {
                    response.headers.retain(|(other, _)| other != name);
                    response.with_header(name, value)
                }
                None => response,
            }
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
        (first, last) => {
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            // S3 ignores a range that ends before it starts.
            (first <= last).then_some((first, last.min(end)))
        }
    }
    .map(|(first, last)| if length == 0 { (1, 0) } else { (first, last) })
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
            ("5-2", None),
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
