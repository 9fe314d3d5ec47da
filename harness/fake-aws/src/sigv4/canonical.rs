//! The canonical request, the string to sign and the signature.

use std::fmt::Write as _;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use super::request_signature::{ALGORITHM, RequestSignature, SignatureLocation};
use crate::http::Request;

/// Its paths are signed as they are, and the bodies of its presigned requests are not.
pub(super) const S3: &str = "s3";
/// Clients that do not hash the body send this as its hash.
const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";
/// Start of what clients of S3 send as the hash of a body in chunks (`Content-Encoding: aws-chunked`). The signatures
/// of single chunks are not checked.
const STREAMING: &str = "STREAMING-";

/// Computes the signature of a request with this secret key.
#[must_use]
pub(crate) fn signature(request: &Request, request_signature: &RequestSignature, secret: &str) -> String {
    let hashed = hex::encode(Sha256::digest(canonical_request(request, request_signature)));
    let to_sign = format!(
        "{ALGORITHM}\n{}\n{}\n{hashed}",
        request_signature.date,
        request_signature.scope.text()
    );
    let scope = &request_signature.scope;
    let parts = [&scope.date, &scope.region, &scope.service, &scope.terminator];
    let key = parts
        .iter()
        .fold(format!("AWS4{secret}").into_bytes(), |key, part| {
            hmac(&key, part.as_bytes())
        });
    hex::encode(hmac(&key, to_sign.as_bytes()))
}

/// Whether the body matches the hash that the request declares, if it declares one.
#[must_use]
pub(crate) fn body_matches(request: &Request, request_signature: &RequestSignature) -> bool {
    match request.header("x-amz-content-sha256") {
        None | Some(UNSIGNED_PAYLOAD) => true,
        Some(declared) if declared.starts_with(STREAMING) => request_signature.scope.service == S3,
        Some(declared) => declared == hex::encode(Sha256::digest(&request.body)),
    }
}

/// The canonical request.
#[must_use]
pub(crate) fn canonical_request(request: &Request, request_signature: &RequestSignature) -> String {
    let mut text = format!(
        "{}\n{}\n{}\n",
        request.method,
        match request_signature.scope.service.as_str() {
            S3 => request.path.clone(),
            _ => canonical_path(&request.path),
        },
        canonical_query(request, request_signature)
    );
    for name in &request_signature.headers {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}:{}", canonical_header(request, name));
    }
    let payload = match request.header("x-amz-content-sha256") {
        Some(declared) => declared.to_owned(),
        None if request_signature.scope.service == S3 => UNSIGNED_PAYLOAD.to_owned(),
        None => hex::encode(Sha256::digest(&request.body)),
    };
    let _ = write!(text, "\n{}\n{payload}", request_signature.headers.join(";"));
    text
}

/// The request's path without empty and dot segments, encoded once more, as every service but S3 does. A dot segment at
/// the end leaves a slash (RFC 3986, 5.2.4).
fn canonical_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    let encoded: Vec<String> = segments.iter().map(|segment| encode(segment)).collect();
    let is_folder = matches!(path.rsplit('/').next(), Some("" | "." | ".."));
    let trailing = if is_folder && !encoded.is_empty() { "/" } else { "" };
    format!("/{}{trailing}", encoded.join("/"))
}

fn canonical_query(request: &Request, request_signature: &RequestSignature) -> String {
    let mut pairs: Vec<(String, String)> = form_urlencoded::parse(request.query.as_bytes())
        .filter(|(name, _)| request_signature.form == SignatureLocation::Header || name != "X-Amz-Signature")
        .map(|(name, value)| (encode(&name), encode(&value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

fn canonical_header(request: &Request, name: &str) -> String {
    if name == "host" {
        return request.host.clone();
    }
    let values: Vec<String> = request
        .headers
        .get_all(name)
        .iter()
        .map(|value| {
            String::from_utf8_lossy(value.as_bytes())
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    values.join(",")
}

/// AWS' percent-encoding: every byte but letters, digits and `-_.~`.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized_and_encoded_once_more() {
        let table = [
            ("/", "/"),
            ("//x/./y/../z", "/x/z"),
            ("/clusters/my%20name", "/clusters/my%2520name"),
            ("/a/", "/a/"),
            ("/a/.", "/a/"),
            ("/a/b/..", "/a/"),
            ("/a/..", "/"),
            ("", "/"),
        ];
        for (path, expected) in table {
            assert_eq!(canonical_path(path), expected);
        }
    }
}
