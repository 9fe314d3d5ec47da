//! What settings of Bottlerocket state about node and cluster.

use crate::machine::{ClusterTraits, Traits};
use crate::words::taint_of_text;

/// The values of the cluster that a reader of manifests wrote into the settings, as the file states none. The endpoint
/// tells them from those of a cluster with the same name.
fn stand_in(kubernetes: &toml::Value, traits: &Traits) -> Vec<String> {
    let endpoint = kubernetes.get("api-server").and_then(toml::Value::as_str);
    let here = traits.region.as_deref().and_then(|region| region.parse().ok());
    let made = [ClusterTraits::stand_in(), ClusterTraits::stand_in_at(here)];
    let mut made = made
        .into_iter()
        .filter(|made| endpoint.is_some() && made.endpoint.as_deref() == endpoint);
    made.next().map_or(Vec::new(), |made| {
        let values = [made.name, made.endpoint, made.certificate_authority, made.dns_ip];
        values.into_iter().flatten().collect()
    })
}

/// Adds what the settings state about node and cluster.
pub(crate) fn describe(table: &toml::Table, traits: &mut Traits) {
    let Some(kubernetes) = table
        .get("settings")
        .and_then(|settings| settings.get("kubernetes"))
    else {
        return;
    };
    let stand_in = stand_in(kubernetes, traits);
    let text = |key: &str| {
        let value = kubernetes.get(key)?.as_str()?.to_owned();
        Some(value).filter(|value| !stand_in.contains(value))
    };
    let cluster = &mut traits.cluster;
    cluster.name = cluster.name.take().or_else(|| text("cluster-name"));
    cluster.endpoint = cluster.endpoint.take().or_else(|| text("api-server"));
    cluster.certificate_authority = cluster
        .certificate_authority
        .take()
        .or_else(|| text("cluster-certificate"));
    cluster.dns_ip = cluster.dns_ip.take().or_else(|| text("cluster-dns-ip"));
    let pods = kubernetes.get("max-pods").and_then(toml::Value::as_integer);
    traits.max_pods = pods.and_then(|pods| pods.try_into().ok()).or(traits.max_pods);
    let labels = kubernetes.get("node-labels").and_then(toml::Value::as_table);
    for (key, value) in labels.into_iter().flatten() {
        let value = value.as_str().unwrap_or_default().to_owned();
        traits.labels.entry(key.clone()).or_insert(value);
    }
    let taints = kubernetes.get("node-taints").and_then(toml::Value::as_table);
    for (key, value) in taints.into_iter().flatten() {
        let one = std::slice::from_ref(value);
        let values = value.as_array().map_or(one, Vec::as_slice);
        let values = values.iter().filter_map(toml::Value::as_str);
        let taints = values.filter_map(|value| taint_of_text(&format!("{key}={value}")));
        let new: Vec<_> = taints.filter(|taint| !traits.taints.contains(taint)).collect();
        traits.taints.extend(new);
    }
}

/// Taints with an effect that Kubernetes does not have: Bottlerocket takes them, and the kubelet exits at them.
pub(super) fn unknown_taints(kubernetes: &toml::Table) -> Vec<String> {
    let taints = kubernetes.get("node-taints").and_then(toml::Value::as_table);
    let texts = taints.into_iter().flatten().flat_map(|(key, value)| {
        let one = std::slice::from_ref(value);
        let values = value.as_array().map_or(one, Vec::as_slice);
        let values = values.iter().filter_map(toml::Value::as_str);
        values.map(move |value| format!("{key}={value}"))
    });
    texts
        .filter(|text| taint_of_text(text).is_none())
        .map(|text| text.replace("=:", ":"))
        .collect()
}
