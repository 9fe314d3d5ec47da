//! An instance and everything about it that changes while it runs. Pure data, no sockets.

use std::time::SystemTime;

use crate::answers::Answers;
use crate::clock::{RequestTime, StateView};
use crate::credentials::{CredentialStore, InstanceKey};
use crate::dns_faults::DnsFaults;
use crate::faults::Faults;
use crate::group_member::GroupMember;
use crate::interface_store::InterfaceStore;
use crate::log_store::LogStore;
use crate::metadata::MetadataTree;
use crate::peer::Peer;
use crate::stacks::Stacks;
use crate::world::{AwsEvent, AwsEventKind, World};

/// Credentials that identify the instance itself to EC2 live this long.
const IDENTITY_LIFETIME: time::Duration = time::Duration::hours(6);

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) world: World,
    pub(crate) key: InstanceKey,
    /// Proves passwords of the image registry, for all instances of the account.
    pub(crate) registry_key: InstanceKey,
    /// The other instances of the account, during a request.
    pub(crate) peers: Vec<Peer>,
    /// Credentials of the instance's role, and of the roles that it assumed.
    pub(crate) issued: CredentialStore,
    /// Credentials that identify the instance itself to EC2.
    pub(crate) identity: CredentialStore,
    pub(crate) faults: Faults,
    pub(crate) dns_faults: DnsFaults,
    pub(crate) answers: Answers,
    /// CloudFormation stacks and the signals that they received.
    pub(crate) stacks: Stacks,
    /// The instance as a member of its Auto Scaling group.
    pub(crate) group_member: GroupMember,
    /// Network interfaces that clients created, and attributes that they changed.
    pub(crate) interfaces: InterfaceStore,
    /// What clients wrote to CloudWatch Logs.
    pub(crate) logs: LogStore,
    pub(crate) tree: MetadataTree,
    /// Time at which the source address of its node was attached.
    pub(crate) started: Option<SystemTime>,
    /// Number of the node's requests of DescribeInstances.
    pub(crate) described: u32,
    /// Time at which its world was admitted: `pendingTime` in the identity document.
    pub(crate) launched: SystemTime,
}

impl Instance {
    pub(crate) fn launch(world: World, now: SystemTime) -> Self {
        let lifetime = time::Duration::seconds(world.instance.metadata.credentials.lifetime_seconds.into());
        Self {
            key: InstanceKey::generate(),
            registry_key: InstanceKey::generate(),
            peers: Vec::new(),
            issued: CredentialStore::with_lifetime(lifetime),
            identity: CredentialStore::with_lifetime(IDENTITY_LIFETIME),
            stacks: Stacks::of(&world.aws.stacks),
            faults: Faults::new(&world.faults, world.shared.rates.clone()),
            dns_faults: DnsFaults::new(&world.dns_faults),
            answers: Answers::of(&world.aws.answers),
            group_member: GroupMember::of(world.aws.autoscaling.as_ref()),
            interfaces: InterfaceStore::default(),
            logs: LogStore::of(world.region.as_str(), &world.aws.log_groups),
            tree: MetadataTree::of(&world),
            started: None,
            described: 0,
            launched: now,
            world,
        }
    }

    /// Applies changes of the world. Issued credentials stay valid, and faults that are still there keep their count.
    pub(crate) fn reload_world(&mut self) {
        self.tree = MetadataTree::of(&self.world);
        self.faults.replace(&self.world.faults);
    }

    /// Sends an event to the engine.
    pub(crate) fn record(&self, at: SystemTime, what: AwsEventKind) {
        // The engine closes the channel once the scenario has its verdict; later events are not needed.
        let _closed = self.world.events.send(AwsEvent { at, what });
    }

    /// The time of a request, as this instance's AWS sees it.
    pub(crate) fn request_time(&self, now: SystemTime) -> RequestTime {
        let elapsed = self
            .started
            .and_then(|started| now.duration_since(started).ok())
            .unwrap_or_default();
        let time = RequestTime {
            now: now.into(),
            elapsed,
            view: StateView::Current,
        };
        // The node shares this machine's clock, which cannot differ for one container: AWS' clock moves the other way.
        time.ahead(-self.world.instance.clock_ahead_seconds)
    }
}
