//! The owner of `kube-system/aws-auth`: one real ConfigMap with the rows of every tenant.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use nodejoin_core::ids::InstanceId;
use nodejoin_core::plan::RoleMapping;
use nodejoin_core::time_factor::TimeFactor;
use serde_json::json;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use crate::ClusterError;
use crate::mapping::{AwsAuth, config_map_data};

/// Writes the ConfigMap. Rows that people add by hand beside it are overwritten by the next tenant that comes or goes.
pub(crate) struct AwsAuthOwner {
    api: Api<ConfigMap>,
    /// What the authenticator has read; a tenant is admitted when its rows stand there.
    read: watch::Receiver<AwsAuth>,
    /// The run's, on a cluster of the user's.
    labels: BTreeMap<String, String>,
    /// Rows by tenant, in order of admission. Held while writing, so that one write is one state.
    rows: Mutex<Vec<(InstanceId, Vec<RoleMapping>)>>,
    /// How long the authenticator may take to read what was written.
    read_limit: Duration,
}

impl AwsAuthOwner {
    pub(crate) fn new(client: Client, read: watch::Receiver<AwsAuth>, factor: TimeFactor) -> Self {
        Self {
            api: Api::namespaced(client, NAMESPACE),
            read,
            labels: BTreeMap::new(),
            rows: Mutex::default(),
            read_limit: factor.limit(READ_LIMIT),
        }
    }

    /// The same for an object with this label.
    pub(crate) fn with_label(mut self, label: Option<(String, String)>) -> Self {
        self.labels.extend(label);
        self
    }

    /// Writes the ConfigMap as it stands, so that it exists before the first tenant.
    pub(crate) async fn create(&self) -> Result<(), ClusterError> {
        let rows = self.rows.lock().await;
        let until = Instant::now() + RIGHTS_LIMIT;
        loop {
            match self.write(&rows).await {
                // Rights that were laid down a moment ago do not count at once everywhere.
                Err(ClusterError::Api { source, .. }) if is_forbidden(&source) && Instant::now() < until => {
                    tokio::time::sleep(RETRY).await;
                }
                written => return written,
            }
        }
    }

    /// Adds a tenant's rows and waits until the authenticator has read them.
    pub(crate) async fn add(&self, instance: &InstanceId, added: &[RoleMapping]) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        rows.push((instance.clone(), added.to_vec()));
        self.write(&rows).await
    }

    /// Removes a tenant's rows.
    pub(crate) async fn remove(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        rows.retain(|(owner, _)| owner != instance);
        self.write(&rows).await
    }

    async fn write(&self, rows: &[(InstanceId, Vec<RoleMapping>)]) -> Result<(), ClusterError> {
        let all: Vec<RoleMapping> = rows.iter().flat_map(|(_, rows)| rows.clone()).collect();
        let data = config_map_data(&all);
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": NAME, "namespace": NAMESPACE, "labels": self.labels }, "data": data });
        let params = PatchParams::apply("eks").force();
        let written = self.api.patch(NAME, &params, &Patch::Apply(&object)).await;
        written.map_err(ClusterError::api("write ConfigMap `kube-system/aws-auth`"))?;
        self.await_read(&AwsAuth::parse(&data)).await
    }

    async fn await_read(&self, written: &AwsAuth) -> Result<(), ClusterError> {
        let mut read = self.read.clone();
        let seen = tokio::time::timeout(self.read_limit, read.wait_for(|read| read == written)).await;
        // A closed channel means that the watch has ended: the control plane is going down, and says so elsewhere.
        seen.map(|_| ()).map_err(|_| ClusterError::TimedOut {
            what: "the authenticator to read `kube-system/aws-auth`".to_owned(),
            limit: self.read_limit,
            last_seen: "other rows than those that were written".to_owned(),
        })
    }
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

pub(crate) const NAMESPACE: &str = "kube-system";
pub(crate) const NAME: &str = "aws-auth";
const READ_LIMIT: Duration = Duration::from_secs(10);
const RIGHTS_LIMIT: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(50);
