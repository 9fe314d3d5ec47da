//! The paths of the instance metadata service, below the version.

/// A path, and the version of the service that introduced it.
struct KnownPath {
    /// `{}` stands for one segment.
    pattern: &'static str,
    /// `None` for paths of EC2 that the fake does not have: it returns 404, as EC2 does for most instances.
    since: Option<&'static str>,
}

const fn path(pattern: &'static str, since: &'static str) -> KnownPath {
    KnownPath {
        pattern,
        since: Some(since),
    }
}

const fn absent(pattern: &'static str) -> KnownPath {
    KnownPath { pattern, since: None }
}

/// The path of session tokens.
pub const TOKEN: &str = "api/token";

const PATHS: &[KnownPath] = &[
    path("dynamic/fws/instance-monitoring", "2009-04-04"),
    path("dynamic/instance-identity/document", "2009-04-04"),
    path("dynamic/instance-identity/pkcs7", "2009-04-04"),
    path("dynamic/instance-identity/rsa2048", "2016-06-30"),
    path("dynamic/instance-identity/signature", "2009-04-04"),
    path("meta-data/ami-id", "1.0"),
    path("meta-data/ami-launch-index", "1.0"),
    path("meta-data/ami-manifest-path", "1.0"),
    path("meta-data/autoscaling/target-lifecycle-state", "2021-07-15"),
    path("meta-data/block-device-mapping/ami", "2007-12-15"),
    path("meta-data/block-device-mapping/root", "2007-12-15"),
    path("meta-data/events/maintenance/history", "2018-08-17"),
    path("meta-data/events/maintenance/scheduled", "2018-08-17"),
    path("meta-data/events/recommendations/rebalance", "2020-10-27"),
    path("meta-data/hibernation/configured", "2018-11-29"),
    path("meta-data/hostname", "1.0"),
    path("meta-data/iam/info", "2012-01-12"),
    path("meta-data/iam/security-credentials/{}", "2012-01-12"),
    path("meta-data/identity-credentials/ec2/info", "2018-05-23"),
    path(
        "meta-data/identity-credentials/ec2/security-credentials/ec2-instance",
        "2018-05-23",
    ),
    path("meta-data/instance-action", "2008-09-01"),
    path("meta-data/instance-id", "1.0"),
    path("meta-data/instance-life-cycle", "2019-10-01"),
    path("meta-data/instance-type", "2007-08-29"),
    path("meta-data/ipv6", "2021-01-03"),
    path("meta-data/local-hostname", "2007-01-19"),
    path("meta-data/local-ipv4", "1.0"),
    path("meta-data/mac", "2011-01-01"),
    path("meta-data/metrics/vhostmd", "2011-05-01"),
    path("meta-data/network/interfaces/macs/{}/device-number", "2011-01-01"),
    path("meta-data/network/interfaces/macs/{}/interface-id", "2011-01-01"),
    path(
        "meta-data/network/interfaces/macs/{}/ipv4-associations/{}",
        "2011-01-01",
    ),
    path("meta-data/network/interfaces/macs/{}/ipv6s", "2016-06-30"),
    path(
        "meta-data/network/interfaces/macs/{}/local-hostname",
        "2011-01-01",
    ),
    path("meta-data/network/interfaces/macs/{}/local-ipv4s", "2011-01-01"),
    path("meta-data/network/interfaces/macs/{}/mac", "2011-01-01"),
    path("meta-data/network/interfaces/macs/{}/network-card", "2020-11-01"),
    path("meta-data/network/interfaces/macs/{}/owner-id", "2011-01-01"),
    path(
        "meta-data/network/interfaces/macs/{}/public-hostname",
        "2011-01-01",
    ),
    path("meta-data/network/interfaces/macs/{}/public-ipv4s", "2011-01-01"),
    path(
        "meta-data/network/interfaces/macs/{}/security-group-ids",
        "2011-01-01",
    ),
    path(
        "meta-data/network/interfaces/macs/{}/security-groups",
        "2011-01-01",
    ),
    path("meta-data/network/interfaces/macs/{}/subnet-id", "2011-01-01"),
    path(
        "meta-data/network/interfaces/macs/{}/subnet-ipv4-cidr-block",
        "2011-01-01",
    ),
    path(
        "meta-data/network/interfaces/macs/{}/subnet-ipv6-cidr-blocks",
        "2016-06-30",
    ),
    path("meta-data/network/interfaces/macs/{}/vpc-id", "2011-01-01"),
    path(
        "meta-data/network/interfaces/macs/{}/vpc-ipv4-cidr-block",
        "2011-01-01",
    ),
    path(
        "meta-data/network/interfaces/macs/{}/vpc-ipv4-cidr-blocks",
        "2016-06-30",
    ),
    path(
        "meta-data/network/interfaces/macs/{}/vpc-ipv6-cidr-blocks",
        "2016-06-30",
    ),
    path("meta-data/placement/availability-zone", "2008-02-01"),
    path("meta-data/placement/availability-zone-id", "2020-08-24"),
    path("meta-data/placement/region", "2020-08-24"),
    path("meta-data/profile", "2007-12-15"),
    path("meta-data/public-hostname", "2007-01-19"),
    path("meta-data/public-ipv4", "2007-01-19"),
    path("meta-data/public-keys/{}/openssh-key", "1.0"),
    path("meta-data/reservation-id", "1.0"),
    path("meta-data/security-groups", "1.0"),
    path("meta-data/services/domain", "2014-02-25"),
    path("meta-data/services/partition", "2015-10-20"),
    path("meta-data/spot/instance-action", "2016-11-15"),
    path("meta-data/spot/termination-time", "2014-11-05"),
    path("meta-data/system", "2018-08-17"),
    path("meta-data/tags/instance/{}", "2021-03-23"),
    path("user-data", "1.0"),
    absent("meta-data/ancestor-ami-ids"),
    absent("meta-data/block-device-mapping/{}"),
    absent("meta-data/elastic-gpus/associations/{}"),
    absent("meta-data/elastic-inference/associations/{}"),
    absent("meta-data/ipv4-associations/{}"),
    absent("meta-data/kernel-id"),
    absent("meta-data/managed-ssh-keys/signer-cert"),
    absent("meta-data/network/interfaces/macs/{}/ipv4-prefix"),
    absent("meta-data/network/interfaces/macs/{}/ipv6-prefix"),
    absent("meta-data/outpost-arn"),
    absent("meta-data/placement/group-name"),
    absent("meta-data/placement/host-id"),
    absent("meta-data/placement/partition-number"),
    absent("meta-data/product-codes"),
    absent("meta-data/ramdisk-id"),
];

