//! One scenario's place on shared ground: its world in the fakes, its tenant on the control plane, its node.

use std::time::{Duration, Instant, SystemTime};

use futures::future::try_join_all;
use futures::stream::{self, BoxStream, StreamExt};
use nodejoin_cluster::{ClusterEvent, ClusterFact, Tenant};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::observation::{AccessResult, Collected, Observation, PodResult, What};
use nodejoin_core::phases::KUBELET_SERVING;
use nodejoin_core::plan::{Authority, Cni, Plan, UserDataEngine};
use nodejoin_core::time_factor::TimeFactor;
use nodejoin_core::user_data::{self, Values};
use nodejoin_docker::{ImageRef, Run};
use nodejoin_fake_aws::{AwsEvent, AwsEventKind, World};
use nodejoin_node::{CollectAsk, Node, NodeAsk};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::error::EngineError;
use crate::ground::Ground;
use crate::observer::Incoming;

/// How long a pod may take from its creation to its answer.
const POD_LIMIT: Duration = Duration::from_secs(45);

/// How long an issued serving certificate may take until it is served.
const SERVED_LIMIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What a scenario holds on shared ground between its begin and its end.
pub(crate) struct Tenancy<'a> {
    ground: &'a Ground,
    plan: &'a Plan,
    user_data: Option<Vec<u8>>,
    time_factor: TimeFactor,
}

/// What the fakes and the control plane have to tell of a scenario. They send until the tenancy ends.
pub(crate) struct Told {
    aws: mpsc::UnboundedReceiver<AwsEvent>,
    cluster: mpsc::UnboundedReceiver<ClusterEvent>,
}

impl<'a> Tenancy<'a> {
    /// Admits the plan's world and tenant.
    pub(crate) async fn begin(
        ground: &'a Ground,
        plan: &'a Plan,
        time_factor: TimeFactor,
    ) -> Result<(Self, Told), EngineError> {
        let authority = match plan.cluster.certificate_authority {
            Authority::Own => &ground.control_plane.ca_pem,
            Authority::Other => &ground.control_plane.other_ca_pem,
        };
        let user_data = render(plan, authority)?;
        let (to_aws, aws) = mpsc::unbounded_channel();
        let (to_cluster, cluster) = mpsc::unbounded_channel();
        ground.fakes.admit(World {
            account: plan.account.clone(),
            region: plan.region.clone(),
            network: plan.network,
            instance: plan.instance.clone(),
            role: plan.role.clone(),
            cluster: plan.cluster.clone(),
            certificate_authority: authority.clone(),
            control_plane_ip: *ground.control_plane.endpoint.ip(),
            kubernetes_version: Minor::of(&ground.control_plane.version).to_string(),
            user_data: user_data.clone(),
            aws: plan.aws.clone(),
            faults: plan.faults.clone(),
            images: ground.images.clone(),
            events: to_aws,
        });
        let tenancy = Self {
            ground,
            plan,
            user_data,
            time_factor,
        };
        let tenant = Tenant {
            account: plan.account.clone(),
            region: plan.region.clone(),
            instance: plan.instance.clone(),
            cluster: plan.cluster.clone(),
            pod_cidr: (plan.cni == Cni::Bridge).then(|| nodejoin_node::pods::cidr(plan.instance.private_ip)),
            events: to_cluster,
        };
        ground.control_plane.admit(tenant).await?;
        Ok((tenancy, Told { aws, cluster }))
    }

    /// Starts the node, and makes its address known to the fakes and to the control plane.
    pub(crate) async fn boot(&self, run: &Run, image: &ImageRef) -> Result<Node, EngineError> {
        let fakes = &self.ground.fakes;
        let ask = NodeAsk {
            image: image.clone(),
            plan: self.plan,
            network: self.ground.network.clone(),
            metadata: fakes.metadata,
            tls: fakes.tls,
            dns: fakes.dns,
            api_server: self.ground.control_plane.endpoint.into(),
            labels: self.ground.control_plane.node_labels.clone(),
            aws_ca_pem: fakes.ca_pem.clone(),
            direct: self.direct(),
        };
        let node = nodejoin_node::boot(run, &ask).await?;
        // From here on the entry program gets the run's id from the metadata address, and systemd starts.
        fakes.attach(node.ip, &self.plan.instance.id);
        self.ground
            .control_plane
            .route(&self.plan.instance.id, node.ip)
            .await?;
        Ok(node)
    }

