//! Entry points for fuzzing: what the authenticator parses from untrusted input.

use std::collections::BTreeMap;

use nodejoin_core::plan::region::Region;
use time::OffsetDateTime;

use crate::iam::aws_auth::AwsAuth;
use crate::iam::identity;
use crate::iam::token::{PresignedUrl, access_key_id};
use crate::webhooks::server;

/// The token, if the body is a TokenReview.
#[must_use]
pub fn token_of_review(body: &[u8]) -> Option<String> {
    server::token_of(body)
}

/// Whether a token passes all checks before STS. Both functions that read the access key must agree on an accepted
/// token.
#[must_use]
pub fn accepts_token(token: &str, region: &Region, now: OffsetDateTime) -> bool {
    let named = access_key_id(token);
    match PresignedUrl::parse(token, region, now) {
        Ok(url) => {
            assert_eq!(named.as_deref(), Some(url.access_key_id.as_str()));
            true
        }
        Err(rejection) => {
            assert!(!rejection.reason.is_empty());
            false
        }
    }
}

/// Parses `aws-auth` and looks up an ARN, in its canonical form if it has one.
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
