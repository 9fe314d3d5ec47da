//! kubeadm's objects as data.

use std::collections::BTreeMap;

use nodejoin_core::kubernetes::{Minor, kubeadm_api, kubelet_config_map};
use nodejoin_core::plan::bootstrap_token::{BootstrapToken, DEFAULT_GROUP, TokenUsage};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::address::Kubeadm;
use crate::api_server::access::base64;
use crate::api_server::objects::{bound_role, cluster_role, cluster_role_binding, group, rule, user};

/// The kubelet's configuration as kubeadm writes it, with the cgroup driver `systemd`, its default since 1.22.
const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: { enabled: false }
  webhook: { enabled: true, cacheTTL: 0s }
  x509: { clientCAFile: /etc/kubernetes/pki/ca.crt }
authorization: { mode: Webhook }
cgroupDriver: systemd
clusterDNS: [10.100.0.10]
clusterDomain: cluster.local
healthzBindAddress: 127.0.0.1
healthzPort: 10248
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
";

pub(super) const PUBLIC: &str = "kube-public";
pub(super) const SYSTEM: &str = "kube-system";
const NODE_CLIENT: &str = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";

pub(super) fn secret_name(token: &BootstrapToken) -> String {
    format!("bootstrap-token-{}", token.token.id())
}

pub(super) fn secret(token: &BootstrapToken, now: OffsetDateTime) -> Value {
    let mut data = BTreeMap::from([
        ("token-id", token.token.id().to_owned()),
        ("token-secret", token.token.secret().to_owned()),
        ("auth-extra-groups", token.groups.join(",")),
    ]);
    for usage in TokenUsage::ALL {
        data.insert(usage.key(), token.usages.contains(&usage).to_string());
    }
    if let Some(seconds) = token.expires_seconds {
        let at = now + time::Duration::seconds_f64(seconds);
        // kubeadm writes whole seconds.
        let at = at.replace_nanosecond(0).unwrap_or(at).format(&Rfc3339);
        data.insert("expiration", at.unwrap_or_default());
    }
    let data: BTreeMap<_, _> = data
        .into_iter()
        .map(|(key, value)| (key, base64(&value)))
        .collect();
    json!({ "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": { "name": secret_name(token), "namespace": SYSTEM }, "data": data })
}

pub(super) fn objects(kubeadm: &Kubeadm, version: &str, ca_pem: &str) -> Vec<Value> {
    let minor = Minor::of(version);
    let kubelet_config = kubelet_config_map(minor);
    let readers = [group(DEFAULT_GROUP), group("system:nodes")];
    let kubelet_role = format!("kubeadm:{kubelet_config}");
    let mut objects = vec![
        config_map(
            PUBLIC,
            "cluster-info",
            &json!({ "kubeconfig": cluster_info(kubeadm, ca_pem) }),
        ),
        config_map(
            SYSTEM,
            "kubeadm-config",
            &json!({ "ClusterConfiguration": cluster_configuration(kubeadm, version) }),
        ),
        config_map(SYSTEM, &kubelet_config, &json!({ "kubelet": KUBELET })),
        bind_default_group("kubeadm:kubelet-bootstrap", "system:node-bootstrapper"),
        bind_default_group("kubeadm:node-autoapprove-bootstrap", NODE_CLIENT),
        cluster_role("kubeadm:get-nodes", &[rule("", "nodes", &["get"])]),
        bind_default_group("kubeadm:get-nodes", "kubeadm:get-nodes"),
    ];
    objects.extend(reading(
        PUBLIC,
        "kubeadm:bootstrap-signer-clusterinfo",
        "cluster-info",
        &[user("system:anonymous")],
    ));
    objects.extend(reading(
        SYSTEM,
        "kubeadm:nodes-kubeadm-config",
        "kubeadm-config",
        &readers,
    ));
    objects.extend(reading(SYSTEM, &kubelet_role, &kubelet_config, &readers));
    objects
}

/// The right to read one ConfigMap.
fn reading(namespace: &str, name: &str, config_map: &str, subjects: &[Value]) -> [Value; 2] {
    let mut rule = rule("", "configmaps", &["get"]);
    rule["resourceNames"] = json!([config_map]);
    bound_role(namespace, name, &[rule], subjects)
}

