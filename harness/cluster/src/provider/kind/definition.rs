//! The cluster definition for kind, with a patch for each API version of kubeadm.
//!
//! `kind-config/` has one rendered example per API version. A test compares them with the code.

use nodejoin_core::kubernetes::{DifferenceKind, Minor, is_known, refuses_cgroup_v1};

/// The differences between clusters.
#[derive(Debug, Clone)]
pub(crate) struct ClusterDefinition {
    pub(crate) image: String,
    /// The image's version of Kubernetes.
    pub(crate) minor: Minor,
    /// The folder on this machine with the node's files.
    pub(crate) folder: String,
    /// Names and values of the wiring's flags.
    pub(crate) api_server: Vec<(String, String)>,
    /// Names in the API server's certificate, in addition to those of kubeadm.
    pub(crate) names: Vec<String>,
    /// Whether the engine's host has control groups version 1.
    pub(crate) cgroup_v1: bool,
}

/// Folder of the wiring's files in the node and in the API server's pod.
pub(crate) const WIRING: &str = "/etc/kubernetes/nodejoin";
/// Folders and files of [`ClusterDefinition::folder`] with their paths in the node. kubeadm uses an existing CA, so the
/// harness can issue client certificates.
pub(crate) const MOUNTS: [(&str, &str); 3] = [
    ("wiring", WIRING),
    ("ca.crt", "/etc/kubernetes/pki/ca.crt"),
    ("ca.key", "/etc/kubernetes/pki/ca.key"),
];

/// The API versions of kubeadm that kind writes. The one it uses depends on the versions of both, and it ignores
/// patches for others, so the definition has a patch for each version that this kubeadm reads.
const APIS: [&str; 3] = ["v1beta2", "v1beta3", "v1beta4"];

/// Flags of kube-controller-manager that differ from kubeadm's.
const CONTROLLER_MANAGER: [(&str, &str); 3] = [
    // The VPC CNI assigns addresses: nodes of EKS have no podCIDR.
    ("allocate-node-cidrs", "false"),
    // The default limits of its client are for large clusters and would delay nodes.
    ("kube-api-qps", "200"),
    ("kube-api-burst", "300"),
];

const KUBELET_ON_CGROUP_V1: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
";

impl ClusterDefinition {
    /// Renders the definition as YAML.
    pub(crate) fn render(&self) -> String {
        let mounts: String = MOUNTS.iter().map(|(from, to)| self.mount(from, to)).collect();
        let patches: String = self.patches().iter().map(|patch| block(patch)).collect();
        format!(
            "kind: Cluster\n\
             apiVersion: kind.x-k8s.io/v1alpha4\n\
             networking:\n\
             \x20 # On EKS a pod installs the CNI; here the harness does, if a scenario enables it. Nodes register before.\n\
             \x20 disableDefaultCNI: true\n\
             \x20 # No pod of the cluster runs on a node under test.\n\
             \x20 kubeProxyMode: none\n\
             \x20 serviceSubnet: 10.100.0.0/16\n\
             nodes:\n\
             - role: control-plane\n\
             \x20 image: {}\n\
             \x20 extraMounts:\n\
             {mounts}\
             kubeadmConfigPatches:\n\
             {patches}",
            quoted(&self.image)
        )
    }

    fn mount(&self, from: &str, to: &str) -> String {
        let from = quoted(&format!("{}/{from}", self.folder));
        format!("  - hostPath: {from}\n    containerPath: {to}\n    readOnly: true\n")
    }

    fn patches(&self) -> Vec<String> {
        let apis = APIS
            .into_iter()
            .filter(|api| is_known(DifferenceKind::KubeadmApi, api, self.minor));
        let kubelet = self.cgroup_v1 && refuses_cgroup_v1(self.minor);
        apis.map(|api| self.cluster_configuration(api))
            .chain(kubelet.then(|| KUBELET_ON_CGROUP_V1.to_owned()))
            .collect()
    }

    fn cluster_configuration(&self, api: &str) -> String {
        let names: String = self
            .names
            .iter()
            .map(|name| format!("  - {}\n", quoted(name)))
            .collect();
        let manager = CONTROLLER_MANAGER.map(|(name, value)| (name.to_owned(), value.to_owned()));
        format!(
            "apiVersion: kubeadm.k8s.io/{api}\n\
             kind: ClusterConfiguration\n\
             apiServer:\n\
             \x20 extraArgs:\n\
             {}\
             \x20 extraVolumes:\n\
             \x20 - name: nodejoin\n\
             \x20   hostPath: {WIRING}\n\
             \x20   mountPath: {WIRING}\n\
             \x20   readOnly: true\n\
             \x20   pathType: Directory\n\
             \x20 certSANs:\n\
             {names}\
             controllerManager:\n\
             \x20 extraArgs:\n\
             {}",
            arguments(api, &self.api_server) + &arguments(api, &[kubelet_authority()]),
            arguments(api, &manager),
        )
    }
}

