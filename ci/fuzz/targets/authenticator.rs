//! Any token, TokenReview and `aws-auth` is read or refused with an error, and nothing panics.
//!
//! The first byte of an input selects its kind. The target encodes a presigned URL itself, because no fuzzer would find
//! the encoding; a ConfigMap is four texts separated by lines of `---`: `mapRoles`, `mapUsers`, `mapAccounts` and the
//! ARN to look up.
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
