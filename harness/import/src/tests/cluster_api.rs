//! Manifests of Cluster API.

mod infrastructure;

use nodejoin_core::plan::Tokens;

use super::{SCRIPT, base64, machine, read, refused, user_data};
use crate::adopt::adopt;
use crate::{AmiFamily, FileFormat};

const CLUSTER: &str = "---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: { name: c }
spec: { clusterNetwork: { services: { cidrBlocks: [10.128.0.0/12] } } }
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: { name: c-control-plane, namespace: ns }
spec: { version: v1.31.2, region: eu-west-3 }
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: { name: md }
spec: { template: { spec: { bootstrap: { configRef: { name: cfg } }, infrastructureRef: { name: infra } } } }
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: { name: infra }
spec: { template: { spec: { instanceType: m5.large, iamInstanceProfile: p, ami: { id: ami-1 } } } }
";

fn config(kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: {kind}Template\nmetadata: {{ name: cfg }}\nspec:\n  template:\n    spec:\n{spec}"
    )
}

#[test]
fn an_eks_config_calls_the_script() {
    let spec = "      preBootstrapCommands: [\"echo a: b\"]\n      postBootstrapCommands: [echo c]\n      kubeletExtraArgs: { node-labels: a=b }\n      useMaxPods: false\n      files: [{ path: /etc/x, content: y, append: true }]\n      ntp: { enabled: true }\n";
    let machine = machine(&format!("{}{CLUSTER}", config("EKSConfig", spec)));
    insta::assert_snapshot!(user_data(&machine));
    let traits = machine.traits;
    assert_eq!(traits.ami_family, Some(AmiFamily::Al2));
    assert_eq!(
        (traits.http_tokens, traits.hop_limit),
        (Some(Tokens::Optional), Some(1))
    );
    assert_eq!(traits.instance_type.as_deref(), Some("m5.large"));
    assert_eq!(traits.cluster.name.as_deref(), Some("ns_c-control-plane"));
    assert_eq!(traits.cluster.version.as_deref(), Some("1.31.2"));
    assert_eq!(traits.region.as_deref(), Some("eu-west-3"));
}

#[test]
fn an_argument_that_breaks_the_yaml_is_refused() {
    let spec = "      dockerConfigJson: '{\"debug\": true}'\n";
    insta::assert_snapshot!(refused("m.yaml", &config("EKSConfig", spec)));
    assert!(
        user_data(&machine(&config(
            "EKSConfig",
            "      dockerConfigJson: '{\"debug\":true}'\n"
        )))
        .contains("debug")
    );
}

#[test]
fn a_nodeadm_config_is_a_message() {
    let spec = "      preNodeadmCommands: [echo a]\n      kubelet: { flags: [\"--v=2\"], config: { maxPods: 20 } }\n      containerd: { config: \"a = 1\\nb = 2\\n\" }\n      mounts: [[/dev/x, /data]]\n      users: [{ name: u, lockPassword: true, sshAuthorizedKeys: [k] }]\n      diskSetup: { partitions: [{ device: /dev/x, tableType: gpt }], filesystems: [{ device: /dev/x, filesystem: xfs, replaceFS: ext4 }] }\n";
    let own = machine(&format!("{}{CLUSTER}", config("NodeadmConfig", spec)));
    insta::assert_snapshot!(user_data(&own));
    let alone = user_data(&machine(&config("NodeadmConfig", "      kubelet: {}\n")));
    assert!(alone.contains("\"cidr\":\"172.20.0.0/16\""), "{alone}");
}

#[test]
fn fields_that_a_nodeadm_config_does_not_have_are_named() {
    let notes = machine(&config(
        "NodeadmConfig",
        "      instance: { localStorage: { strategy: RAID0 } }\n      mounts: []\n",
    ))
    .notes;
    assert_eq!(
        notes,
        ["`spec.instance` is not in the user data: a NodeadmConfig does not have this field"]
    );
    let refused = refused("m.yaml", &config("NodeadmConfig", "      hybrid: { ssm: {} }\n"));
    assert!(refused.contains("a hybrid node"), "{refused}");
}

#[test]
fn a_kubeadm_config_calls_kubeadm() {
    let spec = "      joinConfiguration: { nodeRegistration: { name: \"{{ ds.meta_data.local_hostname }}\" } }\n      preKubeadmCommands: [hostname x]\n";
    insta::assert_snapshot!(user_data(&machine(&config("KubeadmConfig", spec))));
    // A value of the wrong type is not a reason to stop.
    machine(&config("KubeadmConfig", "      joinConfiguration: text\n"));
}

#[test]
fn a_managed_pool_is_bootstrapped_by_eks() {
    let pool = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSManagedMachinePool\nmetadata: { name: p }\nspec:\n  amiType: AL2_x86_64\n  \
                instanceType: m5.large\n  labels: { a: b }\n  taints: [{ key: k, value: v, effect: no-execute }]\n";
    let own = machine(pool);
    let managed = own.managed.unwrap();
    assert_eq!((own.name.as_str(), managed.name.as_deref()), ("p", Some("p")));
    assert_eq!(managed.taints[0].to_string(), "k=v:NoExecute");
    assert_eq!(
        (own.traits.ami_family, own.traits.labels["a"].as_str()),
        (Some(AmiFamily::Al2), "b")
    );
    assert!(refused("m.yaml", &format!("{pool}  awsLaunchTemplate: {{}}\n")).contains("without a machine"));
}