/// The version that introduced a path; the first version for a path that is not in the table.
#[must_use]
pub fn since(path: &str) -> &'static str {
    let mut found = PATHS.iter().filter(|one| is_instance(one.pattern, path));
    found.find_map(|one| one.since).unwrap_or("1.0")
}

/// Whether a path, or a directory with or without its final slash, exists on some instance.
#[must_use]
pub fn exists(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    path.is_empty() || path == TOKEN || PATHS.iter().any(|one| is_below(one.pattern, path))
}

/// Whether some path starts with this text.
#[must_use]
pub fn starts_any(start: &str) -> bool {
    let (directory, name) = start.rsplit_once('/').unwrap_or(("", start));
    let begins = |pattern: &str| {
        let segments = pattern.split('/').collect::<Vec<_>>();
        let depth = if directory.is_empty() {
            0
        } else {
            directory.split('/').count()
        };
        let next = segments.get(depth);
        (directory.is_empty() || is_below(pattern, directory))
            && next.is_some_and(|next| *next == "{}" || next.starts_with(name))
    };
    PATHS.iter().any(|one| begins(one.pattern)) || TOKEN.starts_with(start)
}

/// All paths, for suggestions.
pub fn patterns() -> impl Iterator<Item = &'static str> {
    PATHS.iter().map(|one| one.pattern).chain([TOKEN])
}

fn is_instance(pattern: &str, path: &str) -> bool {
    pattern.split('/').count() == path.split('/').count() && is_below(pattern, path)
}

/// Whether a path is the beginning of an instance of the pattern, by whole segments.
fn is_below(pattern: &str, path: &str) -> bool {
    let mut pattern = pattern.split('/');
    path.split('/').all(|segment| {
        pattern
            .next()
            .is_some_and(|one| one == segment || (one == "{}" && !segment.is_empty()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_directories_exist() {
        for known in [
            "",
            "/",
            "api/token",
            "user-data",
            "meta-data/",
            "meta-data/instance-id",
            "meta-data/iam/security-credentials/",
            "meta-data/iam/security-credentials/demo-role",
            "meta-data/network/interfaces/macs/0a:1b:2c:3d:4e:5f/vpc-id",
            "dynamic/instance-identity/document",
        ] {
            assert!(exists(known), "{known}");
        }
        for unknown in [
            "meta-data/instance_id",
            "meta-data/vpc-id",
            "meta-data/mac/x",
            "latest/meta-data/mac",
        ] {
            assert!(!exists(unknown), "{unknown}");
        }
    }

    #[test]
    fn beginnings_of_paths_are_known() {
        for known in [
            "",
            "meta-data/",
            "meta-data/network/interfaces/macs/",
            "meta-data/pla",
            "dyn",
            "api/",
        ] {
            assert!(starts_any(known), "{known}");
        }
        for unknown in ["metadata/", "meta-data/netwrok/", "meta-data/mac/"] {
            assert!(!starts_any(unknown), "{unknown}");
        }
    }

    #[test]
    fn each_path_has_its_version() {
        assert_eq!(since("meta-data/placement/region"), "2020-08-24");
        assert_eq!(since("meta-data/public-keys/0/openssh-key"), "1.0");
        assert_eq!(since("meta-data/tags/instance/Name"), "2021-03-23");
    }
}
