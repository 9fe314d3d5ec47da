//! ListObjects and ListObjectsV2: keys by prefix and delimiter, in pages.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_core::vocabulary::operation::S3Operation as Operation;
use time::OffsetDateTime;

use super::objects::entity_tag;
use crate::clock;
use crate::http::{QueryParameters, Response, ServiceError};
use crate::wire::xml::Xml;

pub(super) const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";
const MAX_KEYS: usize = 1_000;

/// The keys of a bucket.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    /// Name of the bucket.
    pub bucket: &'a str,
    /// Canonical user id of the owner.
    pub owner: String,
    /// Lengths of the objects by key.
    pub all: BTreeMap<String, u64>,
    pub modified: OffsetDateTime,
}

/// A member of a page.
#[derive(Debug)]
enum Listed {
    Object(String, u64),
    /// The start of keys up to the delimiter.
    CommonPrefix(String),
}

impl Keys<'_> {
    /// The response to either operation.
    ///
    /// # Errors
    /// The page size is invalid.
    pub(super) fn respond(
        &self,
        operation: Operation,
        parameters: &QueryParameters,
    ) -> Result<Response, ServiceError> {
        let is_first = operation == Operation::ListObjects;
        let text = |name: &str| parameters.get(name).unwrap_or_default();
        let (prefix, delimiter) = (text("prefix"), text("delimiter"));
        let after = match is_first {
            true => parameters.get("marker"),
            false => parameters
                .get("continuation-token")
                .or(parameters.get("start-after")),
        };
        let limit = limit(parameters)?;
        let mut all = self
            .listed(prefix, delimiter, after.unwrap_or_default())
            .into_iter();
        let page: Vec<Listed> = all.by_ref().take(limit).collect();
        let next = page.last().filter(|_| all.next().is_some());
        let is_encoded = text("encoding-type") == "url";
        let written = |key: &str| match is_encoded {
            true => encoded(key),
            false => key.to_owned(),
        };
        let optional = |xml: Xml, name: &str, value: Option<String>| match value {
            Some(value) => xml.text(name, value),
            None => xml,
        };
        let xml = Xml::new()
            .text("Name", self.bucket)
            .text("Prefix", written(prefix))
            .text("MaxKeys", limit)
            .text("IsTruncated", next.is_some());
        let xml = optional(
            xml,
            "Delimiter",
            Some(written(delimiter)).filter(|text| !text.is_empty()),
        );
        let xml = optional(xml, "EncodingType", is_encoded.then(|| "url".to_owned()));
        let next = next.map(Listed::key);
        let xml = match is_first {
            true => {
                let xml = xml.text("Marker", written(text("marker")));
                // Without a delimiter, the last key of the page is the next marker.
                let next = next.filter(|_| !delimiter.is_empty());
                optional(xml, "NextMarker", next.map(written))
            }
            false => {
                let xml = xml.text("KeyCount", page.len());
                let xml = optional(xml, "StartAfter", parameters.get("start-after").map(written));
                let token = parameters.get("continuation-token").map(ToOwned::to_owned);
                let xml = optional(xml, "ContinuationToken", token);
                optional(xml, "NextContinuationToken", next.map(ToOwned::to_owned))
            }
        };
        let has_owner = is_first || text("fetch-owner") == "true";
        let xml = page
            .iter()
            .fold(xml, |xml, listed| self.write(xml, listed, has_owner, &written));
        let document = xml.document("ListBucketResult", Some(NAMESPACE));
        Ok(Response::new(200, "application/xml", document))
    }

    fn write(&self, xml: Xml, listed: &Listed, has_owner: bool, written: &dyn Fn(&str) -> String) -> Xml {
        match listed {
            Listed::Object(key, length) => xml.element("Contents", |object| {
                let object = object
                    .text("Key", written(key))
                    .text("LastModified", clock::milliseconds(self.modified))
                    .text("ETag", entity_tag(&format!("{}/{key}", self.bucket), *length))
                    .text("Size", length);
                let object = match has_owner {
                    true => object.element("Owner", |owner| owner.text("ID", &self.owner)),
                    false => object,
                };
                object.text("StorageClass", "STANDARD")
            }),
            Listed::CommonPrefix(prefix) => {
                xml.element("CommonPrefixes", |common| common.text("Prefix", written(prefix)))
            }
        }
    }

    /// The objects and common prefixes after a key. A prefix that is before it has no object after it.
    fn listed(&self, prefix: &str, delimiter: &str, after: &str) -> Vec<Listed> {
        let mut prefixes = BTreeSet::new();
        let mut all = Vec::new();
        for (key, length) in &self.all {
            let Some(rest) = key.strip_prefix(prefix) else {
                continue;
            };
            let end = rest.find(delimiter).filter(|_| !delimiter.is_empty());
            match end.map(|end| key[..prefix.len() + end + delimiter.len()].to_owned()) {
                Some(common) if common.as_str() > after && prefixes.insert(common.clone()) => {
                    all.push(Listed::CommonPrefix(common));
                }
                Some(_) => {}
                None if key.as_str() > after => all.push(Listed::Object(key.clone(), *length)),
                None => {}
            }
        }
        all
    }
}

/// The page size.
fn limit(parameters: &QueryParameters) -> Result<usize, ServiceError> {
    let Some(text) = parameters.get("max-keys").filter(|text| !text.is_empty()) else {
        return Ok(MAX_KEYS);
    };
    let invalid = |_| {
        let message = "Provided max-keys not an integer or within integer range";
        ServiceError::new(400, "InvalidArgument", message)
    };
    let limit: u32 = text.parse().map_err(invalid)?;
    Ok(usize::try_from(limit).unwrap_or(MAX_KEYS).min(MAX_KEYS))
}

impl Listed {
    fn key(&self) -> &str {
        match self {
            Self::Object(key, _) | Self::CommonPrefix(key) => key,
        }
    }
}

/// A key in a response with `encoding-type=url`.
fn encoded(key: &str) -> String {
    url::form_urlencoded::byte_serialize(key.as_bytes())
        .collect::<String>()
        .replace("%2F", "/")
}
