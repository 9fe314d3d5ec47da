//! Level-triggered work on objects: an attempt that fails is repeated, without another event, until it succeeds.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures::{Stream, StreamExt as _, pin_mut};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep_until};

use crate::api_server::watch::touched;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Runs `work` for every added or changed object until the future is dropped. After a failure, such as a conflict or a
/// restart of the API server, it reads the object again and repeats the work.
pub(crate) async fn reconcile<K, W, D>(api: Api<K>, work: W)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
    W: Fn(K) -> D,
    D: Future<Output = kube::Result<()>>,
{
    let read = |name: String| {
        let api = api.clone();
        async move { api.get_opt(&name).await }
    };
    each(touched(api.clone()), read, work).await;
}

/// The loop over a stream of objects; `read` returns the current state of one.
async fn each<K, R, F, W, D>(objects: impl Stream<Item = K>, read: R, work: W)
where
    K: Resource<DynamicType = ()>,
    R: Fn(String) -> F,
    F: Future<Output = kube::Result<Option<K>>>,
    W: Fn(K) -> D,
    D: Future<Output = kube::Result<()>>,
{
    let mut failed: BTreeMap<String, Retry> = BTreeMap::new();
    pin_mut!(objects);
    loop {
        let next = failed
            .iter()
            .min_by_key(|(_, retry)| retry.at)
            .map(|(name, retry)| (name.clone(), retry.at));
        // Both branches only wait, so that the work is never cut off.
        let name = tokio::select! {
            object = objects.next() => match object {
                Some(object) => {
                    attempt(object, &work, &mut failed).await;
                    continue;
                }
                None => return,
            },
            name = due(next) => name,
        };
        match read(name.clone()).await {
            Ok(Some(object)) => attempt(object, &work, &mut failed).await,
            // The object is gone.
            Ok(None) => drop(failed.remove(&name)),
            Err(error) => again(name, &error, &mut failed),
        }
    }
}

/// When the work on an object is repeated.
struct Retry {
    at: Instant,
    wait: Duration,
}

/// Waits for the next retry; without one, it never ends.
async fn due(next: Option<(String, Instant)>) -> String {
    match next {
        Some((name, at)) => {
            sleep_until(at).await;
            name
        }
        None => std::future::pending().await,
    }
}

async fn attempt<K, W, D>(object: K, work: &W, failed: &mut BTreeMap<String, Retry>)
where
    K: Resource<DynamicType = ()>,
    W: Fn(K) -> D,
    D: Future<Output = kube::Result<()>>,
{
    let name = object.name_any();
    match work(object).await {
        Ok(()) => drop(failed.remove(&name)),
        Err(error) => again(name, &error, failed),
    }
}

fn again(name: String, error: &kube::Error, failed: &mut BTreeMap<String, Retry>) {
    let wait = failed
        .get(&name)
        .map_or(FIRST_WAIT, |retry| (retry.wait * 2).min(LONGEST_WAIT));
    tracing::debug!(%error, name, "work on an object failed and is repeated");
    failed.insert(
        name,
        Retry {
            at: Instant::now() + wait,
            wait,
        },
    );
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use k8s_openapi::api::core::v1::Node;
    use kube::core::Status;

    use super::*;

    fn node(version: &str) -> Node {
        serde_json::from_value(serde_json::json!({ "metadata": { "name": "a", "resourceVersion": version } }))
            .unwrap()
    }

    fn refused() -> kube::Error {
        kube::Error::Api(Box::new(Status::failure(
            "the API server restarts",
            "ServiceUnavailable",
        )))
    }

    /// Attempts on one event, with the outcome of each attempt and of each read.
    async fn attempts(outcomes: &[bool], reads: &[bool]) -> Vec<String> {
        let (seen, mut outcomes, mut reads) = (RefCell::new(Vec::new()), outcomes.iter(), reads.iter());
        let (outcomes, reads) = (RefCell::new(&mut outcomes), RefCell::new(&mut reads));
        let work = |node: Node| {
            seen.borrow_mut().push(node.metadata.resource_version.unwrap());
            let succeeds = *outcomes.borrow_mut().next().unwrap_or(&true);
            async move { if succeeds { Ok(()) } else { Err(refused()) } }
        };
        let read = |_| {
            let succeeds = *reads.borrow_mut().next().unwrap_or(&true);
            async move {
                if succeeds {
                    Ok(Some(node("2")))
                } else {
                    Err(refused())
                }
            }
        };
        let objects = futures::stream::iter([node("1")]).chain(futures::stream::pending());
        let run = tokio::time::timeout(Duration::from_secs(60), each(objects, read, work));
        assert!(run.await.is_err(), "it runs until it is dropped");
        seen.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_fails_is_repeated_on_the_current_object_without_another_event() {
        assert_eq!(attempts(&[true], &[]).await, ["1"]);
        assert_eq!(attempts(&[false, false, true], &[]).await, ["1", "2", "2"]);
        assert_eq!(attempts(&[false, true], &[false, false]).await, ["1", "2"]);
    }
}
