//! The endpoint of the cluster that file and user data name, and whether EKS can have it.

use nodejoin_core::plan::EndpointUrl;
use nodejoin_core::vocabulary::region::Region;

use super::stated::Stated;
use super::trial::{AdoptionKind, AdoptionLine, line};
use super::yaml_text::YamlText;
use crate::machine::Traits;

/// The endpoint that the file states.
pub(super) fn endpoint(
    traits: &Traits,
    stated: &Stated,
    report: &mut Vec<AdoptionLine>,
) -> Option<EndpointUrl> {
    let text = stated.endpoint.as_ref().or(traits.cluster.endpoint.as_ref())?;
    // A kubeconfig may leave out the scheme.
    let endpoint = text.parse().or_else(|_| format!("https://{text}").parse()).ok();
    if endpoint.is_some() {
        line(report, AdoptionKind::Adopted, format!("endpoint {text}"));
    }
    endpoint
}

/// A fault of the resolver for an endpoint that has the name of one of EKS in another domain: a run serves every name,
/// and DNS lacks this one.
pub(super) fn misspelt_domain(
    endpoint: Option<&EndpointUrl>,
    report: &mut Vec<AdoptionLine>,
) -> Option<YamlText> {
    let host = endpoint?.host();
    let (region, domain) = Region::all().find_map(|region| {
        let (_, domain) = host.split_once(&format!(".{region}.eks."))?;
        Some((region, domain))
    })?;
    let right = region.dns_suffix();
    if domain == right {
        return None;
    }
    let text = format!(
        "the endpoint {host} is in the domain `{domain}`, and those of EKS in {region} are in `{right}`: DNS does not know it, and in \
         this trial no program finds it"
    );
    line(report, AdoptionKind::Problem, text);
    let fault = YamlText::map([
        ("name", Some(YamlText::text(&host.to_ascii_lowercase()))),
        ("effect", Some(YamlText::plain("nxdomain"))),
        ("may_fire", Some(YamlText::plain(true))),
    ]);
    Some(YamlText::List(vec![fault]))
}
