//! ListBuckets and GetBucketLocation. All buckets are in the region of the scenario.

use nodejoin_core::plan::region::Region;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::list::NAMESPACE;
use crate::clock;
use crate::http::{QueryParameters, Response, ServiceError};
use crate::wire::xml::Xml;
use crate::world::World;

/// Limit and default of a page's size.
const MAX_BUCKETS: usize = 10_000;

/// The canonical user id of the account, derived from its number.
pub(super) fn owner(world: &World) -> String {
    hex::encode(Sha256::digest(world.account.to_string()))
}

/// The buckets of the account.
///
/// # Errors
/// The page size is invalid.
pub(super) fn respond(
    world: &World,
    parameters: &QueryParameters,
    created: OffsetDateTime,
) -> Result<Response, ServiceError> {
    let text = |name: &str| parameters.get(name).unwrap_or_default();
    let limit = match parameters.get("max-buckets") {
        None => MAX_BUCKETS,
        Some(text) => text
            .parse()
            .ok()
            .filter(|limit| (1..=MAX_BUCKETS).contains(limit))
            .ok_or_else(|| {
                let message = "Argument max-buckets must be an integer between 1 and 10000";
                ServiceError::new(400, "InvalidArgument", message)
            })?,
    };
    let region = world.region.as_str();
    let is_in_region = parameters
        .get("bucket-region")
        .is_none_or(|named| named == region);
    let names = world.aws.buckets.keys().filter(|_| is_in_region);
    let mut names = names
        .filter(|name| name.starts_with(text("prefix")) && name.as_str() > text("continuation-token"))
        .peekable();
    let page: Vec<&String> = names.by_ref().take(limit).collect();
    let has_more = names.peek().is_some();
    let listed = Xml::new()
        .element("Owner", |element| element.text("ID", owner(world)))
        .element("Buckets", |element| {
            page.iter().fold(element, |element, name| {
                element.element("Bucket", |bucket| {
                    bucket
                        .text("Name", name)
                        .text("CreationDate", clock::milliseconds(created))
                        .text("BucketRegion", region)
                })
            })
        });
    let listed = match page.last().filter(|_| has_more) {
        Some(last) => listed.text("ContinuationToken", last),
        None => listed,
    };
    let document = listed.document("ListAllMyBucketsResult", Some(NAMESPACE));
    Ok(Response::new(200, "application/xml", document))
}

/// The response of GetBucketLocation: us-east-1 has no name there.
pub(super) fn location(region: &Region) -> Response {
    let name = Some(region.as_str()).filter(|name| *name != "us-east-1");
    let document = Xml::new().bare(name.unwrap_or_default());
    Response::new(
        200,
        "application/xml",
        document.document("LocationConstraint", Some(NAMESPACE)),
    )
}
