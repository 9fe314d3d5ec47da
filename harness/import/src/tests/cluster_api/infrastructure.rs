//! What other manifests state about the machines of a bootstrap configuration.

use std::collections::BTreeMap;

use nodejoin_core::plan::aws::IpFamily;

use super::{CLUSTER, config};
use crate::adopt::adopt;
use crate::tests::{machine, read, read_with, refused, user_data};
use crate::{AmiFamily, Machine};

/// A configuration and the managed pool that names it.
fn pool(spec: &str, fields: &str) -> String {
    format!(
        "{}---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\nmetadata: {{ name: mp }}\nspec: {{ template: {{ spec: {{ clusterName: c, \
         bootstrap: {{ configRef: {{ name: cfg }} }}, infrastructureRef: {{ kind: AWSManagedMachinePool, name: pool }} }} }} }}\n---\n\
         apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSManagedMachinePool\nmetadata: {{ name: pool }}\nspec: {{ {fields} }}\n",
        config("NodeadmConfig", spec)
    )
}

fn report(machine: &Machine) -> String {
    let report = adopt(machine, &BTreeMap::new()).unwrap().report;
    let lines = report
        .iter()
        .map(|line| format!("{}: {}\n", line.kind, line.text));
    lines.collect()
}

#[test]
fn a_managed_pool_without_a_launch_template_does_not_use_its_configuration() {
    let al2023 = "amiType: AL2023_x86_64_STANDARD";
    let own = machine(&pool("      kubelet: { config: { maxPods: 20 } }\n", al2023));
    assert_eq!((own.name.as_str(), &own.user_data), ("pool", &None));
    assert!(own.managed.is_some());
    assert!(
        own.problems[0].starts_with("NodeadmConfigTemplate `cfg` has no effect"),
        "{:?}",
        own.problems
    );
    assert!(!report(&own).contains("cluster DNS 10.100.0.10 is neither"));
    let secret =
        "---\napiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { value: \"#!/bin/sh\" }\n";
    let named = pool("      {}\n", al2023).replace("configRef: { name: cfg }", "dataSecretName: s");
    let (_, alone) = named.split_once("---\n").unwrap();
    assert_eq!(machine(&format!("{alone}{secret}")).name, "pool");
    let empty = machine(&pool("      {}\n", al2023));
    assert_eq!(empty.problems, [""; 0]);
    let with = machine(&pool("      {}\n", &format!("{al2023}, awsLaunchTemplate: {{}}")));
    assert_eq!(with.name, "cfg");
    assert!(
        with.problems[0].ends_with("write `amiType: CUSTOM` in place of AL2023_x86_64_STANDARD"),
        "{:?}",
        with.problems
    );
    let found =
        "amiType: CUSTOM, capacityType: spot, awsLaunchTemplate: { ami: { eksLookupType: AmazonLinux2023 } }";
    let found = machine(&pool("      {}\n", found));
    assert_eq!((found.managed, found.problems), (None, Vec::new()));
    assert!(found.traits.is_spot);
}

#[test]
fn an_ami_that_cluster_api_looks_up_is_of_the_type_of_the_manifest() {
    let found = |kind: &str, spec: &str, image: &str| {
        let cluster = CLUSTER.replace("ami: { id: ami-1 }", image);
        let machine = machine(&format!("{}{cluster}", config(kind, spec)));
        (machine.traits.ami_family.unwrap(), machine.problems.concat())
    };
    let al2023 = "ami: { eksLookupType: AmazonLinux2023 }";
    let (family, problem) = found("EKSConfig", "      useMaxPods: false\n", al2023);
    assert_eq!(family, AmiFamily::Al2023);
    assert!(
        problem.ends_with("which starts no node there: write a NodeadmConfig"),
        "{problem}"
    );
    let own_command = "      boostrapCommandOverride: /opt/join\n";
    assert_eq!(
        found("EKSConfig", own_command, al2023),
        (AmiFamily::Al2023, String::new())
    );
    let (family, problem) = found("NodeadmConfig", "      kubelet: {}\n", "ami: {}");
    assert_eq!(family, AmiFamily::Al2);
    assert!(problem.contains("it has no nodeadm"), "{problem}");
    for (kind, image, family) in [
        ("NodeadmConfig", al2023, AmiFamily::Al2023),
        ("NodeadmConfig", "imageLookupOrg: \"1\"", AmiFamily::Al2023),
        (
            "EKSConfig",
            "ami: { eksLookupType: AmazonLinuxGPU }",
            AmiFamily::Al2,
        ),
        ("EKSConfig", "ami: {}", AmiFamily::Al2),
        (
            "EKSConfig",
            "ami: { id: ami-1, eksLookupType: AmazonLinux2023 }",
            AmiFamily::Al2,
        ),
    ] {
        let expected = (family, String::new());
        assert_eq!(
            found(kind, "      files: []\n", image),
            expected,
            "{kind} {image}"
        );
    }
    let spot = CLUSTER.replace("ami: { id: ami-1 }", "spotMarketOptions: {}");
    assert!(
        machine(&format!("{}{spot}", config("EKSConfig", "      files: []\n")))
            .traits
            .is_spot
    );
}