/// Binds a cluster role to the default group of bootstrap tokens.
fn bind_default_group(name: &str, role: &str) -> Value {
    cluster_role_binding(name, role, &[group(DEFAULT_GROUP)])
}

fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace }, "data": data })
}

/// A kubeconfig without a user.
fn cluster_info(kubeadm: &Kubeadm, ca_pem: &str) -> String {
    let Kubeadm { host, port, .. } = kubeadm;
    format!(
        "apiVersion: v1\nkind: Config\npreferences: {{}}\ncontexts: null\ncurrent-context: \"\"\nusers: null\n\
         clusters:\n- name: \"\"\n  cluster:\n    server: https://{host}:{port}\n    \
         certificate-authority-data: {}\n",
        base64(ca_pem)
    )
}

fn cluster_configuration(kubeadm: &Kubeadm, version: &str) -> String {
    let Kubeadm { host, port, .. } = kubeadm;
    let api = kubeadm_api(Minor::of(version));
    format!(
        "apiVersion: kubeadm.k8s.io/{api}\nkind: ClusterConfiguration\nclusterName: kubernetes\n\
         kubernetesVersion: {version}\ncontrolPlaneEndpoint: {host}:{port}\ncertificatesDir: /etc/kubernetes/pki\n\
         networking:\n  dnsDomain: cluster.local\n  serviceSubnet: 10.100.0.0/16\n"
    )
}

pub(super) fn without_cgroup_root(kubelet_config: &str) -> String {
    let lines = kubelet_config
        .lines()
        .filter(|line| !line.starts_with("cgroupRoot:"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> BootstrapToken {
        BootstrapToken {
            token: "abcdef.0123456789abcdef".parse().unwrap(),
            expires_seconds: None,
            deleted: false,
            usages: vec![TokenUsage::Signing],
            groups: vec![DEFAULT_GROUP.to_owned()],
        }
    }

    #[test]
    fn a_secret_has_the_usages_and_the_expiration_of_its_token() {
        let now = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let secret_of = secret;
        let secret = secret_of(&token(), now);
        assert_eq!(secret["metadata"]["name"], "bootstrap-token-abcdef");
        assert_eq!(secret["data"]["usage-bootstrap-signing"], base64("true"));
        assert_eq!(secret["data"]["usage-bootstrap-authentication"], base64("false"));
        assert_eq!(secret["data"]["auth-extra-groups"], base64(DEFAULT_GROUP));
        assert!(secret["data"].get("expiration").is_none());
        let expired = BootstrapToken {
            expires_seconds: Some(-60.0),
            ..token()
        };
        let secret = secret_of(&expired, now);
        assert_eq!(secret["data"]["expiration"], base64("2027-01-15T07:59:00Z"));
    }

    #[test]
    fn the_control_group_of_kind_is_removed() {
        let text = "cgroupDriver: systemd\ncgroupRoot: /kubelet\nclusterDomain: cluster.local\n";
        assert_eq!(
            without_cgroup_root(text),
            "cgroupDriver: systemd\nclusterDomain: cluster.local\n"
        );
    }

    #[test]
    fn the_config_maps_match_the_version_of_kubeadm() {
        let kubeadm = Kubeadm {
            host: "cluster-endpoint.internal".to_owned(),
            port: 443,
            created_by_kubeadm: false,
        };
        for (version, name, api) in [
            ("v1.20.2", "kubelet-config-1.20", "kubeadm.k8s.io/v1beta2"),
            ("v1.36.2", "kubelet-config", "kubeadm.k8s.io/v1beta4"),
        ] {
            let objects = objects(&kubeadm, version, "PEM");
            let data = |name: &str, key: &str| -> Value {
                let found = objects
                    .iter()
                    .find(|object| object["kind"] == "ConfigMap" && object["metadata"]["name"] == name);
                serde_yaml::from_str(found.unwrap()["data"][key].as_str().unwrap()).unwrap()
            };
            assert_eq!(data(name, "kubelet")["rotateCertificates"], true);
            assert_eq!(data("kubeadm-config", "ClusterConfiguration")["apiVersion"], api);
            let info = data("cluster-info", "kubeconfig");
            assert_eq!(
                info["clusters"][0]["cluster"]["server"],
                "https://cluster-endpoint.internal:443"
            );
            assert_eq!(
                info["clusters"][0]["cluster"]["certificate-authority-data"],
                "UEVN"
            );
        }
    }
}
