//! Reads facts that no event reports, from the node and from the control plane, once its join or a step has settled.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::try_join_all;
use nodejoin_core::observation::phases::KUBELET_SERVING;
use nodejoin_core::observation::{
    AccessResult, Collected, Observation, ObservedEvent, PodResult, ServingCertificate,
};
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::plan::{Plan, PodPlan};
use nodejoin_node::{CollectRequest, Node};
use tokio::time::Instant;

use crate::error::EngineError;
use crate::session::ScenarioSession;

/// Timeout of a pod, from its creation to its response.
const POD_TIMEOUT: Duration = Duration::from_secs(45);
/// Timeout of an issued serving certificate until the kubelet serves it.
const SERVING_TIMEOUT: Duration = Duration::from_secs(30);
const SERVING_INTERVAL: Duration = Duration::from_millis(100);
/// Timeout of a kubelet that runs until the API server can read its configuration, for checks of it.
const CONFIGZ_TIMEOUT: Duration = Duration::from_secs(10);

impl ScenarioSession<'_> {
    /// Reads the facts that the plan's expectations need.
    pub(crate) async fn collect(
        &self,
        node: &Node,
        plan: &Plan,
        seen: &Observation,
    ) -> Result<Collected, EngineError> {
        let request = CollectRequest {
            files: files_of(plan),
            units: units_of(plan),
            cluster_ca_pem: self.environment.control_plane.ca_pem.clone(),
            private_ip: self.plan.instance.private_ip,
        };
        let mut collected = if seen.exit().is_some() {
            Collected::default()
        } else {
            let timeout = self.time_factor.scale(SERVING_TIMEOUT);
            until_served(seen, timeout, async || node.served(&request).await).await;
            node.collect(&request).await?
        };
        collected.access = self.access(&plan.expect, seen).await?;
        if let Some(name) = node_name(seen) {
            let configz = self.configz(&name, plan, &collected).await;
            collected.set_configz(configz);
            collected.pod = match &plan.pod {
                Some(pod) => Some(self.pod(&name, pod).await?),
                None => None,
            };
        }
        Ok(collected)
    }

    /// The kubelet's configuration. A join that ends early can end before the kubelet serves: if a check needs the
    /// configuration, it is awaited. An unreachable kubelet is a fact, not an error.
    async fn configz(&self, name: &str, plan: &Plan, collected: &Collected) -> Option<serde_json::Value> {
        let mut kubelets = plan
            .expect
            .with_alternatives()
            .filter_map(|expect| expect.kubelet.as_ref());
        let is_checked = kubelets.any(|kubelet| !kubelet.config.is_empty());
        let timeout = match is_checked && collected.kubelet_argv.is_some() {
            true => self.time_factor.scale(CONFIGZ_TIMEOUT),
            false => Duration::ZERO,
        };
        let control_plane = &self.environment.control_plane;
        until_read(timeout, async || control_plane.configz(name).await.ok()).await
    }

    /// Whether the API server allows each request of `expect.access` to the user that the node's token mapped to.
    async fn access(
        &self,
        expect: &Expect,
        seen: &Observation,
    ) -> Result<Option<Vec<AccessResult>>, EngineError> {
        let Some((user, groups)) = identity(seen) else {
            return Ok(None);
        };
        let reviews = expect
            .access
            .iter()
            .map(|access| self.environment.control_plane.may(user, groups, access));
        Ok(Some(try_join_all(reviews).await?))
    }

    async fn pod(&self, node: &str, pod: &PodPlan) -> Result<PodResult, EngineError> {
        let timeout = self.time_factor.scale(POD_TIMEOUT);
        let instance = &self.plan.instance.id;
        let control_plane = &self.environment.control_plane;
        Ok(control_plane.run_pod(instance, node, pod, timeout).await?)
    }
}

/// Waits until the kubelet serves an issued certificate. A kubelet checks for its certificate about once a second and
/// serves it from then on. After the timeout, its absence is the fact.
async fn until_served(seen: &Observation, timeout: Duration, read: impl AsyncFn() -> ServingCertificate) {
    let issued = issued_for_serving(seen);
    if issued.is_empty() {
        return;
    }
    let end = Instant::now() + timeout;
    loop {
        let served = read().await.fingerprint;
        if served.is_some_and(|served| issued.contains(&&served)) || Instant::now() >= end {
            return;
        }
        tokio::time::sleep(SERVING_INTERVAL).await;
    }
}

