//! Updates the authenticator's copy of `kube-system/aws-auth` from a watch.

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use tokio::sync::watch;

use crate::api_server::watch::events;
use crate::iam::aws_auth::{AwsAuth, NAME, NAMESPACE};

/// Publishes each version of the ConfigMap until the future is dropped. A deleted ConfigMap counts as an empty one. One
/// that was deleted while the watch was interrupted is missing in the list after that.
pub(crate) async fn run(client: Client, mapping: watch::Sender<AwsAuth>) {
    let events = events(Api::<ConfigMap>::namespaced(client, NAMESPACE));
    pin_mut!(events);
    let mut is_listed = false;
    while let Some(event) = events.next().await {
        match event {
            Event::Init => is_listed = false,
            Event::InitDone if !is_listed => {
                mapping.send_replace(AwsAuth::default());
            }
            Event::Apply(map) | Event::InitApply(map) if is_aws_auth(&map) => {
                is_listed = true;
                let parsed = AwsAuth::parse(&map.data.unwrap_or_default());
                for row in &parsed.skipped {
                    tracing::warn!(row, "skipped a row of aws-auth");
                }
                mapping.send_replace(parsed);
            }
            Event::Delete(map) if is_aws_auth(&map) => {
                mapping.send_replace(AwsAuth::default());
            }
            _ => {}
        }
    }
}

fn is_aws_auth(map: &ConfigMap) -> bool {
    map.metadata.name.as_deref() == Some(NAME)
}
