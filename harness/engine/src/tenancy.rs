//! One scenario's place on shared ground: its world in the fakes, its tenant on the control plane, its node.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use futures::future::try_join_all;
use futures::stream::{self, BoxStream, StreamExt};
use nodejoin_cluster::{ClusterEvent, ClusterFact, Tenant};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::observation::phases::KUBELET_SERVING;
use nodejoin_core::observation::{AccessResult, Collected, Observation, ObservedEvent, PodResult};
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::plan::{CaChoice, Cni, Plan, PodPlan, RoleMapping, UserDataEngine};
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::user_data::{self, Values};
use nodejoin_docker::{ImageRef, Run};
use nodejoin_fake_aws::Rates;
use nodejoin_fake_aws::{AwsEvent, AwsEventKind, RegistryImage, World};
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
    plan: Plan,
    user_data: Option<Vec<u8>>,
    /// What its own registry holds.
    images: Vec<RegistryImage>,
    time_factor: TimeFactor,
}

impl<'a> Tenancy<'a> {
    /// Admits the plan's world and tenant. Nodes of one scenario share `rates`, and their registry holds `images`.
    pub(crate) async fn begin(
        ground: &'a Ground,
        plan: &Plan,
        images: &[RegistryImage],
        rates: &Rates,
        time_factor: TimeFactor,
    ) -> Result<(Self, BoxStream<'static, Incoming>), EngineError> {
        let authority = match plan.cluster.certificate_authority {
            CaChoice::Own => &ground.control_plane.ca_pem,
            CaChoice::Other => &ground.control_plane.other_ca_pem,
        };
        let user_data = render(plan, authority)?;
        let (to_aws, aws) = mpsc::unbounded_channel();
        let (to_cluster, cluster) = mpsc::unbounded_channel();
        ground.fakes.admit(World {
            certificate_authority: authority.clone(),
            control_plane_ip: *ground.control_plane.endpoint.ip(),
            control_plane_name: ground.control_plane.kubeadm_host().map(str::to_owned),
            kubernetes_version: Minor::of(&ground.control_plane.version).to_string(),
            user_data: user_data.clone(),
            rates: rates.clone(),
            images: [&ground.images, images].concat(),
            ..World::of(plan, to_aws)
        });
        let tenancy = Self {
            ground,
            plan: plan.clone(),
            user_data,
            images: images.to_vec(),
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
        let aws = UnboundedReceiverStream::new(aws).map(from_aws);
        let cluster = UnboundedReceiverStream::new(cluster).map(from_cluster);
        Ok((tenancy, stream::select(aws, cluster).boxed()))
    }

    /// Lets another instance take the place of this one, whose container is gone. The Node stays.
    pub(crate) async fn succeed(&mut self, plan: &Plan) -> Result<BoxStream<'static, Incoming>, EngineError> {
        let before = &self.plan.instance.id;
        self.ground.fakes.detach(before);
        self.ground.control_plane.forget(before).await?;
        let (next, told) = Self::begin(
            self.ground,
            plan,
            &self.images,
            &Rates::default(),
            self.time_factor,
        )
        .await?;
        *self = next;
        Ok(told)
    }

