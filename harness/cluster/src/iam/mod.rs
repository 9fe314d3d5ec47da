//! Which Kubernetes user does a bearer token belong to?

pub(crate) mod access_entries;
pub(crate) mod authenticator;
pub(crate) mod aws_auth;
pub(crate) mod identity;
pub(crate) mod sts;
pub(crate) mod token;