#[test]
fn a_bootstrap_secret_has_the_true_user_data() {
    let secret = |data: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{ name: s }}\ntype: cluster.x-k8s.io/secret\n{data}\n"
        )
    };
    let imported = read(&secret(&format!(
        "data: {{ value: {}, format: Y2xvdWQtY29uZmln }}",
        base64(SCRIPT)
    )));
    assert_eq!(imported.format, FileFormat::BootstrapSecret);
    assert_eq!(user_data(&imported.machines[0]), SCRIPT);
    assert_eq!(
        user_data(&machine(&secret("stringData: { value: \"#!/bin/sh\" }"))),
        "#!/bin/sh"
    );
    let ignition = secret(&format!("data: {{ value: {} }}", base64("{\"ignition\":{}}")));
    assert!(refused("s.yaml", &ignition).contains("Ignition is out of scope"));
}

#[test]
fn a_secret_beside_its_pool_has_the_traits_of_the_pool() {
    let pool = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSManagedMachinePool\nmetadata: { name: p-lt }\nspec:\n  \
                amiType: CUSTOM\n  awsLaunchTemplate: { instanceType: t3.nano }\n---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\n\
                metadata: { name: p }\nspec: { template: { spec: { bootstrap: { dataSecretName: s }, infrastructureRef: { name: p-lt } } } }\n";
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{ name: s }}\ndata: {{ value: {} }}\n",
        base64(SCRIPT)
    );
    let own = machine(&format!("{secret}{pool}"));
    assert_eq!((own.name.as_str(), user_data(&own)), ("s", SCRIPT.to_owned()));
    assert_eq!(own.traits.instance_type.as_deref(), Some("t3.nano"));
    assert!(own.managed.is_none(), "EKS adds nothing to it");
}

#[test]
fn manifests_without_a_configuration_are_refused() {
    insta::assert_snapshot!(refused("m.yaml", CLUSTER.trim_start_matches("---\n")));
    let template =
        config("EKSConfig", "      useMaxPods: true\n").replace("name: cfg", "name: \"${CLUSTER_NAME}-md\"");
    let template = template
        .replace("metadata: { ", "metadata:\n  ")
        .replace(" }\nspec", "\nspec");
    insta::assert_snapshot!(refused("m.yaml", &template));
    let given = super::read_with("m.yaml", template.as_bytes(), &[("CLUSTER_NAME", "demo")]);
    assert!(given.is_ok(), "{given:?}");
}

#[test]
fn a_managed_pool_without_an_ami_gets_the_part_of_eks_after_its_configuration() {
    let pool = |template: &str| {
        format!(
            "{}---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\nmetadata: {{ name: mp }}\n\
             spec: {{ template: {{ spec: {{ version: v1.33.0, bootstrap: {{ configRef: {{ name: cfg }} }}, infrastructureRef: {{ name: pool }} }} }} }}\n\
             ---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSManagedMachinePool\nmetadata: {{ name: pool }}\n\
             spec: {{ eksNodegroupName: blue, labels: {{ a: b }}, awsLaunchTemplate: {{ instanceType: m5.large{template} }} }}\n",
            config("NodeadmConfig", "      preNodeadmCommands: [echo hi]\n")
        )
    };
    let found = machine(&pool(""));
    assert_eq!(found.managed.as_ref().unwrap().name.as_deref(), Some("blue"));
    assert_eq!(found.traits.cluster.version.as_deref(), Some("1.33.0"));
    let text = crate::complete_user_data(&found, &crate::ClusterTraits::default())
        .unwrap()
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("echo hi") && text.contains("eks.amazonaws.com/nodegroup=blue"),
        "{text}"
    );
    let own = machine(&pool(", ami: { id: ami-1 }"));
    assert_eq!((own.managed, own.traits.ami_id.as_deref()), (None, Some("ami-1")));
}

#[test]
fn labels_and_taints_of_a_kubeadm_config_are_expected() {
    let registration = |spec: &str| {
        config(
            "KubeadmConfig",
            &format!("      joinConfiguration: {{ nodeRegistration: {{ {spec} }} }}\n"),
        )
    };
    let taint = "taints: [{ key: k, value: v, effect: NoSchedule }]";
    let of_mapping = "kubeletExtraArgs: { node-labels: \"a=b,zone={{ ds.meta_data.availability_zone }}\" }";
    let of_list = "kubeletExtraArgs: [{ name: v, value: \"2\" }, { name: node-labels, value: a=b }]";
    for arguments in [of_mapping, of_list] {
        let traits = machine(&registration(&format!("{arguments}, {taint}"))).traits;
        assert_eq!(
            (traits.labels.len(), traits.labels["a"].as_str()),
            (1, "b"),
            "{arguments}"
        );
        assert_eq!(traits.taints[0].to_string(), "k=v:NoSchedule");
    }
    let flag = "kubeletExtraArgs: { register-with-taints: \"a=b:NoExecute,c:NoSchedule\" }";
    assert_eq!(machine(&registration(flag)).traits.taints.len(), 2);
    let refused = refused("m.yaml", &registration("taints: [{ key: k, effect: NoSchedul }]"));
    assert!(refused.contains("the effect `NoSchedul`"), "{refused}");
}

