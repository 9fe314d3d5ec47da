//! Example plans for the tests of all crates, behind the feature `test-support`.
//!
//! One scenario: the role `demo-role` joins the cluster `demo` in `eu-west-1`. Tests change what they are about with
//! `..instance()` and the like.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::kubernetes::RequestedVersions;
use crate::plan::aws::{AuthenticationMode, AwsPlan, EksPlan};
use crate::plan::ec2::NetworkPlan;
use crate::plan::expect::Expect;
use crate::plan::sources::Sources;
use crate::plan::{
    Approval, CaChoice, ClusterPlan, ClusterStatus, Cni, ImagePlan, InstancePlan, LifeCycle, MetadataPlan,
    Network, NewerSettings, Plan, RoleMapping, RolePlan, StatusStep, Stubs, Timeouts, UserDataEngine,
    UserDataPlan,
};

/// A plan with one instance and no user data.
#[must_use]
pub fn plan() -> Plan {
    Plan {
        is_probe: false,
        is_traced: false,
        probed_kubelet: None,
        same_as: None,
        id: parsed("demo"),
        is_trial: false,
        is_ami_stated: false,
        overlay_ranges: Vec::new(),
        name: "demo".to_owned(),
        file: "demo.yaml".to_owned(),
        tags: Vec::new(),
        control_plane: Vec::new(),
        kubernetes: None,
        kubelet: None,
        unset: Vec::new(),
        requested: RequestedVersions::default(),
        network: Network::Isolated,
        outside: BTreeMap::new(),
        http_proxy: None,
        image: ImagePlan::named("al2"),
        account: parsed("111122223333"),
        region: parsed("eu-west-1"),
        instance: instance(),
        others: Vec::new(),
        golden: None,
        then: Vec::new(),
        role: Some(role()),
        cluster: cluster(),
        aws: AwsPlan::default(),
        user_data: None,
        faults: Vec::new(),
        dns_faults: Vec::new(),
        cni: Cni::Bridge,
        stubs: Stubs::Packages,
        newer_settings: NewerSettings::Keep,
        pod: None,
        expect: Expect::default(),
        limits: Timeouts::default(),
        sources: Sources::default(),
    }
}

/// The instance `i-0b22a22eec53b9321` at 192.168.40.16, without tags.
#[must_use]
pub fn instance() -> InstancePlan {
    let name = "ip-192-168-40-16.eu-west-1.compute.internal";
    InstancePlan {
        id: parsed("i-0b22a22eec53b9321"),
        instance_type: "m5.large".to_owned(),
        type_like: None,
        type_data: None,
        ami: "ami-0bb07d9c8d6ca41e8".to_owned(),
        private_ip: Ipv4Addr::new(192, 168, 40, 16),
        private_dns_name: name.to_owned(),
        host_name: name.to_owned(),
        mac: "0a:00:00:00:00:01".to_owned(),
        availability_zone: "eu-west-1a".to_owned(),
        subnet_cidr: "192.168.32.0/19".to_owned(),
        vpc_cidrs: vec!["192.168.0.0/16".to_owned()],
        vpc_id: "vpc-0a1b2c3d4e5f60718".to_owned(),
        subnet_id: "subnet-0a1b2c3d4e5f60718".to_owned(),
        network_interface_id: "eni-0a1b2c3d4e5f60718".to_owned(),
        security_group_id: "sg-0a1b2c3d4e5f60718".to_owned(),
        volumes: Vec::new(),
        tags: BTreeMap::new(),
        life_cycle: LifeCycle::OnDemand,
        metadata: MetadataPlan::default(),
        network: NetworkPlan::default(),
        clock_ahead_seconds: 0,
    }
}

/// The role `demo-role`, which may do everything.
#[must_use]
pub fn role() -> RolePlan {
    RolePlan {
        name: "demo-role".to_owned(),
        path: "/".to_owned(),
        allow: None,
        deny: Vec::new(),
    }
}

/// The active cluster `demo`, which maps `demo-role` in `aws-auth`.
#[must_use]
pub fn cluster() -> ClusterPlan {
    ClusterPlan {
        name: "demo".to_owned(),
        endpoint_id: "0123456789ABCDEF0123456789ABCDEF".to_owned(),
        endpoint: None,
        status: vec![StatusStep {
            status: ClusterStatus::Active,
            until_seconds: None,
        }],
        service_ipv4_cidr: Some("10.100.0.0/16".to_owned()),
        certificate_authority: CaChoice::Own,
        aws_auth: vec![node_mapping("arn:aws:iam::111122223333:role/demo-role")],
        aws_auth_text: None,
        authentication_mode: AuthenticationMode::default(),
        access_entries: Vec::new(),
        approve_serving: Approval::Always(true),
        cloud_node_controller: true,
        approve_clients: Approval::Always(true),
        authenticator_until: None,
        bootstrap_tokens: Vec::new(),
        restart_api_server_after: None,
        eks: EksPlan::default(),
    }
}

/// The row of `aws-auth` that EKS writes for a node role.
#[must_use]
pub fn node_mapping(rolearn: &str) -> RoleMapping {
    RoleMapping {
        rolearn: rolearn.to_owned(),
        username: "system:node:{{EC2PrivateDNSName}}".to_owned(),
        groups: vec!["system:bootstrappers".to_owned(), "system:nodes".to_owned()],
        ..RoleMapping::default()
    }
}

fn parsed<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("the example is valid")
}

/// Inputs and the report of each, as the text of a snapshot.
#[cfg(test)]
pub(crate) fn listing<'a>(reports: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let sections = reports
        .into_iter()
        .map(|(input, report)| format!("{input}\n=> {}\n", report.trim_end()));
    sections.collect::<Vec<_>>().join("\n")
}

/// User data of this text.
#[must_use]
pub fn user_data_of(text: &str) -> UserDataPlan {
    use base64::Engine as _;
    UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: base64::engine::general_purpose::STANDARD.encode(text),
        gzip: false,
        replace: None,
        is_translated: false,
    }
}
