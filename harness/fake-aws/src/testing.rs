//! A world for unit tests.

use nodejoin_core::plan::aws::{AuthenticationMode, AwsPlan, EksPlan, NetworkPlan};
use nodejoin_core::plan::{CaChoice, ClusterPlan, InstancePlan, MetadataPlan, Network, RolePlan, StatusStep};
use tokio::sync::mpsc;

use crate::world::{AwsEvent, World};

/// A world with defaults, and its events.
pub(crate) fn world() -> (World, mpsc::UnboundedReceiver<AwsEvent>) {
    let (events, received) = mpsc::unbounded_channel();
    let world = World {
        account: "111122223333".parse().unwrap(),
        region: "eu-west-1".parse().unwrap(),
        network: Network::Isolated,
        instance: instance(),
        role: Some(RolePlan {
            name: "demo-role".into(),
            path: "/".into(),
            allow: None,
            deny: Vec::new(),
        }),
        cluster: ClusterPlan {
            name: "demo".into(),
            endpoint_id: "0123456789ABCDEF0123456789ABCDEF".into(),
            status: vec![StatusStep {
                status: "ACTIVE".into(),
                until_seconds: None,
            }],
            service_ipv4_cidr: Some("10.100.0.0/16".into()),
            certificate_authority: CaChoice::Own,
            aws_auth: Vec::new(),
            aws_auth_text: None,
            authentication_mode: AuthenticationMode::default(),
            access_entries: Vec::new(),
            approve_serving: true,
            cloud_node_controller: true,
            approve_clients: true,
            authenticator_until: None,
            bootstrap_tokens: Vec::new(),
            restart_api_server_after: None,
            eks: EksPlan::default(),
        },
        kubernetes_version: "v1.20.2".into(),
        certificate_authority: "-----BEGIN CERTIFICATE-----\n".into(),
        control_plane_ip: "172.30.0.9".parse().unwrap(),
        control_plane_name: None,
        user_data: Some(b"#!/bin/sh\n\xff".to_vec()),
        aws: AwsPlan::default(),
        faults: Vec::new(),
        rates: crate::faults::Rates::default(),
        images: Vec::new(),
        events,
    };
    (world, received)
}

fn instance() -> InstancePlan {
    InstancePlan {
        id: "i-0b22a22eec53b9321".parse().unwrap(),
        instance_type: "m5.large".into(),
        ami: "ami-0bb07d9c8d6ca41e8".into(),
        private_ip: "192.168.40.16".parse().unwrap(),
        private_dns_name: "ip-192-168-40-16.eu-west-1.compute.internal".into(),
        host_name: "ip-192-168-40-16.eu-west-1.compute.internal".into(),
        mac: "0a:00:00:00:00:01".into(),
        availability_zone: "eu-west-1a".into(),
        subnet_cidr: "192.168.32.0/19".into(),
        vpc_cidrs: vec!["192.168.0.0/16".into(), "100.64.0.0/16".into()],
        vpc_id: "vpc-0a1b2c3d4e5f60718".into(),
        subnet_id: "subnet-0a1b2c3d4e5f60718".into(),
        network_interface_id: "eni-0a1b2c3d4e5f60718".into(),
        security_group_id: "sg-0a1b2c3d4e5f60718".into(),
        tags: [("Name".to_owned(), "demo".to_owned())].into(),
        life_cycle: "on-demand".into(),
        metadata: MetadataPlan::default(),
        network: NetworkPlan::default(),
        clock_ahead_seconds: 0,
    }
}
