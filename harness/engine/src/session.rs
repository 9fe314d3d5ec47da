//! One instance's session in an environment: its world in the fakes, its tenant on the control plane, and its node.

use std::collections::BTreeMap;
use std::time::SystemTime;

use futures::stream::BoxStream;
use nodejoin_cluster::{ClusterError, Tenant};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::observation::Observation;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{CaChoice, Cni, Plan, UserDataEngine};
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::user_data::{Values, fill};
use nodejoin_docker::{ImageRef, Run};
use nodejoin_fake_aws::SharedAccount;
use nodejoin_fake_aws::{Refusals, RegistryImage, World};
use nodejoin_node::{DirectUserData, Node};
use tokio::sync::mpsc;

use crate::environment::Environment;
use crate::error::EngineError;
use crate::observer::Incoming;
use crate::sources;
use crate::user_data::{parse_user_data, render, values};
use crate::watch::grant_late_rights;

/// What an instance acquired in an environment; [`ScenarioSession::end`] returns it.
pub(crate) struct ScenarioSession<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) plan: Plan,
    pub(crate) time_factor: TimeFactor,
    user_data: Option<Vec<u8>>,
    /// Images of the scenario's own registry.
    images: Vec<RegistryImage>,
}

impl<'a> ScenarioSession<'a> {
    /// Admits the plan's world and tenant, both or none. Nodes of one scenario share `account`, and their registry
    /// holds `images`.
    pub(crate) async fn begin(
        environment: &'a Environment,
        plan: &Plan,
        images: &[RegistryImage],
        account: &SharedAccount,
        time_factor: TimeFactor,
    ) -> Result<(Self, BoxStream<'static, Incoming>), EngineError> {
        let control_plane = &environment.control_plane;
        let authority = match plan.cluster.certificate_authority {
            CaChoice::Own => &control_plane.ca_pem,
            CaChoice::Other => &control_plane.other_ca_pem,
        };
        let user_data = render(plan, authority)?;
        let (to_aws, aws) = mpsc::unbounded_channel();
        let (to_cluster, cluster) = mpsc::unbounded_channel();
        let world = World {
            certificate_authority: authority.clone(),
            control_plane: control_plane.endpoint,
            control_plane_name: control_plane.kubeadm_host().map(str::to_owned),
            kubernetes_version: Minor::of(&control_plane.version).to_string(),
            user_data: user_data.clone(),
            aws: plan.aws.filled(&values(plan, authority)),
            shared: account.clone(),
            images: [&environment.images, images].concat(),
            ..World::of(plan, to_aws)
        };
        let tenant = Tenant {
            account: plan.account.clone(),
            region: plan.region.clone(),
            instance: plan.instance.clone(),
            cluster: plan.cluster.clone(),
            pod_cidr: (plan.cni == Cni::Bridge).then(|| nodejoin_node::pods::cidr(plan.instance.private_ip)),
            events: to_cluster,
        };
        admit(environment, world, tenant).await?;
        let session = Self {
            environment,
            plan: plan.clone(),
            user_data,
            images: images.to_vec(),
            time_factor,
        };
        Ok((session, sources::of_session(aws, cluster)))
    }

