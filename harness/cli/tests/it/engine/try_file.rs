//! `nodejoin try` with user data that was written for other clusters.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::support::{both, folder, nodejoin};

/// The certificate authority of a cluster that does not exist.
const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nMIIC5zCCAc+gAwIBAgIBADANBgkqhkiG9w0BAQsFADAVMRMwEQYDVQQDEwprdWJl\n-----END CERTIFICATE-----\n";

/// Exit code and output.
fn try_file(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = nodejoin(folder, &[&["try"], arguments].concat())
        .output()
        .unwrap();
    (output.status.code(), both(&output))
}

/// A script for the cluster `demo` with this endpoint and these flags of the kubelet.
fn script(endpoint: &str, flags: &str) -> String {
    format!(
        "#!/bin/bash\nset -o errexit\nB64_CLUSTER_CA={}\n/etc/eks/bootstrap.sh demo --b64-cluster-ca \"$B64_CLUSTER_CA\" \\\n  \
         --apiserver-endpoint {endpoint} --dns-cluster-ip 172.20.0.10 --container-runtime containerd \\\n  \
         --kubelet-extra-args '{flags}'\n",
        STANDARD.encode(AUTHORITY)
    )
}

#[test]
fn a_script_for_another_cluster_joins_with_its_labels() {
    let endpoint = "https://0123456789ABCDEF0123456789ABCDEF.gr7.us-east-2.eks.amazonaws.com";
    let folder = folder(&[(
        "user-data.sh",
        &script(endpoint, "--node-labels=team=web --max-pods=17"),
    )]);
    let (code, text) = try_file(folder.path(), &["user-data.sh"]);
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "adopted      cluster name demo",
        "adopted      region us-east-2",
        "expected     label team=web",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_launch_template_with_an_endpoint_outside_of_eks_joins() {
    let user_data = STANDARD.encode(script(
        "https://test-cluster.example",
        "--register-with-taints=a=b:NoSchedule",
    ));
    let version = format!(
        r#"{{"LaunchTemplateVersions":[{{"LaunchTemplateName":"web","VersionNumber":3,"LaunchTemplateData":
           {{"ImageId":"ami-0123456789abcdef0","InstanceType":"m5.large","UserData":"{user_data}"}}}}]}}"#
    );
    let folder = folder(&[("versions.json", &version)]);
    let (code, text) = try_file(folder.path(), &["versions.json"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("adopted      endpoint https://test-cluster.example"),
        "{text}"
    );
    assert!(text.contains("adopted      service CIDR 172.20.0.0/16"), "{text}");
}

#[test]
fn a_label_that_the_kubelet_refuses_fails_with_its_cause() {
    let folder = folder(&[(
        "user-data.sh",
        &script(
            "https://test-cluster",
            "--node-labels=node-role.kubernetes.io/web=true",
        ),
    )]);
    let (code, text) = try_file(folder.path(), &["user-data.sh"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("the kubelet refuses the label node-role.kubernetes.io/web"),
        "{text}"
    );
    assert!(text.contains("replaced-authority"), "{text}");
}

#[test]
fn settings_of_bottlerocket_run_on_a_kubelet_of_nodejoin() {
    let settings = format!(
        "[settings.kubernetes]\napi-server = \"https://test-cluster\"\ncluster-certificate = \"{}\"\ncluster-name = \"demo\"\n\
         cluster-dns-ip = \"172.20.0.10\"\nmax-pods = 20\n[settings.kubernetes.node-labels]\nteam = \"web\"\n\
         [settings.kubernetes.node-taints]\na = \"b:NoSchedule\"\n",
        STANDARD.encode(AUTHORITY)
    );
    let folder = folder(&[("settings.toml", &settings)]);
    let (code, text) = try_file(folder.path(), &["settings.toml"]);
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "chosen       AL2023 in place of Bottlerocket",
        "expected     capacity for 20 pods",
        "differs   the settings of Bottlerocket run on the kubelet of an AL2023 node",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn settings_of_newer_kubelets_are_translated_for_an_old_one() {
    let config = format!(
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {{ name: demo, apiServerEndpoint: \"https://test-cluster\", \
         certificateAuthority: {}, cidr: 172.20.0.0/16 }}\n  kubelet:\n    config:\n      maxPods: 12\n      registerWithTaints:\n      \
         - {{ key: team, value: ml, effect: NoSchedule }}\n",
        STANDARD.encode(AUTHORITY)
    );
    let folder = folder(&[("node-config.yaml", &config)]);
    // The default of a host without other programs.
    let (code, text) = try_file(folder.path(), &["node-config.yaml", "--kubernetes", "1.20"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("has no `registerWithTaints`: its taints are passed as `--register-with-taints`; `--kubernetes 1.23` or newer tests it"),
        "{text}"
    );
}
