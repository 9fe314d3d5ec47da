//! Signature Version 2 of S3, from the server's side: presigned URLs with `AWSAccessKeyId`, `Expires` and `Signature`,
//! which boto3 and version 1 of the AWS CLI create in the regions that S3 had before 2014.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/RESTAuthentication.html>

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use time::OffsetDateTime;

use crate::credentials::{CredentialStore, Credentials};
use crate::endpoint::{Endpoint, HostName};
use crate::http::{QueryParameters, Request};
use crate::sigv4;
use crate::sigv4::error::SignatureError;
use crate::sigv4::request_signature::ACCESS_KEY_ID;

const SIGNATURE: &str = "Signature";
const EXPIRES: &str = "Expires";
const TOKEN: &str = "x-amz-security-token";
/// Start of the names of headers, and of parameters in their place, that are signed.
const AMZ: &str = "x-amz-";

/// Regions whose S3 accepts it: those with `s3` among the signature versions in botocore's `endpoints.json`.
const REGIONS: [&str; 10] = [
    "ap-northeast-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "eu-west-1",
    "sa-east-1",
    "us-east-1",
    "us-gov-east-1",
    "us-gov-west-1",
    "us-west-1",
    "us-west-2",
];

/// The parameters that select what a request reads, sorted; they are a part of the signed resource.
const SUBRESOURCES: [&str; 25] = [
    "acl",
    "cors",
    "delete",
    "lifecycle",
    "location",
    "logging",
    "notification",
    "partNumber",
    "policy",
    "requestPayment",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "restore",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
];

/// Whether a request to S3 has such a signature, complete or not.
#[must_use]
pub(crate) fn is_signed(request: &Request) -> bool {
    let query = request.query_parameters();
    [ACCESS_KEY_ID, SIGNATURE]
        .iter()
        .any(|name| query.get(name).is_some())
}

/// Whether a parameter belongs to such a signature and not to the request.
#[must_use]
pub(crate) fn is_parameter(name: &str) -> bool {
    [ACCESS_KEY_ID, SIGNATURE, EXPIRES].contains(&name)
}

/// Checks the signature of a request to S3 and returns the credentials of its signer.
///
/// # Errors
/// The first failed check, in S3's order: an expired URL is reported before its key and its signature.
pub(crate) fn verify<'a>(
    request: &Request,
    issued: &'a CredentialStore,
    now: OffsetDateTime,
) -> Result<&'a Credentials, SignatureError> {
    let Some(HostName::Emulated(endpoint)) = HostName::parse(&request.host_name()) else {
        return Err(SignatureError::Missing);
    };
    if !REGIONS.contains(&endpoint.region.as_str()) {
        return Err(SignatureError::Version);
    }
    let query = request.query_parameters();
    let parts = (query.get(ACCESS_KEY_ID), query.get(SIGNATURE), query.get(EXPIRES));
    let (Some(id), Some(signature), Some(expires)) = parts else {
        let names = "Signature, Expires and AWSAccessKeyId";
        let message = format!("Query-string authentication requires the {names} parameters");
        return Err(SignatureError::Denied(message));
    };
    check_expires(expires, now)?;
    let credentials = issued.find(id).ok_or(SignatureError::UnknownKey)?;
    let signed = signed_headers(request, &query);
    sigv4::check_token(signed.get(TOKEN).map(String::as_str), credentials)?;
    sigv4::check_expiry(credentials, now)?;
    let to_sign = string_to_sign(request, &query, expires, &signed, &endpoint);
    match signature == sign(credentials.secret_access_key.reveal(), &to_sign) {
        true => Ok(credentials),
        false => Err(SignatureError::Mismatch),
    }
}

fn check_expires(expires: &str, now: OffsetDateTime) -> Result<(), SignatureError> {
    let Ok(expiry) = expires.parse::<i64>() else {
        let message = format!("Invalid date (should be seconds since epoch): {expires}");
        return Err(SignatureError::Denied(message));
    };
    match now.unix_timestamp() > expiry {
        true => Err(SignatureError::expired()),
        false => Ok(()),
    }
}

/// The signed headers by name. Parameters with such names count as headers: boto3 has the session token there.
fn signed_headers(request: &Request, query: &QueryParameters) -> BTreeMap<String, String> {
    let headers = request.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
        (name.as_str().to_owned(), value)
    });
    let parameters = query.0.iter();
    let parameters = parameters.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let mut signed: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers.chain(parameters) {
        if name.starts_with(AMZ) {
            let values = signed.entry(name).or_default();
            values.push_str(if values.is_empty() { "" } else { "," });
            values.push_str(&value);
        }
    }
    signed
}

fn string_to_sign(
    request: &Request,
    query: &QueryParameters,
    expires: &str,
    signed: &BTreeMap<String, String>,
    endpoint: &Endpoint,
) -> String {
    let part = |name: &str| request.header(name).or(query.get(name)).unwrap_or_default();
    let headers = signed.iter().map(|(name, value)| format!("{name}:{value}\n"));
    format!(
        "{}\n{}\n{}\n{expires}\n{}{}",
        request.method,
        part("content-md5"),
        part("content-type"),
        headers.collect::<String>(),
        resource(request, query, endpoint)
    )
}

/// The bucket, the path as it was sent, and the parameters that belong to it.
fn resource(request: &Request, query: &QueryParameters, endpoint: &Endpoint) -> String {
    let path = match &endpoint.bucket {
        Some(bucket) => format!("/{bucket}{}", request.path),
        // Also in a path, a bucket ends with a slash.
        None if request.path.rfind('/') == Some(0) => format!("{}/", request.path),
        None => request.path.clone(),
    };
    let subresources = SUBRESOURCES.iter().filter_map(|name| {
        Some(match query.get(name)? {
            "" => (*name).to_owned(),
            value => format!("{name}={value}"),
        })
    });
    let subresources: Vec<String> = subresources.collect();
    match subresources.is_empty() {
        true => path,
        false => format!("{path}?{}", subresources.join("&")),
    }
}

fn sign(secret: &str, to_sign: &str) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(to_sign.as_bytes());
    BASE64_STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The query of AWS' page on this signature, with its key, as it was before 2019.
    #[test]
    fn the_example_of_aws_has_its_signature() {
        let request = Request {
            method: http::Method::GET,
            host: "johnsmith.s3.amazonaws.com".to_owned(),
            path: "/photos/puppy.jpg".to_owned(),
            query: "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D&Expires=1175139620"
                .to_owned(),
            headers: http::HeaderMap::new(),
            body: bytes::Bytes::new(),
        };
        let Some(HostName::Emulated(endpoint)) = HostName::parse(&request.host_name()) else {
            panic!("the host belongs to S3");
        };
        let query = request.query_parameters();
        let signed = signed_headers(&request, &query);
        let to_sign = string_to_sign(&request, &query, "1175139620", &signed, &endpoint);
        let signature = sign("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", &to_sign);
        assert_eq!(Some(signature.as_str()), query.get(SIGNATURE));
    }

    #[test]
    fn subresources_are_sorted() {
        assert!(SUBRESOURCES.is_sorted() && REGIONS.is_sorted());
    }
}
