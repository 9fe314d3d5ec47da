//! Any token, any TokenReview and any `aws-auth` is read, or refused with words, and nothing panics.
//!
//! The first byte of an input chooses what it is. A presigned URL gets its encoding here, which no fuzzer would find; a ConfigMap is
//! four texts with a line of `---` between: `mapRoles`, `mapUsers`, `mapAccounts` and the ARN that is looked up.
#![no_main]

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use nodejoin_cluster::fuzzing::{accepts_token, map, token_of_review};
use nodejoin_core::plan::region::Region;
use time::OffsetDateTime;

static REGION: LazyLock<Region> = LazyLock::new(|| "eu-west-1".parse().unwrap());

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match kind % 4 {
        0 => check(&text),
        1 => check(&format!("k8s-aws-v1.{}", BASE64_URL_SAFE_NO_PAD.encode(rest))),
        2 => check(&token_of_review(rest).unwrap_or_default()),
        _ => {
            let mut texts = text.split("\n---\n");
            let mut next = || texts.next().unwrap_or_default();
            map(next(), next(), next(), next());
        }
    }
});

fn check(token: &str) {
    let now = OffsetDateTime::from_unix_timestamp(1_778_155_200).unwrap();
    let _ = accepts_token(token, &REGION, now);
}
