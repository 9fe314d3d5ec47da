//! What the authenticator reads of strangers, for fuzzing alone.

use std::collections::BTreeMap;

use nodejoin_core::plan::region::Region;
use time::OffsetDateTime;

use crate::mapping::AwsAuth;
use crate::token::{PresignedUrl, access_key_id};
use crate::{identity, webhook};

/// The token of a TokenReview, where the body is one.
#[must_use]
pub fn token_of_review(body: &[u8]) -> Option<String> {
    webhook::token_of(body)
}

/// Whether a token passes every check short of STS. One that does names its access key, by both ways of reading it.
#[must_use]
pub fn accepts_token(token: &str, region: &Region, now: OffsetDateTime) -> bool {
    let named = access_key_id(token);
    match PresignedUrl::parse(token, region, now) {
        Ok(url) => {
            assert_eq!(named.as_deref(), Some(url.access_key_id.as_str()));
            true
        }
        Err(refused) => {
            assert!(!refused.message.is_empty());
            false
        }
    }
}

/// Reads `aws-auth` and looks an ARN up in it, in its canonical form where it has one.
pub fn map(roles: &str, users: &str, accounts: &str, arn: &str) {
    let rows = [
        ("mapRoles", roles),
        ("mapUsers", users),
        ("mapAccounts", accounts),
    ];
    let data: BTreeMap<String, String> = rows.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    let read = AwsAuth::parse(&data);
    let canonical = identity::canonical_arn(arn);
    let arn = canonical.as_deref().unwrap_or(arn);
    for own in read.role_arns() {
        assert!(read.lookup(&own).is_some(), "{own}");
    }
    let _ = read.lookup(arn);
}
