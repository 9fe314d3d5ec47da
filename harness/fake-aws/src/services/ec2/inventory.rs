//! The instances of the account: the node's own, and those that exist in EC2 only.

use std::borrow::Cow;

use nodejoin_core::plan::InstancePlan;
use nodejoin_core::plan::ec2::{InstanceState, NetworkPlan, OtherInstance};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::clock::{RequestTime, StateView};
use crate::ec2_names;
use crate::instance::Instance;
use crate::interface_store::InterfaceStore;
use crate::world::World;

/// An instance in EC2's responses.
#[derive(Debug)]
pub(crate) struct Ec2Instance<'a> {
    pub world: &'a World,
    pub store: &'a InterfaceStore,
    pub plan: Cow<'a, InstancePlan>,
    pub state: InstanceState,
    pub launched: OffsetDateTime,
    /// Whether EC2 returns its names: they stay empty for a while after the launch.
    pub is_named: bool,
}

impl Ec2Instance<'_> {
    /// `PrivateDnsName`; empty while EC2 does not return it yet.
    #[must_use]
    pub(crate) fn private_dns_name(&self) -> &str {
        if self.is_named {
            &self.plan.private_dns_name
        } else {
            ""
        }
    }

    /// Whether it is the node's own instance.
    #[must_use]
    pub(crate) fn is_own(&self) -> bool {
        self.plan.id == self.world.instance.id
    }

    /// A terminated instance has no network.
    #[must_use]
    pub(crate) fn has_network(&self) -> bool {
        self.state != InstanceState::Terminated
    }
}

/// The instances of a region, the caller's own first.
#[must_use]
pub(crate) fn of_region<'a>(instance: &'a Instance, region: &str, time: RequestTime) -> Vec<Ec2Instance<'a>> {
    let world = &instance.world;
    let is_named = time.view != StateView::Stale && is_named(instance, time);
    let launched = instance.launched.into();
    let own = (region == world.region.as_str()).then_some(Ec2Instance {
        world,
        store: &instance.interfaces,
        plan: Cow::Borrowed(&world.instance),
        state: InstanceState::Running,
        launched,
        is_named,
    });
    let peers = instance.peers.iter().filter(|_| region == world.region.as_str());
    let peers = peers.map(|peer| Ec2Instance {
        world,
        store: &instance.interfaces,
        plan: Cow::Borrowed(&peer.plan),
        state: InstanceState::Running,
        launched: peer.launched.into(),
        is_named: peer.is_named,
    });
    let others = world
        .aws
        .instances
        .iter()
        .filter(|other| is_of(other, world, region));
    let others = others.map(|other| Ec2Instance {
        world,
        store: &instance.interfaces,
        plan: Cow::Owned(plan_of(other, world)),
        state: other.state,
        launched,
        is_named: other.state != InstanceState::Terminated,
    });
    own.into_iter().chain(peers).chain(others).collect()
}

/// Whether EC2 already returns the names of the node's own instance.
#[must_use]
pub(crate) fn is_named(instance: &Instance, time: RequestTime) -> bool {
    let network = &instance.world.instance.network;
    let without_name = network.named_after_requests;
    let has_asked = without_name == 0 || instance.described > without_name;
    has_asked && time.seconds() >= network.named_after_seconds
}

fn is_of(other: &OtherInstance, world: &World, region: &str) -> bool {
    other.region.as_deref().unwrap_or(world.region.as_str()) == region
}

/// The plan of a further instance: the node's own instance, apart from what the scenario sets.
fn plan_of(other: &OtherInstance, world: &World) -> InstancePlan {
    let own = &world.instance;
    let hash = hex::encode(Sha256::digest(&other.id));
    let name = ec2_names::private_dns_name(&world.region, other.private_ip);
    InstancePlan {
        id: other.id.parse().unwrap_or_else(|_| own.id.clone()),
        private_ip: other.private_ip,
        host_name: name.clone(),
        private_dns_name: name,
        mac: format!(
            "0a:{}:{}:{}:{}:{}",
            &hash[..2],
            &hash[2..4],
            &hash[4..6],
            &hash[6..8],
            &hash[8..10]
        ),
        network_interface_id: format!("eni-0{}", &hash[..16]),
        tags: other.tags.clone(),
        volumes: Vec::new(),
        network: NetworkPlan::default(),
        ..own.clone()
    }
}
