//! Fills in `{{ cluster.endpoint }}` and the other names in user data.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ca_cert_hash::ca_cert_hash;
use super::gzip::GZIP;
use crate::plan::Plan;
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::nearest::nearest;

/// The values that user data can name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<&'static str, String>);

impl Values {
    /// The place of each value of a cluster that no test can have: a run fills them in.
    #[must_use]
    pub fn places_of_cluster() -> Self {
        let names = [
            "cluster.certificate_authority",
            "cluster.bootstrap_token",
            "cluster.ca_cert_hash",
        ];
        Self(
            names
                .into_iter()
                .map(|name| (name, format!("{{{{ {name} }}}}")))
                .collect(),
        )
    }

    /// The values of a plan. `certificate_authority` is the PEM of the CA that nodes of the cluster receive.
    #[must_use]
    pub fn of(plan: &Plan, certificate_authority: &str) -> Self {
        let (cluster, instance) = (&plan.cluster, &plan.instance);
        let role = plan
            .role
            .as_ref()
            .map(|role| role.name.clone())
            .unwrap_or_default();
        let host = cluster.endpoint_host(&plan.region);
        let mut values = BTreeMap::from([
            ("account.id", plan.account.to_string()),
            ("cluster.api_server", format!("{host}:443")),
            ("cluster.ca_cert_hash", ca_cert_hash(certificate_authority)),
            (
                "cluster.certificate_authority",
                STANDARD.encode(certificate_authority),
            ),
            ("cluster.dns_ip", dns_ip(cluster.service_ipv4_cidr.as_deref())),
            ("cluster.endpoint", format!("https://{host}")),
            ("cluster.name", cluster.name.clone()),
            (
                "cluster.service_ipv4_cidr",
                service_cidr(cluster.service_ipv4_cidr.as_deref()).to_string(),
            ),
            ("identity.certificate", String::new()),
            ("identity.dsa_certificate", String::new()),
            ("identity.rsa2048_certificate", String::new()),
            ("instance.availability_zone", instance.availability_zone.clone()),
            ("instance.host_name", instance.host_name.clone()),
            ("instance.id", instance.id.to_string()),
            ("instance.private_dns_name", instance.private_dns_name.clone()),
            ("instance.private_ip", instance.private_ip.to_string()),
            ("instance.region", plan.region.to_string()),
            ("instance.role", role),
            ("instance.type", instance.instance_type.clone()),
        ]);
        if let Some(outpost) = &cluster.eks.outpost {
            values.insert("cluster.id", outpost.cluster_id.clone());
        }
        if let Some(token) = cluster.bootstrap_tokens.first() {
            values.insert("cluster.bootstrap_token", token.token.to_string());
        }
        Self(values)
    }

    /// Adds the certificates, in PEM, that verify the signatures of the identity document: `signature`, `pkcs7` and
    /// `rsa2048`.
    #[must_use]
    pub fn with_identity(mut self, signature: &str, pkcs7: &str, rsa2048: &str) -> Self {
        self.0.insert("identity.certificate", STANDARD.encode(signature));
        self.0.insert("identity.dsa_certificate", STANDARD.encode(pkcs7));
        self.0
            .insert("identity.rsa2048_certificate", STANDARD.encode(rsa2048));
        self
    }

    /// Replaces every value in a text by its name, as user data would write it. Replaces long values first, because
    /// one may contain another; also replaces the PEM of the CA. Short and common words stay.
    #[must_use]
    pub fn named(&self, text: &str) -> String {
        const WORDS: [&str; 4] = [
            "instance.region",
            "instance.type",
            "cluster.service_ipv4_cidr",
            "cluster.dns_ip",
        ];
        let mut pairs: Vec<(String, &str)> = Vec::new();
        for (name, value) in &self.0 {
            if !WORDS.contains(name) && !value.is_empty() {
                pairs.push((value.clone(), name));
            }
        }
        if let Some(encoded) = self.0.get("cluster.certificate_authority") {
            let pem = STANDARD
                .decode(encoded)
                .ok()
                .and_then(|pem| String::from_utf8(pem).ok());
            pairs.extend(pem.map(|pem| (pem.trim_end().to_owned(), "cluster.certificate_authority")));
        }
        // If host name and private DNS name are equal, the latter is better known.
        pairs.sort_by_key(|(value, name)| (std::cmp::Reverse(value.len()), *name == "instance.host_name"));
        let filled = pairs.iter().filter(|(value, _)| !value.is_empty());
        filled.fold(text.to_owned(), |text, (value, name)| {
            text.replace(value, &format!("{{{{ {name} }}}}"))
        })
    }

