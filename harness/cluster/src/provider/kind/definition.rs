//! What kind is told of a cluster, rendered from one source for each API of kubeadm.
//!
//! `kind-config/` has what comes out, one file an API, for people to read; a test holds both equal.

use nodejoin_core::kubernetes::{DifferenceKind, Minor, is_known, refuses_cgroup_v1};

/// Everything in which two clusters differ.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    /// The image of the node.
    pub(crate) image: String,
    /// The version of Kubernetes in it.
    pub(crate) minor: Minor,
    /// The folder of this machine with the files that the node gets.
    pub(crate) folder: String,
    /// The flags that tell the API server of the harness, as name and value.
    pub(crate) api_server: Vec<(String, String)>,
    /// The names that its certificate is for, beside those that kubeadm adds by itself.
    pub(crate) names: Vec<String>,
    /// Whether the engine's machine has control groups of version 1.
    pub(crate) cgroup_v1: bool,
}

/// Where the node and the API server in it have the files of the wiring.
pub(crate) const WIRING: &str = "/etc/kubernetes/nodejoin";
/// The folders and files of [`Definition::folder`], with the paths that they have in the node. kubeadm makes no CA where it finds
/// one, so the cluster's is ours, and anybody can be given a client certificate.
pub(crate) const MOUNTS: [(&str, &str); 3] = [
    ("wiring", WIRING),
    ("ca.crt", "/etc/kubernetes/pki/ca.crt"),
    ("ca.key", "/etc/kubernetes/pki/ca.key"),
];

/// The APIs of kubeadm in which kind writes. Which one it takes depends on the versions of both, and a patch for another one is
/// passed over: each that this kubeadm reads is given.
const APIS: [&str; 3] = ["v1beta2", "v1beta3", "v1beta4"];

impl Definition {
    /// The definition as kind reads it.
    pub(crate) fn render(&self) -> String {
        let mounts: String = MOUNTS.iter().map(|(from, to)| self.mount(from, to)).collect();
        let patches: String = self.patches().iter().map(|patch| block(patch)).collect();
        format!(
            "kind: Cluster\n\
             apiVersion: kind.x-k8s.io/v1alpha4\n\
             networking:\n\
             \x20 # A pod brings it on EKS, and the harness where a scenario says so: registered and ready stay two phases.\n\
             \x20 disableDefaultCNI: true\n\
             \x20 # Nothing of the cluster runs on a node under test.\n\
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

/// Flags in the shape of the API: v1beta4 has a list, so that a flag can be given twice.
fn arguments(api: &str, flags: &[(String, String)]) -> String {
    let shape = |(name, value): &(String, String)| match api {
        "v1beta4" => format!("  - name: {}\n    value: {}\n", name, quoted(value)),
        _ => format!("    {}: {}\n", name, quoted(value)),
    };
    flags.iter().map(shape).collect()
}

/// An item of a list that is a text of several lines.
fn block(text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
    format!("- |\n{lines}")
}

/// A text that YAML takes for nothing else: JSON's strings are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A kubelet whose certificate nobody approved is not believed: kubeadm does not say so by itself.
fn kubelet_authority() -> (String, String) {
    let authority = "/etc/kubernetes/pki/ca.crt";
    ("kubelet-certificate-authority".to_owned(), authority.to_owned())
}

/// What kubeadm would tell kube-controller-manager, and EKS does not.
const CONTROLLER_MANAGER: [(&str, &str); 3] = [
    // The VPC CNI gives addresses: a node of EKS has no podCIDR.
    ("allocate-node-cidrs", "false"),
    // A quota meant for big clusters would keep nodes waiting.
    ("kube-api-qps", "200"),
    ("kube-api-burst", "300"),
];

const KUBELET_ON_CGROUP_V1: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
";

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use serde_json::Value;

    use super::*;
    use crate::pki::{Pki, api_server_names};
    use crate::wiring::Wiring;

    /// One version of Kubernetes for each API.
    const EXAMPLES: [(&str, &str); 3] = [
        ("v1beta2", "v1.20.2"),
        ("v1beta3", "v1.30.14"),
        ("v1beta4", "v1.37.0"),
    ];

    fn definition(version: &str) -> Definition {
        let wiring = Wiring {
            webhooks: "198.18.0.1:8443".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        };
        let minor = Minor::of(version);
        Definition {
            image: format!("kindest/node:{version}"),
            minor,
            folder: "/run/nodejoin/kind".to_owned(),
            api_server: wiring.api_server_flags(WIRING, minor),
            names: api_server_names(),
            cgroup_v1: false,
        }
    }

    fn file(api: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../kind-config/{api}.yaml"))
    }

    fn shown(api: &str, version: &str) -> String {
        format!(
            "# What `kind create cluster --config` is given where kubeadm speaks {api}, such as that of Kubernetes {version}.\n\
             # Rendered by harness/cluster/src/provider/kind/definition.rs: a run has its own image and folder. Written again by\n\
             #   cargo test -p nodejoin-cluster --lib kind_config_is_written -- --ignored\n{}",
            definition(version).render()
        )
    }

    #[test]
    fn the_files_of_kind_config_are_what_is_rendered() {
        for (api, version) in EXAMPLES {
            let text = std::fs::read_to_string(file(api)).unwrap();
            assert_eq!(
                text,
                shown(api, version),
                "kind-config/{api}.yaml is of another time"
            );
        }
    }

    #[test]
    #[ignore = "writes the files of kind-config/"]
    fn kind_config_is_written() {
        for (api, version) in EXAMPLES {
            std::fs::write(file(api), shown(api, version)).unwrap();
        }
    }

    fn patches(definition: &Definition) -> Vec<Value> {
        let cluster: Value = serde_yaml::from_str(&definition.render()).unwrap();
        let patches = cluster["kubeadmConfigPatches"].as_array().unwrap();
        patches
            .iter()
            .map(|patch| serde_yaml::from_str(patch.as_str().unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn each_api_that_kubeadm_reads_has_a_patch() {
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
    fn flags_have_the_shape_of_their_api() {
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
    fn every_file_that_a_flag_names_comes_by_both_mounts() {
        let cluster: Value = serde_yaml::from_str(&definition("v1.20.2").render()).unwrap();
        let mounts = cluster["nodes"][0]["extraMounts"].as_array().unwrap();
        assert!(mounts.iter().any(|mount| mount["containerPath"] == WIRING));
        let patch = patches(&definition("v1.20.2")).remove(0);
        assert_eq!(patch["apiServer"]["extraVolumes"][0]["hostPath"], WIRING);
        assert_eq!(patch["apiServer"]["extraVolumes"][0]["mountPath"], WIRING);
    }

    #[test]
    fn a_kubelet_that_refuses_old_control_groups_is_told_to_take_them() {
        let on_v1 = |version| Definition {
            cgroup_v1: true,
            ..definition(version)
        };
        let last = |definition: &Definition| patches(definition).pop().unwrap();
        assert_eq!(last(&on_v1("v1.36.0"))["failCgroupV1"], false);
        assert_eq!(last(&on_v1("v1.20.2"))["kind"], "ClusterConfiguration");
        assert_eq!(last(&definition("v1.36.0"))["kind"], "ClusterConfiguration");
    }
}
