//! The names in an API server's certificate.

use nodejoin_core::plan::region::Region;

/// `controlPlaneEndpoint` of kubeadm for a `local` control plane.
pub(crate) const CLUSTER_ENDPOINT: &str = "cluster-endpoint.internal";

const IN_CLUSTER: [&str; 4] = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];
const ADDRESSES: [&str; 3] = ["localhost", "127.0.0.1", "10.100.0.1"];

/// The names by which nodes and the harness reach an API server that the harness starts.
///
/// `host` is the endpoint of scenarios that choose their own. EKS endpoints are
/// `https://<ID>.gr7.<region>.eks.<suffix>`. A scenario may use any region, and the container's address is unknown
/// before it starts, so the harness connects with the name `kubernetes`.
pub(crate) fn api_server_names(host: Option<&str>) -> Vec<String> {
    let endpoints = Region::all().map(|region| format!("*.gr7.{region}.eks.{}", region.dns_suffix()));
    IN_CLUSTER
        .into_iter()
        .chain(ADDRESSES)
        .chain(host)
        .map(str::to_owned)
        .chain(endpoints)
        .collect()
}