    /// Replaces the instance, whose container is gone, by the plan's. The Node object stays.
    pub(crate) async fn replace_instance(
        &mut self,
        plan: &Plan,
    ) -> Result<BoxStream<'static, Incoming>, EngineError> {
        let before = &self.plan.instance.id;
        self.environment.fakes.detach(before);
        self.environment.control_plane.retire_keeping_node(before).await?;
        let (next, events) = Self::begin(
            self.environment,
            plan,
            &self.images,
            &SharedAccount::default(),
            self.time_factor,
        )
        .await?;
        *self = next;
        Ok(events)
    }

    /// Starts the node and registers its address.
    pub(crate) async fn boot(&self, run: &Run, image: &ImageRef) -> Result<Node, EngineError> {
        let ground = self.environment.ground();
        let request = ground.node_request(image, &self.plan, self.direct(), false);
        let node = nodejoin_node::boot(run, &request).await?;
        self.register_address(&node).await?;
        Ok(node)
    }

    /// Opens the gate of a node that booted ahead: its join starts now.
    pub(crate) async fn open_gate(&self, mut node: Node) -> Result<Node, EngineError> {
        node.started = SystemTime::now();
        self.register_address(&node).await?;
        Ok(node)
    }

    /// Registers the address of a booting node with the fakes and the control plane. Its entry program then reads the
    /// run's id from the metadata address, and systemd starts.
    pub(crate) async fn register_address(&self, node: &Node) -> Result<(), EngineError> {
        let instance = &self.plan.instance.id;
        self.environment.fakes.attach(node.ip, instance);
        Ok(self.environment.control_plane.route(instance, node.ip).await?)
    }

    /// The user data that the metadata service returns.
    pub(crate) fn user_data(&self) -> Option<&[u8]> {
        self.user_data.as_deref()
    }

    /// How often each fault of the plan fired so far, by its index.
    pub(crate) fn faults_fired(&self) -> BTreeMap<usize, u32> {
        self.environment.fakes.faults_fired(&self.plan.instance.id)
    }

    /// Where the node's refused connections are recorded.
    pub(crate) fn refusals(&self) -> Refusals {
        self.environment.fakes.refusals(&self.plan.instance.id)
    }

    /// Renders the snapshot of the node from the collected facts when the scenario has a `golden` file.
    pub(crate) fn render_snapshot(&self, seen: &mut Observation) {
        let golden = self.plan.golden.as_ref().filter(|golden| golden.has_parts());
        let (Some(golden), Some(collected)) = (golden, &mut seen.collected) else {
            return;
        };
        let values = values(&self.plan, self.certificate_authority());
        collected.golden = Some(golden.render(collected, &values));
    }

    /// The values of this node that the state of its machine names.
    pub(crate) fn values(&self) -> Values {
        values(&self.plan, self.certificate_authority())
    }

    /// A plan of this node, or of one of its steps, with values in place of the templates in its expectations.
    pub(crate) fn with_values(&self, plan: Plan) -> Plan {
        let expect = plan.expect.filled(&values(&plan, self.certificate_authority()));
        Plan { expect, ..plan }
    }

    /// A text of the user data with values in place of its templates; unchanged if one is unknown, which the user data
    /// itself reports.
    pub(crate) fn filled(&self, text: &str) -> String {
        let filled = fill(text.as_bytes(), &self.values()).ok();
        let filled = filled.and_then(|bytes| String::from_utf8(bytes).ok());
        filled.unwrap_or_else(|| text.to_owned())
    }

    /// The certificate authority that the plan's cluster reports to its nodes.
    fn certificate_authority(&self) -> &str {
        match self.plan.cluster.certificate_authority {
            CaChoice::Own => &self.environment.control_plane.ca_pem,
            CaChoice::Other => &self.environment.control_plane.other_ca_pem,
        }
    }

    /// Deletes a Node object.
    pub(crate) async fn delete_node(&self, name: &str) -> Result<(), EngineError> {
        Ok(self.environment.control_plane.delete_node(name).await?)
    }

    /// Adds the delayed rows of aws-auth, each when its time since the node's start has passed.
    pub(crate) async fn grant_late_rights(&self, started: SystemTime) -> Result<(), EngineError> {
        let (instance, control_plane) = (&self.plan.instance.id, &self.environment.control_plane);
        grant_late_rights(&self.plan.cluster, started, SystemTime::now, async |right| {
            Ok(control_plane.grant(instance, right).await?)
        })
        .await
    }

    /// Returns everything that `begin` acquired. The cluster keeps the objects of a node that is kept.
    pub(crate) async fn end(self, is_kept: bool) -> Result<(), EngineError> {
        let (id, control_plane) = (&self.plan.instance.id, &self.environment.control_plane);
        self.environment.fakes.detach(id);
        match is_kept {
            true => control_plane.retire_keeping_objects(id).await?,
            false => control_plane.remove(id).await?,
        }
        Ok(())
    }

    fn direct(&self) -> Option<DirectUserData> {
        let engine = self.plan.user_data.as_ref()?.engine;
        let bytes = self
            .user_data
            .as_ref()
            .filter(|_| engine == UserDataEngine::Direct)?;
        Some(parse_user_data(bytes))
    }
}

