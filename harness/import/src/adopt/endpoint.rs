//! The endpoint of the cluster that file and user data name, and whether EKS can have it.

use nodejoin_core::plan::EndpointUrl;
use nodejoin_core::vocabulary::region::Region;

use super::endpoint_mistakes::endpoint_mistake;
use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use super::yaml_text::YamlText;
use crate::machine::Traits;

/// The endpoint that the file states.
pub(super) fn endpoint(
    traits: &Traits,
    stated: &Stated,
    report: &mut Vec<AdoptionLine>,
) -> Option<EndpointUrl> {
    let (of_cluster, of_text) = (traits.cluster.endpoint.as_ref(), stated.endpoint.as_ref());
    if let Some(mistake) = of_text.and_then(|text| endpoint_mistake(text)) {
        line(report, AdoptionKind::Problem, mistake.sentence());
        let of_cluster = of_cluster.and_then(|text| text.parse().ok());
        return of_cluster.or(mistake.meant);
    }
    let other = of_cluster
        .zip(of_text)
        .filter(|(one, other)| host_of(one) != host_of(other));
    if let Some((of_cluster, of_text)) = other {
        let text = format!(
            "the user data names the endpoint {of_text}, the cluster in the rest of the file has {of_cluster}: that of the run has \
             {of_cluster}"
        );
        line(report, AdoptionKind::Problem, text);
    }
    let text = other
        .map(|(of_cluster, _)| of_cluster)
        .or(of_text)
        .or(of_cluster)?;
    // A kubeconfig may leave out the scheme.
    let endpoint = text.parse().or_else(|_| format!("https://{text}").parse()).ok();
    if endpoint.is_some() {
        line(report, AdoptionKind::Adopted, format!("endpoint {text}"));
    }
    endpoint
}

/// The host of an endpoint, whose scheme a file may leave out.
fn host_of(endpoint: &str) -> String {
    let host = endpoint
        .trim()
        .trim_start_matches("https://")
        .trim_end_matches('/');
    host.to_ascii_lowercase()
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