/// Flags in the form of the API version: v1beta4 has a list, so that a flag can occur twice.
fn arguments(api: &str, flags: &[(String, String)]) -> String {
    let shape = |(name, value): &(String, String)| match api {
        "v1beta4" => format!("  - name: {}\n    value: {}\n", name, quoted(value)),
        _ => format!("    {}: {}\n", name, quoted(value)),
    };
    flags.iter().map(shape).collect()
}

/// A list item with several lines of text.
fn block(text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
    format!("- |\n{lines}")
}

/// A YAML string. JSON strings are YAML strings.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The API server must reject kubelets without an approved certificate. kubeadm does not set this flag.
fn kubelet_authority() -> (String, String) {
    let authority = "/etc/kubernetes/pki/ca.crt";
    ("kubelet-certificate-authority".to_owned(), authority.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use serde_json::Value;

    use super::*;
    use crate::pki::{Pki, api_server_names};
    use crate::wiring::ApiServerWiring;

    /// One version of Kubernetes for each API version.
    const EXAMPLES: [(&str, &str); 3] = [
        ("v1beta2", "v1.20.2"),
        ("v1beta3", "v1.30.14"),
        ("v1beta4", "v1.37.0"),
    ];

    fn definition(version: &str) -> ClusterDefinition {
        let wiring = ApiServerWiring {
            webhooks: "198.18.0.1:8443".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        };
        let minor = Minor::of(version);
        ClusterDefinition {
            image: format!("kindest/node:{version}"),
            minor,
            folder: "/run/nodejoin/kind".to_owned(),
            api_server: wiring.api_server_flags(WIRING, minor),
            names: api_server_names(None),
            cgroup_v1: false,
        }
    }

    fn file(api: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../kind-config/{api}.yaml"))
    }

    fn example(api: &str, version: &str) -> String {
        format!(
            "# Example of the file for `kind create cluster --config`, for kubeadm with API {api} (Kubernetes {version}).\n\
             # Generated by harness/cluster/src/provider/kind/definition.rs; runs use their own image and folder. To update it, run\n\
             #   cargo test -p nodejoin-cluster --lib update_kind_config -- --ignored\n{}",
            definition(version).render()
        )
    }

    #[test]
    fn kind_config_is_up_to_date() {
        for (api, version) in EXAMPLES {
            let text = std::fs::read_to_string(file(api)).unwrap();
            assert_eq!(
                text,
                example(api, version),
                "kind-config/{api}.yaml is outdated: `cargo test -p nodejoin-cluster --lib update_kind_config -- --ignored` updates it"
            );
        }
    }

    #[test]
    #[ignore = "writes the files of kind-config/"]
    fn update_kind_config() {
        for (api, version) in EXAMPLES {
            std::fs::write(file(api), example(api, version)).unwrap();
        }
    }

    fn patches(definition: &ClusterDefinition) -> Vec<Value> {
        let cluster: Value = serde_yaml::from_str(&definition.render()).unwrap();
        let patches = cluster["kubeadmConfigPatches"].as_array().unwrap();
        patches
            .iter()
            .map(|patch| serde_yaml::from_str(patch.as_str().unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn each_api_version_that_kubeadm_reads_has_a_patch() {
        let apis = |version| {
            let patches = patches(&definition(version));
            patches
                .iter()
                .map(|patch| patch["apiVersion"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(apis("v1.20.2"), ["kubeadm.k8s.io/v1beta2"]);
        assert_eq!(
            apis("v1.32.0"),
            ["kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4"]
        );
    }

    #[test]
    fn flags_have_the_form_of_their_api_version() {
        let of = |version| patches(&definition(version)).pop().unwrap()["apiServer"]["extraArgs"].clone();
        assert_eq!(
            of("v1.20.2")["audit-policy-file"],
            "/etc/kubernetes/nodejoin/audit-policy.yaml"
        );
        let list = of("v1.36.0");
        let named = |flag: &&Value| flag["name"] == "authentication-token-webhook-version";
        assert_eq!(
            list.as_array().unwrap().iter().find(named).unwrap()["value"],
            "v1"
        );
    }

    #[test]
    fn the_wiring_is_mounted_into_the_node_and_the_pod() {
        let cluster: Value = serde_yaml::from_str(&definition("v1.20.2").render()).unwrap();
        let mounts = cluster["nodes"][0]["extraMounts"].as_array().unwrap();
        assert!(mounts.iter().any(|mount| mount["containerPath"] == WIRING));
        let patch = patches(&definition("v1.20.2")).remove(0);
        assert_eq!(patch["apiServer"]["extraVolumes"][0]["hostPath"], WIRING);
        assert_eq!(patch["apiServer"]["extraVolumes"][0]["mountPath"], WIRING);
    }

    #[test]
    fn cgroup_v1_is_enabled_for_kubelets_that_reject_it() {
        let on_v1 = |version| ClusterDefinition {
            cgroup_v1: true,
            ..definition(version)
        };
        let last = |definition: &ClusterDefinition| patches(definition).pop().unwrap();
        assert_eq!(last(&on_v1("v1.36.0"))["failCgroupV1"], false);
        assert_eq!(last(&on_v1("v1.20.2"))["kind"], "ClusterConfiguration");
        assert_eq!(last(&definition("v1.36.0"))["kind"], "ClusterConfiguration");
    }
}