    /// Starts the node, and makes its address known to the fakes and to the control plane.
    pub(crate) async fn boot(&self, run: &Run, image: &ImageRef) -> Result<Node, EngineError> {
        let fakes = &self.ground.fakes;
        let ask = NodeAsk {
            image: image.clone(),
            plan: &self.plan,
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
        self.meet(&node).await?;
        Ok(node)
    }

    /// Makes the address of a node that boots known: its entry program gets the run's id from the metadata address, and systemd starts.
    pub(crate) async fn meet(&self, node: &Node) -> Result<(), EngineError> {
        let instance = &self.plan.instance.id;
        self.ground.fakes.attach(node.ip, instance);
        Ok(self.ground.control_plane.route(instance, node.ip).await?)
    }

    /// How often each fault of the plan fired so far.
    pub(crate) fn faults_fired(&self) -> BTreeMap<usize, u32> {
        self.ground.fakes.faults_fired(&self.plan.instance.id)
    }

    /// Makes the snapshot of a node, where its scenario keeps one, of what was collected.
    pub(crate) fn take_snapshot(&self, seen: &mut Observation) {
        let (Some(golden), Some(collected)) = (&self.plan.golden, &mut seen.collected) else {
            return;
        };
        let values = values(&self.plan, self.authority());
        collected.golden = Some(golden.render(collected, &values));
    }

    /// The plan of this node, or of a step of it, with all values in what it expects.
    pub(crate) fn filled(&self, plan: Plan) -> Plan {
        let expect = plan.expect.filled(&values(&plan, self.authority()));
        Plan { expect, ..plan }
    }

    /// The CA that the plan's cluster gives to its nodes.
    fn authority(&self) -> &str {
        match self.plan.cluster.certificate_authority {
            CaChoice::Own => &self.ground.control_plane.ca_pem,
            CaChoice::Other => &self.ground.control_plane.other_ca_pem,
        }
    }

    /// Deletes the Node.
    pub(crate) async fn delete_node(&self, name: &str) -> Result<(), EngineError> {
        Ok(self.ground.control_plane.delete_node(name).await?)
    }

    /// Everything that the node itself tells, as it comes.
    pub(crate) fn of_node(node: &Node) -> BoxStream<'static, Incoming> {
        let journal = node.journal().map(|(at, line)| Incoming {
            at,
            what: ObservedEvent::Journal(line),
            node: None,
        });
        let ended = node.clone();
        let exit = stream::once(async move { ended.exited().await }).filter_map(async |exit| {
            let exit = exit.ok()?;
            let what = ObservedEvent::ContainerExited {
                code: exit.code,
                lines: exit.lines,
            };
            Some(Incoming {
                at: SystemTime::now(),
                what,
                node: None,
            })
        });
        stream::select(journal, exit).boxed()
    }

    /// Adds the rows of aws-auth that come late, each at its time after the node's start.
    pub(crate) async fn map_late(&self, started: SystemTime) -> Result<(), EngineError> {
        let rows = self.plan.cluster.aws_auth.iter();
        let mut late: Vec<(f64, &RoleMapping)> =
            rows.filter_map(|row| Some((row.after_seconds?, row))).collect();
        late.sort_by(|one, next| one.0.total_cmp(&next.0));
        for (after, row) in late {
            let at = started + Duration::from_secs_f64(after);
            let left = at.duration_since(SystemTime::now()).unwrap_or_default();
            tokio::time::sleep(left).await;
            let row = std::slice::from_ref(row);
            self.ground.control_plane.map(&self.plan.instance.id, row).await?;
        }
        Ok(())
    }

    /// Asks the node, and the control plane about it, for what no event tells.
    pub(crate) async fn collect(
        &self,
        node: &Node,
        plan: &Plan,
        seen: &Observation,
    ) -> Result<Collected, EngineError> {
        let expect = &plan.expect;
        let ask = CollectAsk {
            files: files_of(plan),
            units: expect.units.keys().cloned().collect(),
            cluster_ca_pem: self.ground.control_plane.ca_pem.clone(),
            private_ip: self.plan.instance.private_ip,
        };
        // A container that has ended cannot be asked, and that it ended is in the observation.
        let has_ended = seen
            .timeline
            .iter()
            .any(|seen| matches!(seen.what, ObservedEvent::ContainerExited { .. }));
        let mut collected = if has_ended {
            Collected::default()
        } else {
            collect_served(node, &ask, seen, self.time_factor.limit(SERVED_LIMIT)).await?
        };
        collected.access = self.access(expect, seen).await?;
        if let Some(name) = node_name(seen) {
            // That the API server cannot reach the kubelet is an answer: the check that wants a value says so.
            collected.configz = self.ground.control_plane.configz(&name).await.ok();
            collected.pod = match &plan.pod {
                Some(pod) => Some(self.pod(&name, pod).await?),
                None => None,
            };
        }
        Ok(collected)
    }