/// Reads until a value is there, at least once.
async fn until_read<T>(timeout: Duration, read: impl AsyncFn() -> Option<T>) -> Option<T> {
    let end = Instant::now() + timeout;
    loop {
        let value = read().await;
        if value.is_some() || Instant::now() >= end {
            return value;
        }
        tokio::time::sleep(SERVING_INTERVAL).await;
    }
}

/// Fingerprints of the serving certificates that the cluster issued to the node.
fn issued_for_serving(seen: &Observation) -> Vec<&String> {
    let serving = seen
        .certificates
        .iter()
        .filter(|seen| seen.signer == KUBELET_SERVING);
    serving
        .filter_map(|certificate| certificate.fingerprint.as_ref())
        .collect()
}

/// Paths that checks or the snapshot read, each once.
fn files_of(plan: &Plan) -> Vec<String> {
    let golden = plan.golden.iter().flat_map(|golden| &golden.files);
    let checked = plan
        .expect
        .with_alternatives()
        .flat_map(|expect| expect.files.keys());
    once(checked.chain(golden))
}

/// Units that checks read, each once.
fn units_of(plan: &Plan) -> Vec<String> {
    once(
        plan.expect
            .with_alternatives()
            .flat_map(|expect| expect.units.keys()),
    )
}

fn once<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let names: BTreeSet<&String> = names.collect();
    names.into_iter().cloned().collect()
}

/// User name and groups of the last accepted token.
fn identity(seen: &Observation) -> Option<(&str, &[String])> {
    seen.timeline.iter().rev().find_map(|seen| match &seen.what {
        ObservedEvent::Authentication(token) => Some((token.username()?, token.groups())),
        _ => None,
    })
}

/// Name of the Node object.
pub(crate) fn node_name(seen: &Observation) -> Option<String> {
    seen.node
        .as_ref()?
        .pointer("/metadata/name")?
        .as_str()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use nodejoin_core::observation::Certificate;

    use super::*;
    use crate::testing::plan;

    fn issued(fingerprint: &str) -> Observation {
        Observation {
            certificates: vec![Certificate {
                signer: KUBELET_SERVING.to_owned(),
                fingerprint: Some(fingerprint.to_owned()),
                ..Certificate::default()
            }],
            ..Observation::default()
        }
    }

    /// How often a certificate is read of a kubelet that serves `new` from the given time on.
    async fn reads(seen: &Observation, from: u32) -> u32 {
        let count = Cell::new(0);
        let read = async || {
            count.set(count.get() + 1);
            let fingerprint = if count.get() >= from { "new" } else { "old" };
            ServingCertificate {
                fingerprint: Some(fingerprint.to_owned()),
                ..ServingCertificate::default()
            }
        };
        until_served(seen, Duration::from_secs(10), read).await;
        count.get()
    }

    #[tokio::test(start_paused = true)]
    async fn a_certificate_is_read_again_until_it_is_the_issued_one() {
        assert_eq!(reads(&issued("new"), 4).await, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_issued_certificate_nothing_is_awaited() {
        assert_eq!(reads(&Observation::default(), 9).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_certificate_that_is_never_served_ends_at_the_timeout() {
        let start = Instant::now();
        assert_eq!(reads(&issued("new"), u32::MAX).await, 101);
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_read_again_until_it_is_there() {
        let start = Instant::now();
        let count = Cell::new(0);
        let from = |first: u32| {
            count.set(0);
            let count = &count;
            async move || {
                count.set(count.get() + 1);
                (count.get() >= first).then(|| count.get())
            }
        };
        assert_eq!(until_read(Duration::from_secs(10), from(3)).await, Some(3));
        assert_eq!(start.elapsed(), Duration::from_millis(200));
        assert_eq!(until_read(Duration::ZERO, from(2)).await, None);
        assert_eq!(count.get(), 1);
        assert_eq!(until_read(Duration::from_secs(10), from(u32::MAX)).await, None);
        assert_eq!(count.get(), 101);
    }

    #[test]
    fn each_path_is_collected_once() {
        let plan =
            plan("name: x\nexpect: { files: { /etc/b: { exists: true }, /etc/a: { exists: true } } }\n");
        assert_eq!(files_of(&plan), ["/etc/a", "/etc/b"]);
    }

    #[test]
    fn the_name_of_a_node_comes_from_its_object() {
        let mut seen = Observation::default();
        assert_eq!(node_name(&seen), None);
        seen.node = Some(serde_json::json!({ "metadata": { "name": "ip-10-0-0-1" } }));
        assert_eq!(node_name(&seen).as_deref(), Some("ip-10-0-0-1"));
    }
}
