//! Values of another cluster in the user data: its endpoint, or its CA.

use super::facts::{Evidence, Facts};
use super::script_output::shortened;
use crate::observation::Millis;
use crate::user_data::{ReplacedValue, parse, replace_cluster};

/// What replaces the values of another cluster by those of the run.
pub(super) const WAY_OUT: &str = "`nodejoin try FILE` adopts the cluster of a file";

/// The line of the user data that contains the endpoint of another cluster.
pub(super) fn endpoint(facts: &Facts<'_>, host: &str, at: Millis) -> Option<Evidence> {
    let is_own = host == facts.plan.cluster.endpoint_host(&facts.plan.region);
    let is_of_eks = host.contains(".eks.amazonaws.com");
    line_with(facts, &[host], at).filter(|_| is_of_eks && !is_own)
}

/// The line of the user data that contains a CA. Every control plane has its own, so this is the CA of another one.
pub(super) fn certificate_authority(facts: &Facts<'_>, at: Millis) -> Option<Evidence> {
    // `-----BEGIN C` in base64, and as it is.
    const BEGINS: [&str; 2] = ["LS0tLS1CRUdJTiBD", "-----BEGIN CERTIFICATE"];
    let data = facts
        .plan
        .user_data
        .as_ref()
        .filter(|data| data.replace.is_none());
    let found = replace_cluster(&data.and(facts.user_data())?, &Default::default());
    line_with(facts, &BEGINS, at).filter(|_| found.values.contains(&ReplacedValue::CertificateAuthority))
}

/// The remedy for an endpoint in the user data.
pub(super) fn remedy_for_endpoint(host: &str) -> String {
    format!(
        "pass `{{{{ cluster.endpoint }}}}`, or give the cluster of the scenario this endpoint: `cluster: {{ endpoint: \"https://{host}\" \
         }}`; {WAY_OUT}"
    )
}

/// The line with one of these texts; `at` is the time of its effect.
fn line_with(facts: &Facts<'_>, texts: &[&str], at: Millis) -> Option<Evidence> {
    let parsed = parse(&facts.user_data()?);
    parsed.parts.iter().find_map(|part| {
        let content = String::from_utf8_lossy(&part.content);
        let mut lines = (1..).zip(content.lines());
        let (number, line) =
            lines.find(|(_, line): &(u64, &str)| texts.iter().any(|text| line.contains(text)))?;
        let text = format!("{}, line {number}: {}", part.name, shortened(line.trim()));
        Some(Evidence::new("user data", at, text))
    })
}
