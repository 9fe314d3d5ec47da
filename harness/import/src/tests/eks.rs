//! EKS' own part of the user data of managed node groups.

use std::collections::BTreeMap;

use nodejoin_core::plan::aws::IpFamily;

use super::SCRIPT;
use crate::words::taint_of_text;
use crate::{
    AmiFamily, CapacityType, ClusterTraits, LaunchTemplateVersion, Machine, ManagedNodeGroup, System, Traits,
    complete_user_data,
};

fn managed(family: AmiFamily, user_data: Option<&str>) -> Machine {
    Machine {
        name: "ng".to_owned(),
        user_data: user_data.map(|text| text.as_bytes().to_vec()),
        managed: Some(ManagedNodeGroup {
            name: Some("ng-1".to_owned()),
            labels: BTreeMap::from([("team".to_owned(), "web".to_owned())]),
            taints: vec![taint_of_text("a=b:NoSchedule").unwrap()],
            capacity_type: Some(CapacityType::Spot),
            instance_types: vec!["m5.xlarge".to_owned(), "t3.medium".to_owned()],
            launch_template: None,
        }),
        traits: Traits {
            ami_family: Some(family),
            ..Traits::default()
        },
        ..Machine::default()
    }
}

fn complete(machine: &Machine) -> String {
    let cluster = ClusterTraits {
        name: Some("demo".to_owned()),
        certificate_authority: Some("Q0E=".to_owned()),
        ..ClusterTraits::default()
    };
    String::from_utf8(complete_user_data(machine, &cluster).unwrap().unwrap()).unwrap()
}

#[test]
fn al2_gets_a_script() {
    insta::assert_snapshot!(complete(&managed(AmiFamily::Al2, None)));
}

#[test]
fn al2023_gets_a_node_config_after_the_own_parts() {
    let own = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"X\"\n\n--X\nContent-Type: \
               text/x-shellscript\n\n#!/bin/bash\necho\n--X--\n";
    insta::assert_snapshot!(complete(&managed(AmiFamily::Al2023, Some(own))));
}

#[test]
fn bottlerocket_gets_settings() {
    let mut machine = managed(
        AmiFamily::Bottlerocket,
        Some("[settings.kubernetes.node-labels]\nx = \"y\"\n"),
    );
    machine.system = System::Bottlerocket;
    insta::assert_snapshot!(complete(&machine));
}

#[test]
fn labels_name_the_launch_template_of_the_user() {
    let label = "eks.amazonaws.com/sourceLaunchTemplateId=";
    let mut machine = managed(AmiFamily::Al2, None);
    assert!(!complete(&machine).contains(label));
    machine.managed.as_mut().unwrap().launch_template = Some(LaunchTemplateVersion {
        id: "lt-0a20a0a4b58b2e7ee".to_owned(),
        number: "3".to_owned(),
    });
    let text = complete(&machine);
    assert!(text.contains(&format!("{label}lt-0a20a0a4b58b2e7ee,")), "{text}");
    assert!(
        text.contains("eks.amazonaws.com/sourceLaunchTemplateVersion=3,"),
        "{text}"
    );
}

/// The script asks for the family only if endpoint or certificate authority is missing.
#[test]
fn al2_gets_the_family_of_an_ipv6_cluster() {
    let mut machine = managed(AmiFamily::Al2, None);
    assert!(!complete(&machine).contains("--ip-family"));
    machine.traits.cluster.ip_family = Some(IpFamily::Ipv6);
    let text = complete(&machine);
    assert!(
        text.contains(" --ip-family ipv6 --service-ipv6-cidr fd30:1c53:5f8a::/108\n")
            && text.contains("K8S_CLUSTER_DNS_IP=fd30:1c53:5f8a::a\n"),
        "{text}"
    );
}

#[test]
fn a_script_is_rejected_as_eks_does() {
    let machine = managed(AmiFamily::Al2, Some(SCRIPT));
    let error = complete_user_data(&machine, &ClusterTraits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "EKS rejects the user data of `ng`, which is not a MIME message: it begins with `#!/bin/bash`"
    );
}

#[test]
fn user_data_for_another_system_than_that_of_the_group_is_rejected() {
    let message =
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"X\"\n\n--X\n\n#!/bin/bash\n--X--\n";
    let rejected = |machine: &Machine| {
        complete_user_data(machine, &ClusterTraits::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        rejected(&managed(AmiFamily::Bottlerocket, Some(message))),
        "EKS rejects the user data of `ng`, which is not TOML: it begins with `MIME-Version: 1.0`, and the AMI of its group is Bottlerocket"
    );
    let mut settings = managed(AmiFamily::Al2023, Some("[settings]\nmotd = \"x\"\n"));
    settings.system = System::Bottlerocket;
    assert_eq!(
        rejected(&settings),
        "EKS rejects the user data of `ng`, which are settings of Bottlerocket, and the AMI of its group is another one"
    );
    assert!(complete_user_data(&managed(AmiFamily::Bottlerocket, None), &ClusterTraits::default()).is_ok());
}

#[test]
fn a_message_without_the_end_of_its_headers_is_named() {
    let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n--B\nContent-Type: text/x-shellscript\n#!/bin/bash\n--B--\n";
    let machine = managed(AmiFamily::Al2023, Some(text));
    let error = complete_user_data(&machine, &ClusterTraits::default()).unwrap_err();
    assert!(
        error.to_string().contains("no empty line ends the headers"),
        "{error}"
    );
}

#[test]
fn the_family_follows_from_the_version_unless_it_is_stated() {
    for (version, expected) in [("1.29", "bootstrap.sh"), ("1.30", "node.eks.aws")] {
        let mut machine = managed(AmiFamily::Al2, None);
        machine.traits.ami_family = None;
        machine.traits.cluster.version = Some(version.to_owned());
        assert!(complete(&machine).contains(expected), "{version}");
    }
}

#[test]
fn other_machines_keep_their_user_data() {
    let mut machine = managed(AmiFamily::Al2, Some(SCRIPT));
    machine.managed = None;
    assert_eq!(complete(&machine), SCRIPT);
}