/// The two services that admit an instance.
trait Admission {
    fn admit_world(&self, world: World);
    fn remove_world(&self, instance: &InstanceId);
    async fn admit_tenant(&self, tenant: Tenant) -> Result<(), ClusterError>;
}

impl Admission for Environment {
    fn admit_world(&self, world: World) {
        self.fakes.admit(world);
    }

    fn remove_world(&self, instance: &InstanceId) {
        self.fakes.detach(instance);
    }

    async fn admit_tenant(&self, tenant: Tenant) -> Result<(), ClusterError> {
        self.control_plane.admit(tenant).await
    }
}

/// Admits the world, then the tenant. When the control plane refuses the tenant, nothing of either remains: the control
/// plane removes what it stored of the tenant itself.
async fn admit(services: &impl Admission, world: World, tenant: Tenant) -> Result<(), EngineError> {
    let instance = tenant.instance.id.clone();
    services.admit_world(world);
    let admitted = services.admit_tenant(tenant).await;
    if admitted.is_err() {
        services.remove_world(&instance);
    }
    Ok(admitted?)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::testing::plan;

    /// Services that record their calls; the control plane refuses or accepts every tenant.
    struct Recorded {
        accepts: bool,
        calls: RefCell<Vec<String>>,
    }

    impl Recorded {
        fn record(&self, call: &str, instance: &InstanceId) {
            self.calls.borrow_mut().push(format!("{call} {instance}"));
        }
    }

    impl Admission for Recorded {
        fn admit_world(&self, world: World) {
            self.record("admit world", &world.instance.id);
        }

        fn remove_world(&self, instance: &InstanceId) {
            self.record("remove world", instance);
        }

        async fn admit_tenant(&self, tenant: Tenant) -> Result<(), ClusterError> {
            self.record("admit tenant", &tenant.instance.id);
            match self.accepts {
                true => Ok(()),
                false => Err(ClusterError::Ended {
                    phase: "nodes joined",
                    lines: String::new(),
                }),
            }
        }
    }

    async fn admitted(accepts: bool) -> (bool, Vec<String>) {
        let plan = plan("name: x\ninstance: { id: i-0b22a22eec53b9321 }\n");
        let services = Recorded {
            accepts,
            calls: RefCell::default(),
        };
        let (to_aws, _aws) = mpsc::unbounded_channel();
        let (events, _cluster) = mpsc::unbounded_channel();
        let tenant = Tenant {
            account: plan.account.clone(),
            region: plan.region.clone(),
            instance: plan.instance.clone(),
            cluster: plan.cluster.clone(),
            pod_cidr: None,
            events,
        };
        let result = admit(&services, World::of(&plan, to_aws), tenant).await;
        (result.is_ok(), services.calls.into_inner())
    }

    #[tokio::test]
    async fn a_refused_tenant_leaves_no_world() {
        let (is_admitted, calls) = admitted(false).await;
        assert!(!is_admitted);
        let expected = ["admit world", "admit tenant", "remove world"];
        assert_eq!(calls, expected.map(|call| format!("{call} i-0b22a22eec53b9321")));
    }

    #[tokio::test]
    async fn an_admitted_instance_stays() {
        let (is_admitted, calls) = admitted(true).await;
        assert!(is_admitted);
        assert_eq!(calls.len(), 2, "{calls:?}");
    }
}
