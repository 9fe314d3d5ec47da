//! A world for unit tests.

use nodejoin_core::plan::aws::AwsPlan;
use nodejoin_core::plan::fault::{Effect, Fault, Service};
use nodejoin_core::plan::{ClusterPlan, InstancePlan, Network};
use nodejoin_core::testing::{cluster, role};
use tokio::sync::mpsc;

use crate::world::{AwsEvent, World};

/// A world with defaults, and its events.
pub(crate) fn world() -> (World, mpsc::UnboundedReceiver<AwsEvent>) {
    let (events, received) = mpsc::unbounded_channel();
    let world = World {
        account: "111122223333".parse().unwrap(),
        region: "eu-west-1".parse().unwrap(),
        network: Network::Isolated,
        outside: Default::default(),
        http_proxy: None,
        instance: instance(),
        role: Some(role()),
        cluster: ClusterPlan {
            aws_auth: Vec::new(),
            ..cluster()
        },
        kubernetes_version: "v1.20.2".into(),
        certificate_authority: "-----BEGIN CERTIFICATE-----\n".into(),
        control_plane: "172.30.0.9:443".parse().unwrap(),
        control_plane_name: None,
        user_data: Some(b"#!/bin/sh\n\xff".to_vec()),
        aws: AwsPlan::default(),
        faults: Vec::new(),
        dns_faults: Vec::new(),
        shared: crate::shared_account::SharedAccount::default(),
        images: Vec::new(),
        events,
    };
    (world, received)
}

/// A fault that closes every connection to a service.
pub(crate) fn fault(service: Service) -> Fault {
    Fault {
        service,
        operation: None,
        path: None,
        after: 0,
        times: None,
        from_seconds: None,
        until_seconds: None,
        effect: Effect::Close,
        may_fire: false,
        above_per_second: None,
    }
}

fn instance() -> InstancePlan {
    InstancePlan {
        vpc_cidrs: vec!["192.168.0.0/16".into(), "100.64.0.0/16".into()],
        volumes: Vec::new(),
        tags: [("Name".to_owned(), "demo".to_owned())].into(),
        ..nodejoin_core::testing::instance()
    }
}