#[test]
fn machines_of_an_ipv6_control_plane_join_an_ipv6_cluster() {
    let found = |kind: &str, spec: &str, ipv6: &str| {
        let plane = format!("spec: {{ network: {{ vpc: {{ ipv6: {ipv6} }} }}, version: v1.31.2,");
        let cluster = CLUSTER.replace("spec: { version: v1.31.2,", &plane);
        machine(&format!("{}{cluster}", config(kind, spec)))
    };
    let stated = "{ cidrBlock: \"fd00::/56\", poolId: p }";
    let own = found("EKSConfig", "      useMaxPods: false\n", stated);
    assert!(
        user_data(&own).contains(" --ip-family ipv6 --service-ipv6-cidr fd00::/56\n"),
        "{}",
        user_data(&own)
    );
    assert_eq!(own.traits.cluster.ip_family, Some(IpFamily::Ipv6));
    let shown = report(&own);
    assert!(
        shown.contains(
            "chosen: service CIDR fd30:1c53:5f8a::/108, an IPv6 cluster, a stand-in: the file states none\n"
        ),
        "{shown}"
    );
    assert!(!shown.contains("names the service CIDR"), "{shown}");
    let made = found("EKSConfig", "      useMaxPods: false\n", "{}");
    assert!(user_data(&made).contains("--service-ipv6-cidr 2a05:d018:ec8:7e00::/56"));
    assert!(
        made.notes
            .iter()
            .any(|note| note.contains("stands for the IPv6 range of the VPC")),
        "{:?}",
        made.notes
    );
    let other = found("EKSConfig", "      serviceIPV6Cidr: fd01::/108\n", "{}");
    assert!(user_data(&other).contains("--service-ipv6-cidr fd01::/108"));
    let nodeadm = found("NodeadmConfig", "      kubelet: {}\n", stated);
    assert!(user_data(&nodeadm).contains("\"cidr\":\"10.128.0.0/12\""));
    let shown = report(&nodeadm);
    assert!(
        shown.contains("the cluster in the rest of the file is one of IPv6"),
        "{shown}"
    );
}

#[test]
fn manifests_that_the_file_does_not_define_are_named() {
    let reference = |configured: &str| {
        let named = format!("configRef: {{ kind: EKSConfigTemplate, name: {configured} }}");
        let cluster = CLUSTER.replace("configRef: { name: cfg }", &named);
        read(&format!("{}{cluster}", config("EKSConfig", "      files: []\n"))).notes
    };
    assert_eq!(reference("cfg"), [""; 0]);
    let notes = reference("cgf");
    assert!(
        notes[0].contains(
            "MachineDeployment `md` names the EKSConfigTemplate `cgf`, which the file does not define; the only one is `cfg`"
        ),
        "{notes:?}"
    );
}

#[test]
fn machines_of_another_cluster_than_that_of_the_file_are_named() {
    let problems = |name: &str| {
        let owner = format!("spec: {{ clusterName: {name}, bootstrap");
        let cluster = CLUSTER.replace("spec: { bootstrap", &owner);
        machine(&format!("{}{cluster}", config("EKSConfig", "      files: []\n"))).problems
    };
    assert_eq!(problems("c"), [""; 0]);
    let found = problems("d");
    assert!(
        found[0]
            .starts_with("the machines belong to the Cluster `d`, and the only Cluster of the file is `c`"),
        "{found:?}"
    );
}

#[test]
fn an_argument_of_the_kubelet_is_text() {
    let refused = refused(
        "m.yaml",
        &config("EKSConfig", "      kubeletExtraArgs: { max-pods: 40 }\n"),
    );
    assert!(
        refused.contains("`40` of the argument of the kubelet `max-pods` is a number in YAML"),
        "{refused}"
    );
    let text = config("EKSConfig", "      kubeletExtraArgs: { max-pods: \"40\" }\n");
    assert!(user_data(&machine(&text)).contains("--max-pods=40"));
}

#[test]
fn a_name_with_a_default_needs_no_value() {
    let version = "spec:\n  version: \"${V:=v1.31.0}\"\n  region: \"${REGION:-eu-west-1}\"";
    let cluster = CLUSTER.replace("spec: { version: v1.31.2, region: eu-west-3 }", version);
    let text = format!("{}{cluster}", config("EKSConfig", "      files: []\n"));
    let own = machine(&text).traits;
    assert_eq!(
        (own.cluster.version.as_deref(), own.region.as_deref()),
        (Some("1.31.0"), Some("eu-west-1"))
    );
    let given = read_with("m.yaml", text.as_bytes(), &[("V", "v1.32.0")]).unwrap();
    assert_eq!(
        given.machines[0].traits.cluster.version.as_deref(),
        Some("1.32.0")
    );
    // Of a rendered manifest, a shell fills it in.
    let script = config("EKSConfig", "      preBootstrapCommands: [\"echo ${V:-x}\"]\n");
    assert!(user_data(&machine(&script)).contains("echo ${V:-x}"));
}
