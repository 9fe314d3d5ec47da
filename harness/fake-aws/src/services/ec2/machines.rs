//! The instances of the account: the node's own, and those that only EC2 tells of.

use std::borrow::Cow;

use nodejoin_core::plan::InstancePlan;
use nodejoin_core::plan::aws::{InstanceState, NetworkPlan, OtherInstance};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::zones;
use crate::clock::{Moment, Twist};
use crate::world::{Instance, World};

/// An instance as EC2 knows it.
#[derive(Debug)]
pub struct Machine<'a> {
    /// Its account.
    pub world: &'a World,
    /// What it is.
    pub plan: Cow<'a, InstancePlan>,
    /// Its state.
    pub state: InstanceState,
    /// When it was launched.
    pub launched: OffsetDateTime,
    /// Whether its names have come around: they are empty for a moment after the launch.
    pub is_named: bool,
}

impl Machine<'_> {
    /// `PrivateDnsName`; empty where it has not come around.
    #[must_use]
    pub fn private_dns_name(&self) -> &str {
        if self.is_named {
            &self.plan.private_dns_name
        } else {
            ""
        }
    }

    /// Whether it can be reached: a terminated instance has lost its network.
    #[must_use]
    pub fn has_network(&self) -> bool {
        self.state != InstanceState::Terminated
    }
}

/// The instances of a region, the node's own first.
#[must_use]
pub fn of_region<'a>(instance: &'a Instance, region: &str, moment: Moment) -> Vec<Machine<'a>> {
    let world = &instance.world;
    let is_named = moment.twist != Twist::Stale && is_named(world, moment);
    let launched = instance.launched.into();
    let own = (region == world.region.as_str()).then_some(Machine {
        world,
        plan: Cow::Borrowed(&world.instance),
        state: InstanceState::Running,
        launched,
        is_named,
    });
    let others = world
        .aws
        .instances
        .iter()
        .filter(|other| is_of(other, world, region));
    let others = others.map(|other| Machine {
        world,
        plan: Cow::Owned(plan_of(other, world)),
        state: other.state,
        launched,
        is_named: other.state != InstanceState::Terminated,
    });
    own.into_iter().chain(others).collect()
}

/// Whether EC2 knows the name of the node's own instance by now.
#[must_use]
pub fn is_named(world: &World, moment: Moment) -> bool {
    moment.seconds() >= world.instance.network.named_after_seconds
}

fn is_of(other: &OtherInstance, world: &World, region: &str) -> bool {
    other.region.as_deref().unwrap_or(world.region.as_str()) == region
}

/// Like the node's own instance in everything that is not said.
fn plan_of(other: &OtherInstance, world: &World) -> InstancePlan {
    let own = &world.instance;
    let hash = hex::encode(Sha256::digest(&other.id));
    let name = zones::private_dns_name(&world.region, other.private_ip);
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
        network: NetworkPlan::default(),
        ..own.clone()
    }
}
