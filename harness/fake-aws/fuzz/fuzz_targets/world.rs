//! The world that the targets ask: the plan of a small scenario.

use std::path::Path;

use nodejoin_core::files::Memory;
use nodejoin_fake_aws::World;
use tokio::sync::mpsc;

const SCENARIO: &str = "name: fuzzed\nuser_data: '#!/bin/sh'\naws:\n  stacks: [{ name: s, waits_for: { NodeGroup: 2 } }]\n  \
roles: [{ name: other, trusts: service-accounts }]\n";

pub fn world() -> World {
    let files = Memory::default().with("/a.yaml", SCENARIO);
    let plan = nodejoin_core::scenario::load(Path::new("/a.yaml"), Path::new("/"), &files).unwrap();
    let (events, _) = mpsc::unbounded_channel();
    World {
        account: plan.account,
        region: plan.region,
        network: plan.network,
        instance: plan.instance,
        role: plan.role,
        cluster: plan.cluster,
        kubernetes_version: "v1.20.2".to_owned(),
        certificate_authority: "-----BEGIN CERTIFICATE-----\n".to_owned(),
        control_plane_ip: [172, 30, 0, 9].into(),
        user_data: None,
        aws: plan.aws,
        faults: plan.faults,
        images: Vec::new(),
        events,
    }
}
