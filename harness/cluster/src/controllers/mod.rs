//! The controllers that EKS runs beside kube-controller-manager, each as a user of its own.
//!
//! | controller | user | what it does | can be switched off by |
//! | --- | --- | --- | --- |
//! | [`serving`] | eks:certificate-controller | approves or denies `kubernetes.io/kubelet-serving` requests | `approve_serving` |
//! | [`cloud_node`] | eks:cloud-controller-manager | initializes nodes of an external cloud provider | `cloud_node_controller` |
//! | [`tagging`] | eks:cloud-controller-manager | labels Nodes with a digest of their instance's tags | `cloud_node_controller` |
//! | [`node_manager`] | eks:node-manager | taints Nodes of managed groups after their registration | no `taints` of a node group |
//! | [`aws_auth`] | eks:node-manager, kubernetes-admin | write `kube-system/aws-auth` | |
//! | [`mapping`] | eks:authenticator | watches `aws-auth` for the authenticator | |
//! | [`pod_cidr`] | the admin | spares old kubelets a wait; not of EKS, and named as a deviation | `cni: none` |
//!
//! All of them wait on watches. A write that meets a conflict is left to the event which that conflict announces. Beside them,
//! [`windows`] is an object that nobody here reads.

pub(crate) mod aws_auth;
pub(crate) mod cloud_node;
pub(crate) mod mapping;
pub(crate) mod node_manager;
pub(crate) mod pod_cidr;
pub(crate) mod rbac;
pub(crate) mod serving;
pub(crate) mod tagging;
pub(crate) mod windows;

use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// Every object that comes, changes or goes, for as long as it is polled. A watch that breaks is taken up again with
/// back-off.
pub(crate) fn events<K>(api: Api<K>) -> impl Stream<Item = Event<K>> + Send
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    watcher::watcher(api, watcher::Config::default())
        .backoff(Quick(FIRST_WAIT))
        .filter_map(|event| async {
            event
                .inspect_err(|error| tracing::debug!(%error, "a watch was interrupted"))
                .ok()
        })
}

/// Waits from 10 ms on, doubling: a controller's rights count a moment after they are laid down, and the library's own
/// first wait is most of a second.
struct Quick(Duration);

impl Iterator for Quick {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = self.0;
        self.0 = (wait * 2).min(LONGEST_WAIT);
        Some(wait)
    }
}

impl Backoff for Quick {
    fn reset(&mut self) {
        self.0 = FIRST_WAIT;
    }
}

const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Every object that comes or changes.
pub(crate) fn touched<K>(api: Api<K>) -> impl Stream<Item = K> + Send
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    events(api).filter_map(|event| async {
        match event {
            Event::Apply(object) | Event::InitApply(object) => Some(object),
            Event::Delete(_) | Event::Init | Event::InitDone => None,
        }
    })
}