    /// Everything that is told of the node, from all sources, as it comes.
    pub(crate) fn incoming(node: &Node, told: Told) -> BoxStream<'static, Incoming> {
        let aws = UnboundedReceiverStream::new(told.aws).map(from_aws);
        let cluster = UnboundedReceiverStream::new(told.cluster).map(from_cluster);
        let journal = node.journal().map(|(at, line)| Incoming {
            at,
            what: What::Journal(line),
            node: None,
        });
        let ended = node.clone();
        let exit = stream::once(async move { ended.exited().await }).filter_map(async |exit| {
            let exit = exit.ok()?;
            let what = What::ContainerExited {
                code: exit.code,
                lines: exit.lines,
            };
            Some(Incoming {
                at: SystemTime::now(),
                what,
                node: None,
            })
        });
        let all = stream::select(stream::select(aws, cluster), stream::select(journal, exit));
        all.boxed()
    }

    /// Asks the node, and the control plane about it, for what no event tells.
    pub(crate) async fn collect(&self, node: &Node, seen: &Observation) -> Result<Collected, EngineError> {
        let ask = CollectAsk {
            files: self.plan.expect.files.keys().cloned().collect(),
            units: self.plan.expect.units.keys().cloned().collect(),
            cluster_ca_pem: self.ground.control_plane.ca_pem.clone(),
            private_ip: self.plan.instance.private_ip,
        };
        // A container that has ended cannot be asked, and that it ended is in the observation.
        let has_ended = seen
            .timeline
            .iter()
            .any(|seen| matches!(seen.what, What::ContainerExited { .. }));
        let mut collected = if has_ended {
            Collected::default()
        } else {
            collect_served(node, &ask, seen, self.time_factor.limit(SERVED_LIMIT)).await?
        };
        collected.access = self.access(seen).await?;
        if let Some(name) = node_name(seen) {
            // That the API server cannot reach the kubelet is an answer: the check that wants a value says so.
            collected.configz = self.ground.control_plane.configz(&name).await.ok();
            collected.pod = self.pod(&name).await?;
        }
        Ok(collected)
    }

    /// What the node may do, as the user that its token made it.
    async fn access(&self, seen: &Observation) -> Result<Option<Vec<AccessResult>>, EngineError> {
        let Some((user, groups)) = identity(seen) else {
            return Ok(None);
        };
        let asked = self.plan.expect.access.iter();
        let answers = asked.map(|asked| self.ground.control_plane.may(user, groups, asked));
        Ok(Some(try_join_all(answers).await?))
    }

    async fn pod(&self, node: &str) -> Result<Option<PodResult>, EngineError> {
        let Some(pod) = &self.plan.pod else {
            return Ok(None);
        };
        Ok(Some(
            self.ground
                .control_plane
                .run_pod(
                    &self.plan.instance.id,
                    node,
                    pod,
                    self.time_factor.limit(POD_LIMIT),
                )
                .await?,
        ))
    }

    /// Gives everything back that `begin` took, and says what could not be.
    pub(crate) async fn end(self) -> Result<(), EngineError> {
        self.ground.fakes.detach(&self.plan.instance.id);
        Ok(self.ground.control_plane.withdraw(&self.plan.instance.id).await?)
    }

    fn direct(&self) -> Option<nodejoin_node::DirectUserData> {
        let engine = self.plan.user_data.as_ref()?.engine;
        let bytes = self
            .user_data
            .as_ref()
            .filter(|_| engine == UserDataEngine::Direct)?;
        Some(crate::direct::take_apart(bytes))
    }
}

/// A kubelet asks for its issued certificate about once a second, and serves it from then on: what hangs on port 10250 is asked
/// for only after that, or after the limit, when its absence is the answer.
async fn collect_served(
    node: &Node,
    ask: &CollectAsk,
    seen: &Observation,
    limit: Duration,
) -> Result<Collected, EngineError> {
    let issued = issued_for_serving(seen);
    let until = Instant::now() + limit;
    loop {
        let collected = node.collect(ask).await?;
        let served = collected
            .served
            .as_ref()
            .and_then(|served| served.fingerprint.as_ref());
        let is_served = issued.is_empty() || served.is_some_and(|served| issued.contains(&served));
        if is_served || Instant::now() >= until {
            return Ok(collected);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Fingerprints of the serving certificates that were issued to the node.
fn issued_for_serving(seen: &Observation) -> Vec<&String> {
    let serving = seen
        .certificates
        .iter()
        .filter(|seen| seen.signer == KUBELET_SERVING);
    serving
        .filter_map(|certificate| certificate.fingerprint.as_ref())
        .collect()
}

fn render(plan: &Plan, authority: &str) -> Result<Option<Vec<u8>>, EngineError> {
    let Some(user_data) = &plan.user_data else {
        return Ok(None);
    };
    let rendered = user_data::render(user_data, &Values::of(plan, authority));
    rendered.map(Some).map_err(|source| EngineError::UserData {
        scenario: plan.id.to_string(),
        source,
    })
}

/// The user name and the groups of the last token that was accepted.
fn identity(seen: &Observation) -> Option<(&str, &[String])> {
    seen.timeline.iter().rev().find_map(|seen| match &seen.what {
        What::Authentication(token) if token.accepted => {
            Some((token.username.as_deref()?, token.groups.as_slice()))
        }
        _ => None,
    })
}

fn node_name(seen: &Observation) -> Option<String> {
    seen.node
        .as_ref()?
        .pointer("/metadata/name")?
        .as_str()
        .map(str::to_owned)
}

fn from_aws(event: AwsEvent) -> Incoming {
    let what = match event.what {
        AwsEventKind::Aws(call) => What::Aws(call),
        AwsEventKind::Dns(query) => What::Dns(query),
        AwsEventKind::Isolated => What::Isolated,
    };
    Incoming {
        at: event.at,
        what,
        node: None,
    }
}

fn from_cluster(event: ClusterEvent) -> Incoming {
    let (what, node) = match event.what {
        ClusterFact::Authentication(seen) => (What::Authentication(seen), None),
        ClusterFact::Audit(seen) => (What::Audit(seen), None),
        ClusterFact::Certificate(seen) => (What::Certificate(seen), None),
        ClusterFact::Node { change, object } => (What::Node(change), object),
    };
    Incoming {
        at: event.at,
        what,
        node,
    }
}
