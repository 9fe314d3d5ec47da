//! Tests of the pages of the repository. Tier: loopback; they read files and nothing else.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod generated;
mod links;
