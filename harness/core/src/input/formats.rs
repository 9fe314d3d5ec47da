//! The values of `format` in our JSON schemas. Checking them while the tree is at hand lets a problem point at the
//! text itself.

use std::fmt::Display;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::cluster_status::{ClusterStatus, UnknownClusterStatus};
use crate::vocabulary::endpoint::EndpointUrl;
use crate::vocabulary::http_proxy::HttpProxyUrl;
use crate::vocabulary::ids::{AccountId, InstanceId, ScenarioTag, TokenText};
use crate::vocabulary::region::{Region, UnknownRegion};
use crate::vocabulary::upstream::UpstreamUrl;

/// Why a text does not match its format.
#[derive(Debug, Default)]
pub(crate) struct FormatMismatch {
    pub(crate) what: String,
    pub(crate) why: String,
    pub(crate) hint: Option<String>,
}

/// Checks a text against a format. Other formats are annotations, as JSON schema defines them.
pub(crate) fn check(format: &str, text: &str) -> Result<(), FormatMismatch> {
    match format {
        "aws-account-id" => parse::<AccountId>(text),
        "aws-region" => parse_with_hint::<Region>(text, UnknownRegion::hint),
        "bootstrap-token" => parse::<TokenText>(text),
        "ec2-instance-id" => parse::<InstanceId>(text),
        "eks-endpoint" => parse::<EndpointUrl>(text),
        "http-proxy" => parse::<HttpProxyUrl>(text),
        "eks-cluster-status" => parse_with_hint::<ClusterStatus>(text, UnknownClusterStatus::hint),
        "ipv4" => address::<Ipv4Addr>("IPv4", "192.168.40.16", text),
        "ipv4-network" => parse::<Cidr>(text),
        "ipv6" => address::<Ipv6Addr>("IPv6", "2001:db8::1", text),
        "scenario-tag" => parse::<ScenarioTag>(text),
        "upstream-url" => parse::<UpstreamUrl>(text),
        "version-range" => version_range(text),
        _ => Ok(()),
    }
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<(), FormatMismatch> {
    text.parse()
        .map(|_: T| ())
        .map_err(|error: T::Err| FormatMismatch {
            what: error.to_string(),
            ..FormatMismatch::default()
        })
}

fn parse_with_hint<T: FromStr<Err: Display>>(
    text: &str,
    hint: impl FnOnce(&T::Err) -> String,
) -> Result<(), FormatMismatch> {
    text.parse()
        .map(|_: T| ())
        .map_err(|error: T::Err| FormatMismatch {
            what: error.to_string(),
            hint: Some(hint(&error)),
            ..FormatMismatch::default()
        })
}

fn address<T: FromStr>(family: &str, example: &str, text: &str) -> Result<(), FormatMismatch> {
    text.parse().map(|_: T| ()).map_err(|_| FormatMismatch {
        what: format!("invalid {family} address `{text}`"),
        hint: Some(format!("for example `{example}`")),
        ..FormatMismatch::default()
    })
}

fn version_range(text: &str) -> Result<(), FormatMismatch> {
    text.parse()
        .map(|_: semver::VersionReq| ())
        .map_err(|error| FormatMismatch {
            what: format!("invalid version range `{text}`"),
            why: error.to_string(),
            hint: Some("for example `>=1.20`, `1.20.2`, `>=1.20, <1.27`".to_owned()),
        })
}
