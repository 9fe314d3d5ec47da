//! Parses the PKCS #10 text of a certificate signing request.

use std::net::IpAddr;

use x509_parser::prelude::*;

/// Subject and alternative names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CertificateRequest {
    pub(crate) common_name: Option<String>,
    pub(crate) organizations: Vec<String>,
    pub(crate) dns_names: Vec<String>,
    pub(crate) ip_addresses: Vec<IpAddr>,
    /// Names of other types. A kubelet requests none.
    pub(crate) other_names: Vec<String>,
}

impl CertificateRequest {
    /// Parses a PEM text.
    pub(crate) fn parse(pem: &[u8]) -> Option<Self> {
        let (_, pem) = parse_x509_pem(pem).ok()?;
        let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
        let subject = &request.certification_request_info.subject;
        let text = |attribute: &AttributeTypeAndValue<'_>| attribute.as_str().ok().map(str::to_owned);
        let mut parsed = Self {
            common_name: subject.iter_common_name().next().and_then(text),
            organizations: subject.iter_organization().filter_map(text).collect(),
            ..Self::default()
        };
        for extension in request.requested_extensions().into_iter().flatten() {
            if let ParsedExtension::SubjectAlternativeName(names) = extension {
                names.general_names.iter().for_each(|name| parsed.add(name));
            }
        }
        Some(parsed)
    }

    fn add(&mut self, name: &GeneralName<'_>) {
        match name {
            GeneralName::DNSName(name) => self.dns_names.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => match ip_address(bytes) {
                Some(address) => self.ip_addresses.push(address),
                None => self.other_names.push(format!("{bytes:?}")),
            },
            other => self.other_names.push(other.to_string()),
        }
    }
}

fn ip_address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}