    /// What the node may do, as the user that its token made it.
    async fn access(
        &self,
        expect: &Expect,
        seen: &Observation,
    ) -> Result<Option<Vec<AccessResult>>, EngineError> {
        let Some((user, groups)) = identity(seen) else {
            return Ok(None);
        };
        let asked = expect.access.iter();
        let answers = asked.map(|asked| self.ground.control_plane.may(user, groups, asked));
        Ok(Some(try_join_all(answers).await?))
    }

    async fn pod(&self, node: &str, pod: &PodPlan) -> Result<PodResult, EngineError> {
        let limit = self.time_factor.limit(POD_LIMIT);
        let instance = &self.plan.instance.id;
        Ok(self
            .ground
            .control_plane
            .run_pod(instance, node, pod, limit)
            .await?)
    }

    /// Gives everything back that `begin` took, and says what could not be. Of a node that is kept the cluster keeps what it knows.
    pub(crate) async fn end(self, is_kept: bool) -> Result<(), EngineError> {
        let (id, control_plane) = (&self.plan.instance.id, &self.ground.control_plane);
        self.ground.fakes.detach(id);
        match is_kept {
            true => control_plane.leave(id).await?,
            false => control_plane.withdraw(id).await?,
        }
        Ok(())
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
    let rendered = user_data::render(user_data, &values(plan, authority));
    rendered.map(Some).map_err(|source| EngineError::UserData {
        scenario: plan.id.to_string(),
        source,
    })
}

/// What user data can name. The keys behind the identity document are made when somebody asks for their certificates.
pub(crate) fn values(plan: &Plan, authority: &str) -> Values {
    let values = Values::of(plan, authority);
    if !plan.user_data.as_ref().is_some_and(user_data::names_identity) {
        return values;
    }
    let certificates = nodejoin_fake_aws::identity::certificates();
    values.with_identity(&certificates.rsa, &certificates.dsa, &certificates.rsa2048)
}

fn files_of(plan: &Plan) -> Vec<String> {
    let golden = plan.golden.iter().flat_map(|golden| &golden.files);
    let mut files: Vec<String> = plan.expect.files.keys().chain(golden).cloned().collect();
    files.sort();
    files.dedup();
    files
}

/// The user name and the groups of the last token that was accepted.
fn identity(seen: &Observation) -> Option<(&str, &[String])> {
    seen.timeline.iter().rev().find_map(|seen| match &seen.what {
        ObservedEvent::Authentication(token) => Some((token.username()?, token.groups())),
        _ => None,
    })
}

pub(crate) fn node_name(seen: &Observation) -> Option<String> {
    seen.node
        .as_ref()?
        .pointer("/metadata/name")?
        .as_str()
        .map(str::to_owned)
}

fn from_aws(event: AwsEvent) -> Incoming {
    let what = match event.what {
        AwsEventKind::Aws(call) => ObservedEvent::Aws(call),
        AwsEventKind::Dns(query) => ObservedEvent::Dns(query),
        AwsEventKind::Isolated => ObservedEvent::Isolated,
    };
    Incoming {
        at: event.at,
        what,
        node: None,
    }
}

fn from_cluster(event: ClusterEvent) -> Incoming {
    let (what, node) = match event.what {
        ClusterFact::Authentication(seen) => (ObservedEvent::Authentication(seen), None),
        ClusterFact::Audit(seen) => (ObservedEvent::Audit(seen), None),
        ClusterFact::Certificate(seen) => (ObservedEvent::Certificate(seen), None),
        ClusterFact::Mapping(seen) => (ObservedEvent::Mapping(seen), None),
        ClusterFact::Node { change, object } => (ObservedEvent::Node(change), object),
    };
    Incoming {
        at: event.at,
        what,
        node,
    }
}
