//! ListObjectsV2: keys by prefix and delimiter, in pages.

use std::collections::BTreeSet;

use time::OffsetDateTime;

use super::entity_tag;
use super::objects::Bucket;
use crate::clock;
use crate::http::{QueryParameters, Response};
use crate::wire::xml::Xml;

const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";
const MAX_KEYS: usize = 1_000;

/// A member of a page.
enum Listed {
    Object(String, u64),
    /// The start of keys up to the delimiter.
    CommonPrefix(String),
}

pub(super) fn respond(
    name: &str,
    bucket: &Bucket<'_>,
    parameters: &QueryParameters,
    modified: OffsetDateTime,
) -> Response {
    let text = |name: &str| parameters.get(name).unwrap_or_default();
    let (prefix, delimiter) = (text("prefix"), text("delimiter"));
    let after = parameters
        .get("continuation-token")
        .or(parameters.get("start-after"));
    let limit = text("max-keys")
        .parse::<usize>()
        .unwrap_or(MAX_KEYS)
        .min(MAX_KEYS);
    let mut all = listed(bucket, prefix, delimiter, after.unwrap_or_default()).into_iter();
    let page: Vec<Listed> = all.by_ref().take(limit).collect();
    let is_truncated = all.next().is_some();
    let is_encoded = text("encoding-type") == "url";
    let written = |key: &str| match is_encoded {
        true => encoded(key),
        false => key.to_owned(),
    };
    let mut xml = Xml::new()
        .text("Name", name)
        .text("Prefix", written(prefix))
        .text("KeyCount", page.len())
        .text("MaxKeys", limit)
        .text("IsTruncated", is_truncated);
    if !delimiter.is_empty() {
        xml = xml.text("Delimiter", written(delimiter));
    }
    if is_encoded {
        xml = xml.text("EncodingType", "url");
    }
    if let Some(last) = page.last().filter(|_| is_truncated) {
        xml = xml.text("NextContinuationToken", last.key());
    }
    let xml = page.iter().fold(xml, |xml, listed| match listed {
        Listed::Object(key, length) => xml.element("Contents", |object| {
            object
                .text("Key", written(key))
                .text("LastModified", clock::milliseconds(modified))
                .text("ETag", entity_tag(&format!("{name}/{key}"), *length))
                .text("Size", length)
                .text("StorageClass", "STANDARD")
        }),
        Listed::CommonPrefix(prefix) => {
            xml.element("CommonPrefixes", |common| common.text("Prefix", written(prefix)))
        }
    });
    Response::new(
        200,
        "application/xml",
        xml.document("ListBucketResult", Some(NAMESPACE)),
    )
}

impl Listed {
    fn key(&self) -> &str {
        match self {
            Self::Object(key, _) | Self::CommonPrefix(key) => key,
        }
    }
}

/// The objects and common prefixes after a key. A prefix that is before it has no object after it.
fn listed(bucket: &Bucket<'_>, prefix: &str, delimiter: &str, after: &str) -> Vec<Listed> {
    let mut prefixes = BTreeSet::new();
    let mut all = Vec::new();
    for (key, length) in bucket.lengths() {
        let Some(rest) = key.strip_prefix(prefix) else {
            continue;
        };
        let end = rest.find(delimiter).filter(|_| !delimiter.is_empty());
        match end.map(|end| key[..prefix.len() + end + delimiter.len()].to_owned()) {
            Some(common) if common.as_str() > after && prefixes.insert(common.clone()) => {
                all.push(Listed::CommonPrefix(common));
            }
            Some(_) => {}
            None if key.as_str() > after => all.push(Listed::Object(key, length)),
            None => {}
        }
    }
    all
}

/// A key in a response with `encoding-type=url`.
fn encoded(key: &str) -> String {
    url::form_urlencoded::byte_serialize(key.as_bytes())
        .collect::<String>()
        .replace("%2F", "/")
}