    /// The value of a name; empty if there is none.
    pub(super) fn get(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// The names between `{{` and `}}`.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

/// An unknown name between `{{` and `}}` with one of our prefixes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown name `{{{{ {name} }}}}` in line {line} of the user data")]
pub struct UnknownTemplate {
    pub name: String,
    /// Line number in the user data, from 1.
    pub line: usize,
    /// The most similar name.
    pub nearest: Option<String>,
}

impl UnknownTemplate {
    /// How to solve it.
    #[must_use]
    pub fn hint(&self) -> String {
        match &self.nearest {
            Some(right) => format!("did you mean `{{{{ {right} }}}}`?"),
            None => "`nodejoin plan` lists the names".to_owned(),
        }
    }
}

/// Fills in the values. Other `{{ }}`, such as those of Jinja and Go templates, and compressed user data stay
/// unchanged.
///
/// # Errors
/// A name with one of our prefixes is unknown.
pub fn fill(user_data: &[u8], values: &Values) -> Result<Vec<u8>, UnknownTemplate> {
    if user_data.starts_with(&GZIP) {
        return Ok(user_data.to_vec());
    }
    let mut filled = Vec::with_capacity(user_data.len());
    let mut rest = user_data;
    while let Some((before, inner, after)) = next_template(rest) {
        filled.extend_from_slice(before);
        match values.0.get(inner.trim()) {
            Some(value) => filled.extend_from_slice(value.as_bytes()),
            None if has_our_prefix(inner.trim()) => {
                return Err(unknown(user_data, rest, before, inner, values));
            }
            None => filled.extend_from_slice(&rest[before.len()..rest.len() - after.len()]),
        }
        rest = after;
    }
    filled.extend_from_slice(rest);
    Ok(filled)
}

/// The user data with a word in place of each value that a run fills in: as it is, a template is a map in YAML.
pub(crate) fn with_words(user_data: &[u8]) -> Vec<u8> {
    const WORD: &[u8] = b"value";
    let mut words = Vec::with_capacity(user_data.len());
    let mut rest = user_data;
    if !user_data.starts_with(&GZIP) {
        while let Some((before, inner, after)) = next_template(rest) {
            words.extend_from_slice(before);
            match has_our_prefix(inner.trim()) {
                true => words.extend_from_slice(WORD),
                false => words.extend_from_slice(&rest[before.len()..rest.len() - after.len()]),
            }
            rest = after;
        }
    }
    words.extend_from_slice(rest);
    words
}

/// Splits at the next `{{`: the text before it, the text inside, and the rest after `}}`. Templates do not span
/// lines.
pub(super) fn next_template(bytes: &[u8]) -> Option<(&[u8], &str, &[u8])> {
    let mut from = 0;
    loop {
        let start = from + find(&bytes[from..], b"{{")?;
        let inside = &bytes[start + 2..];
        let line_end = inside
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(inside.len());
        let end = find(&inside[..line_end], b"}}");
        if let Some(Ok(text)) = end.map(|end| std::str::from_utf8(&inside[..end])) {
            return Some((&bytes[..start], text, &inside[text.len() + 2..]));
        }
        from = start + 2;
    }
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

fn has_our_prefix(name: &str) -> bool {
    ["cluster.", "instance.", "account.", "identity."]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn unknown(all: &[u8], rest: &[u8], before: &[u8], inner: &str, values: &Values) -> UnknownTemplate {
    let offset = all.len() - rest.len() + before.len();
    let name = inner.trim().to_owned();
    UnknownTemplate {
        line: all[..offset].iter().filter(|byte| **byte == b'\n').count() + 1,
        nearest: nearest(&name, values.names()).map(str::to_owned),
        name,
    }
}

fn dns_ip(cidr: Option<&str>) -> String {
    service_cidr(cidr).address(10).to_string()
}

/// The network of service addresses; the default of EKS if DescribeCluster returns null.
fn service_cidr(cidr: Option<&str>) -> Cidr {
    cidr.and_then(|cidr| cidr.parse().ok())
        .unwrap_or_else(|| Cidr::around([10, 100, 0, 0].into(), 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        Values(BTreeMap::from([
            ("cluster.name", "demo".to_owned()),
            ("instance.id", "i-1".to_owned()),
        ]))
    }

    #[test]
    fn only_names_with_our_prefixes_are_filled_in() {
        for (given, expected) in [
            (
                "bootstrap.sh {{ cluster.name }} {{instance.id}}\n",
                "bootstrap.sh demo i-1\n",
            ),
            (
                "{{ v1.region }} {{.Id}} ${{x}} {{",
                "{{ v1.region }} {{.Id}} ${{x}} {{",
            ),
            ("{{\n{{ cluster.name }}", "{{\ndemo"),
            ("\u{1f600}{{ cluster.name }}\u{1f600}", "\u{1f600}demo\u{1f600}"),
            ("", ""),
        ] {
            assert_eq!(
                String::from_utf8(fill(given.as_bytes(), &values()).unwrap()).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn binary_user_data_stays() {
        let bytes = [0xff, b'{', b'{', 0xfe, b'}', b'}', 0x00];
        assert_eq!(fill(&bytes, &values()).unwrap(), bytes);
        let packed = [&GZIP[..], b"{{ cluster.name }}"].concat();
        assert_eq!(fill(&packed, &values()).unwrap(), packed);
    }

    #[test]
    fn an_unknown_name_is_rejected_with_its_line() {
        let error = fill(b"#!/bin/sh\necho {{ cluster.nmae }}\n", &values()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown name `{{ cluster.nmae }}` in line 2 of the user data"
        );
        assert_eq!(error.hint(), "did you mean `{{ cluster.name }}`?");
        for name in ["account.x", "identity.x", "instance.x"] {
            let text = format!("{{{{ {name} }}}}");
            assert_eq!(fill(text.as_bytes(), &values()).unwrap_err().name, name);
        }
    }
}
