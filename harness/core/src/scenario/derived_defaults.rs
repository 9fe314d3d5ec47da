//! Defaults derived from the id of a scenario, so that they are the same in every run and on every machine.

use std::net::Ipv4Addr;

use sha2::{Digest, Sha256};

use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::ids::ScenarioId;

/// Derives the defaults of one scenario.
pub(super) struct DerivedDefaults<'a> {
    id: &'a ScenarioId,
}

impl<'a> DerivedDefaults<'a> {
    pub(super) fn of(id: &'a ScenarioId) -> Self {
        Self { id }
    }

    /// An EC2 id such as `i-0b22a22eec53b9321`, with a leading zero as on EC2.
    pub(super) fn aws_id(&self, prefix: &str) -> String {
        format!("{prefix}-0{}", &hex(&self.digest(prefix))[..16])
    }

    /// A usable address of the subnet.
    pub(super) fn address(&self, subnet: &Cidr) -> Ipv4Addr {
        let usable = subnet.size().saturating_sub(5).max(1);
        subnet.address(4 + self.number("private_ip") % usable)
    }

    /// A MAC address like those on EC2: locally administered, starting with `0a`.
    pub(super) fn mac(&self) -> String {
        let digest = self.digest("mac");
        let bytes: Vec<String> = digest[..5].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("0a:{}", bytes.join(":"))
    }

    /// A role name in the format of CloudFormation, at most 64 characters.
    pub(super) fn role(&self) -> String {
        let suffix: String = self
            .digest("role")
            .iter()
            .take(12)
            .map(|byte| BASE32[usize::from(byte % 32)])
            .collect();
        format!("nodejoin-{}-NodeInstanceRole-{suffix}", self.slug(24))
    }

    pub(super) fn cluster_name(&self) -> String {
        format!("{}-{}", self.slug(40), &hex(&self.digest("cluster"))[..6])
    }

    /// First label of the host name of the endpoint.
    pub(super) fn endpoint_id(&self) -> String {
        hex(&self.digest("endpoint"))[..32].to_uppercase()
    }

    /// A bootstrap token, by its index in the scenario.
    pub(super) fn bootstrap_token(&self, index: usize) -> String {
        let digits = hex(&self.digest(&format!("bootstrap token {index}")));
        format!("{}.{}", &digits[..6], &digits[6..22])
    }

    /// The last part of the id, as far as names of AWS allow it.
    fn slug(&self, length: usize) -> String {
        let last = self.id.as_str().rsplit('/').next().unwrap_or_default();
        let slug: String = last
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(length)
            .collect();
        let slug = slug.trim_matches('-');
        if slug.is_empty() {
            "scenario".to_owned()
        } else {
            slug.to_owned()
        }
    }

    fn number(&self, what: &str) -> u32 {
        let digest = self.digest(what);
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
    }

    fn digest(&self, what: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.id.as_str());
        hash.update([0]);
        hash.update(what);
        hash.finalize().into()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const BASE32: [char; 32] = [
    'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q', 'R', 'S', 'T', 'U',
    'V', 'W', 'X', 'Y', 'Z', '2', '3', '4', '5', '6', '7',
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::ids::InstanceId;

    #[test]
    fn values_are_stable_and_differ_between_scenarios() {
        let (a, b): (ScenarioId, ScenarioId) = (
            "refused/role-not-mapped".parse().unwrap(),
            "refused/other".parse().unwrap(),
        );
        let (a, b) = (DerivedDefaults::of(&a), DerivedDefaults::of(&b));
        assert_eq!(a.cluster_name(), "role-not-mapped-0c6163");
        assert_ne!(a.endpoint_id(), b.endpoint_id());
        assert!(a.aws_id("i").parse::<InstanceId>().is_ok(), "{}", a.aws_id("i"));
        assert_eq!(a.mac().len(), 17);
        let vpc: Cidr = "192.168.0.0/16".parse().unwrap();
        assert!(vpc.contains(a.address(&vpc)) && !vpc.is_reserved(a.address(&vpc)));
        assert_ne!(a.address(&vpc), b.address(&vpc));
    }

    #[test]
    fn names_respect_the_limits_of_aws() {
        let id: ScenarioId = "a/a-very-long-name-of-a-scenario.with.dots-and-more-than-forty-letters"
            .parse()
            .unwrap();
        let unique = DerivedDefaults::of(&id);
        assert!(unique.role().len() <= 64, "{}", unique.role());
        assert!(
            unique
                .cluster_name()
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
        );
    }
}
