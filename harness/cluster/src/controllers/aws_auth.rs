//! Writes `kube-system/aws-auth`: one real ConfigMap with the rows of all tenants.
//!
//! | writer | user | request |
//! | --- | --- | --- |
//! | EKS, for managed node groups | `eks:node-manager` | patch |
//! | eksctl, for self-managed ones | `kubernetes-admin`, who created the cluster | get and update |

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
use crate::iam::aws_auth::{AwsAuth, NAME, NAMESPACE, config_map_data};

/// Until the authenticator has read what was written.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Until an API server that restarts accepts a write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Until RBAC that was applied a moment ago takes effect.
const RBAC_TIMEOUT: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(50);

/// Writes the whole ConfigMap on each change. Rows that another client adds are overwritten when the next tenant comes
/// or goes.
pub(crate) struct AwsAuthStore {
    /// Client of EKS.
    eks: Api<ConfigMap>,
    /// Client of eksctl's user.
    eksctl: Api<ConfigMap>,
    /// What the authenticator has read. A tenant is admitted once the authenticator has its rows.
    read: watch::Receiver<AwsAuth>,
    /// The run's label, on a user's cluster.
    labels: BTreeMap<String, String>,
    /// Rows by tenant, in order of admission. Locked during a write, so that each write is one consistent state.
    rows: Mutex<TenantRows>,
    time_factor: TimeFactor,
}

/// The content of the ConfigMap.
#[derive(Debug, Default)]
struct TenantRows {
    by_tenant: Vec<(InstanceId, Vec<RoleMapping>)>,
    /// A text that replaces all rows, and its tenant.
    text: Option<(InstanceId, String)>,
    written: Option<BTreeMap<String, String>>,
}

impl TenantRows {
    /// The nodes of one scenario are tenants with equal rows, which are written once.
    fn data(&self) -> BTreeMap<String, String> {
        if let Some((_, text)) = &self.text {
            return BTreeMap::from([("mapRoles".to_owned(), text.clone())]);
        }
        let mut all: Vec<RoleMapping> = Vec::new();
        for (_, rows) in &self.by_tenant {
            if !rows.iter().all(|row| all.contains(row)) {
                all.extend(rows.iter().cloned());
            }
        }
        config_map_data(&all)
    }
}

impl AwsAuthStore {
    pub(crate) fn new(
        eks: Client,
        eksctl: Client,
        read: watch::Receiver<AwsAuth>,
        time_factor: TimeFactor,
    ) -> Self {
        Self {
            eks: Api::namespaced(eks, NAMESPACE),
            eksctl: Api::namespaced(eksctl, NAMESPACE),
            read,
            labels: BTreeMap::new(),
            rows: Mutex::default(),
            time_factor,
        }
    }

    /// Adds a label to the ConfigMap.
    pub(crate) fn with_label(mut self, label: Option<(String, String)>) -> Self {
        self.labels.extend(label);
        self
    }

    /// Creates the ConfigMap, so that it exists before the first tenant.
    pub(crate) async fn create(&self) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        let until = Instant::now() + self.time_factor.scale(RBAC_TIMEOUT);
        loop {
            match self.write(&mut rows, AwsAuthWriter::Eks).await {
                // RBAC that was applied a moment ago does not take effect at once.
                Err(ClusterError::Api { source, .. }) if is_forbidden(&source) && Instant::now() < until => {
                    tokio::time::sleep(RETRY).await;
                }
                written => return written,
            }
        }
    }

    /// Adds rows of a tenant, each as the user in its `added_by`, and waits until the authenticator has read them.
    pub(crate) async fn add(&self, instance: &InstanceId, added: &[RoleMapping]) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        for together in added.chunk_by(|one, next| one.added_by == next.added_by) {
            match rows.by_tenant.iter_mut().find(|(owner, _)| owner == instance) {
                Some((_, own)) => own.extend_from_slice(together),
                None => rows.by_tenant.push((instance.clone(), together.to_vec())),
            }
            self.write(&mut rows, together[0].added_by).await?;
        }
        Ok(())
    }

    /// Replaces all rows with a text, like a manual edit of the ConfigMap.
    pub(crate) async fn replace(&self, instance: &InstanceId, text: &str) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        rows.text = Some((instance.clone(), text.to_owned()));
        self.write(&mut rows, AwsAuthWriter::Eksctl).await
    }

    /// Removes a tenant's rows.
    pub(crate) async fn remove(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let mut rows = self.rows.lock().await;
        rows.by_tenant.retain(|(owner, _)| owner != instance);
        rows.text.take_if(|(owner, _)| owner == instance);
        self.write(&mut rows, AwsAuthWriter::Eks).await
    }

    async fn write(&self, rows: &mut TenantRows, by: AwsAuthWriter) -> Result<(), ClusterError> {
        let data = rows.data();
        if rows.written.as_ref() == Some(&data) {
            return Ok(());
        }
        let written = self.write_until_accepted(&data, by).await;
        written.map_err(ClusterError::api("write ConfigMap `kube-system/aws-auth`"))?;
        self.await_read(&AwsAuth::parse(&data)).await?;
        rows.written = Some(data);
        Ok(())
    }

    /// Repeats a write that an API server refuses while it restarts, or that conflicts with another one.
    async fn write_until_accepted(
        &self,
        data: &BTreeMap<String, String>,
        by: AwsAuthWriter,
    ) -> kube::Result<()> {
        let until = Instant::now() + self.time_factor.scale(WRITE_TIMEOUT);
        loop {
            let written = match by {
                AwsAuthWriter::Eks => self.patch(data).await,
                AwsAuthWriter::Eksctl => self.update(data).await,
            };
            match written {
                Err(error) if is_temporary(&error) && Instant::now() < until => {
                    tokio::time::sleep(RETRY).await;
                }
                written => return written,
            }
        }
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
        let timeout = self.time_factor.scale(READ_TIMEOUT);
        let seen = tokio::time::timeout(timeout, read.wait_for(|read| read == written)).await;
        // A closed channel means that the watch has ended because the control plane shuts down, which is reported
        // elsewhere.
        seen.map(|_| ()).map_err(|_| ClusterError::TimedOut {
            what: "the authenticator to read `kube-system/aws-auth`".to_owned(),
            timeout,
            last_status: "its rows differ from the written ones".to_owned(),
        })
    }
}

/// Whether the API server may accept the same request later.
fn is_temporary(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 409 | 429 | 500..=599),
        kube::Error::HyperError(_) | kube::Error::Service(_) => true,
        _ => false,
    }
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

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

    fn count(rows: &TenantRows, arn: &str) -> usize {
        rows.data()["mapRoles"].matches(arn).count()
    }

    #[test]
    fn equal_rows_of_two_tenants_are_written_once_and_duplicates_of_one_tenant_stay() {
        let mut rows = TenantRows::default();
        rows.by_tenant.push((instance(1), vec![row("a")]));
        rows.by_tenant.push((instance(2), vec![row("a")]));
        rows.by_tenant.push((instance(3), vec![row("b"), row("b")]));
        assert_eq!((count(&rows, "\"a\""), count(&rows, "\"b\"")), (1, 2));
        rows.text = Some((instance(3), "- {".to_owned()));
        assert_eq!(rows.data()["mapRoles"], "- {");
    }
}