const POOL: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: { name: pool }
spec: { instanceType: m5.large, amiType: AL2023_x86_64_STANDARD, taints: [{ key: k, value: v, effect: no-schedule }] }
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: { name: mp }
spec: { template: { spec: { clusterName: demo, version: v1.30.0, bootstrap: { dataSecretName: \"\" }, infrastructureRef: { name: pool } } } }
";

#[test]
fn a_managed_pool_joins_the_cluster_of_its_manifests() {
    let beside = machine(&format!("{POOL}{CLUSTER}")).traits;
    assert_eq!(beside.region.as_deref(), Some("eu-west-3"));
    let cluster = beside.cluster;
    assert_eq!(cluster.name.as_deref(), Some("ns_c-control-plane"));
    assert_eq!(cluster.version.as_deref(), Some("1.31.2"));
    assert_eq!(
        (cluster.service_cidr.as_deref(), cluster.dns_ip.as_deref()),
        (Some("10.128.0.0/12"), Some("10.128.0.10"))
    );
    let alone = machine(POOL);
    let cluster = alone.traits.cluster;
    assert_eq!(
        (cluster.name.as_deref(), cluster.version.as_deref()),
        (Some("demo"), Some("1.30.0"))
    );
    assert!(
        alone.notes[0].contains("`demo`, the name of the Cluster"),
        "{:?}",
        alone.notes
    );
}

#[test]
fn what_the_api_server_refuses_of_a_managed_pool_is_refused() {
    for (from, to, problem) in [
        ("no-schedule", "no-schedul", "no effect that it knows"),
        ("no-schedule", "NoSchedule", "no effect that it knows"),
        ("key: k, ", "", "has no key"),
        ("taints:", "taint:", "write `taints`"),
        ("instanceType: m5.large", "label: { a: b }", "write `labels`"),
        (
            "instanceType: m5.large",
            "labels: { a: 1 }",
            "`1` of the label `a` is a number",
        ),
        ("effect:", "efect:", "write `effect`"),
    ] {
        let refused = refused("m.yaml", &POOL.replace(from, to));
        assert!(
            refused.contains(problem) && refused.starts_with("line "),
            "{refused}"
        );
    }
}

#[test]
fn a_configuration_without_a_control_plane_joins_the_named_cluster() {
    let machines = "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: { name: md }\n\
                    spec: { template: { spec: { clusterName: demo, bootstrap: { configRef: { name: cfg } } } } }\n";
    let own = machine(&format!(
        "{}{machines}",
        config("EKSConfig", "      useMaxPods: false\n")
    ));
    assert_eq!(own.traits.cluster.name.as_deref(), Some("demo"));
    assert!(user_data(&own).contains("/etc/eks/bootstrap.sh demo --use-max-pods false"));
    assert!(own.notes[0].contains("`eksClusterName`"), "{:?}", own.notes);
    let misspelt = refused("m.yaml", &config("EKSConfig", "      useMaxPod: false\n"));
    assert!(misspelt.contains("write `useMaxPods`"), "{misspelt}");
}

#[test]
fn values_that_no_manifest_states_are_stand_ins() {
    let lines = |kind: &str, spec: &str, manifests: &str| {
        let machine = machine(&format!("{}{manifests}", config(kind, spec)));
        let report = adopt(&machine, &std::collections::BTreeMap::new())
            .unwrap()
            .report;
        let of_cluster = report.into_iter().filter(|line| {
            ["cluster name", "service CIDR"]
                .iter()
                .any(|what| line.text.starts_with(what))
        });
        of_cluster
            .map(|line| format!("{}: {}", line.kind, line.text))
            .collect::<Vec<String>>()
    };
    let name = "chosen: cluster name nodejoin, a stand-in: the file states none";
    let cidr = "chosen: service CIDR 172.20.0.0/16, a stand-in: the file states none";
    let script = "      dnsClusterIP: 172.20.0.10\n";
    let nodeadm = "      preNodeadmCommands: [echo]\n";
    let derived = "adopted: service CIDR 172.20.0.0/16";
    assert_eq!(lines("EKSConfig", script, ""), [derived, name]);
    assert_eq!(lines("NodeadmConfig", nodeadm, ""), [cidr, name]);
    for (kind, spec) in [("EKSConfig", ""), ("NodeadmConfig", nodeadm)] {
        let spec = format!("{spec}      files: []\n");
        let stated = lines(kind, &spec, CLUSTER);
        assert!(
            stated.iter().all(|line| line.starts_with("adopted: ")),
            "{stated:?}"
        );
        assert_eq!(stated.len(), 2, "{stated:?}");
    }
}
