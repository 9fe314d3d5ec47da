//! Who writes `kube-system/aws-auth`: one real ConfigMap with the rows of every tenant.
//!
//! | who | user | how |
//! | --- | --- | --- |
//! | EKS, for managed node groups | `eks:node-manager` | patches it |
//! | eksctl, for self-managed ones | `kubernetes-admin`, who made the cluster | reads it and updates it |

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{AwsAuthWriter, RoleMapping};
use nodejoin_core::run::time_factor::TimeFactor;
use serde_json::json;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use crate::ClusterError;
use crate::mapping::{AwsAuth, config_map_data};

/// Writes the ConfigMap, always as a whole: rows that others add beside it are overwritten by the next tenant that comes or goes.
pub(crate) struct AwsAuthOwner {
    /// As EKS.
    eks: Api<ConfigMap>,
    /// As the user of eksctl.
    eksctl: Api<ConfigMap>,
    /// What the authenticator has read; a tenant is admitted when its rows stand there.
    read: watch::Receiver<AwsAuth>,
    /// The run's, on a cluster of the user's.
    labels: BTreeMap<String, String>,
    /// Rows by tenant, in order of admission. Held while writing, so that one write is one state.
    rows: Mutex<Rows>,
    /// How long the authenticator may take to read what was written.
    read_limit: Duration,
}

/// What stands in the ConfigMap.
#[derive(Debug, Default)]
struct Rows {
    of: Vec<(InstanceId, Vec<RoleMapping>)>,
    /// A text in place of all of them, and whose it is.
    text: Option<(InstanceId, String)>,
    written: Option<BTreeMap<String, String>>,
}

impl Rows {
    /// Tenants that are one scenario's nodes have the same rows, which stand there once.
    fn data(&self) -> BTreeMap<String, String> {
        if let Some((_, text)) = &self.text {
            return BTreeMap::from([("mapRoles".to_owned(), text.clone())]);
        }
        let mut all: Vec<RoleMapping> = Vec::new();
        for (_, rows) in &self.of {
            if !rows.iter().all(|row| all.contains(row)) {
                all.extend(rows.iter().cloned());
            }
        }
        config_map_data(&all)
    }
}

impl AwsAuthOwner {
    pub(crate) fn new(
        eks: Client,
        eksctl: Client,
        read: watch::Receiver<AwsAuth>,
        factor: TimeFactor,
    ) -> Self {
        Self {
            eks: Api::namespaced(eks, NAMESPACE),
            eksctl: Api::namespaced(eksctl, NAMESPACE),
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
        let mut rows = self.rows.lock().await;
        let until = Instant::now() + RIGHTS_LIMIT;
        loop {
            match self.write(&mut rows, AwsAuthWriter::Eks).await {
                // Rights that were laid down a moment ago do not count at once everywhere.
                Err(ClusterError::Api { source, .. }) if is_forbidden(&source) && Instant::now() < until => {
                    tokio::time::sleep(RETRY).await;
                }
                written => return written,
            }
        }
    }

    /// Adds rows of a tenant, each as who adds it, and waits until the authenticator has read them.
    pub(crate) async fn add(&self, instance: &InstanceId, added: &[RoleMapping]) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        for together in added.chunk_by(|one, next| one.added_by == next.added_by) {
            match rows.of.iter_mut().find(|(owner, _)| owner == instance) {
                Some((_, own)) => own.extend_from_slice(together),
                None => rows.of.push((instance.clone(), together.to_vec())),
            }
            self.write(&mut rows, together[0].added_by).await?;
        }
        Ok(())
    }

    /// Leaves a text in place of all rows, as somebody who edits the ConfigMap by hand.
    pub(crate) async fn replace(&self, instance: &InstanceId, text: &str) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        rows.text = Some((instance.clone(), text.to_owned()));
        self.write(&mut rows, AwsAuthWriter::Eksctl).await
    }

    /// Removes a tenant's rows.
    pub(crate) async fn remove(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        rows.of.retain(|(owner, _)| owner != instance);
        rows.text.take_if(|(owner, _)| owner == instance);
        self.write(&mut rows, AwsAuthWriter::Eks).await
    }

    async fn write(&self, rows: &mut Rows, by: AwsAuthWriter) -> Result<(), ClusterError> {
        let data = rows.data();
        if rows.written.as_ref() == Some(&data) {
            return Ok(());
        }
        let written = match by {
            AwsAuthWriter::Eks => self.patch(&data).await,
            AwsAuthWriter::Eksctl => self.update(&data).await,
        };
        written.map_err(ClusterError::api("write ConfigMap `kube-system/aws-auth`"))?;
        self.await_read(&AwsAuth::parse(&data)).await?;
        rows.written = Some(data);
        Ok(())
    }

    async fn patch(&self, data: &BTreeMap<String, String>) -> kube::Result<()> {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": NAME, "namespace": NAMESPACE, "labels": self.labels }, "data": data });
        let params = PatchParams::apply("eks").force();
        self.eks.patch(NAME, &params, &Patch::Apply(&object)).await?;
        Ok(())
    }

    async fn update(&self, data: &BTreeMap<String, String>) -> kube::Result<()> {
        let mut map = self.eksctl.get(NAME).await?;
        map.data = Some(data.clone());
        self.eksctl.replace(NAME, &PostParams::default(), &map).await?;
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rolearn: &str) -> RoleMapping {
        RoleMapping {
            rolearn: rolearn.to_owned(),
            ..RoleMapping::default()
        }
    }

    fn instance(number: u8) -> InstanceId {
        format!("i-{number:017x}").parse().unwrap()
    }

    fn count(rows: &Rows, arn: &str) -> usize {
        rows.data()["mapRoles"].matches(arn).count()
    }

    #[test]
    fn nodes_of_one_scenario_share_their_row_and_a_row_that_stands_there_twice_stays() {
        let mut rows = Rows::default();
        rows.of.push((instance(1), vec![row("a")]));
        rows.of.push((instance(2), vec![row("a")]));
        rows.of.push((instance(3), vec![row("b"), row("b")]));
        assert_eq!((count(&rows, "\"a\""), count(&rows, "\"b\"")), (1, 2));
        rows.text = Some((instance(3), "- {".to_owned()));
        assert_eq!(rows.data()["mapRoles"], "- {");
    }
}
