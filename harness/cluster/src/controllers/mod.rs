//! The controllers that EKS runs beside kube-controller-manager, each as its own user.
//!
//! | controller | user | effect | disabled by |
//! | --- | --- | --- | --- |
//! | [`serving`] | eks:certificate-controller | decides on serving certificates of kubelets | `approve_serving` |
//! | [`cloud_node`] | eks:cloud-controller-manager | initializes Nodes | `cloud_node_controller` |
//! | [`tagging`] | eks:cloud-controller-manager | labels Nodes with a digest of tags | `cloud_node_controller` |
//! | [`node_manager`] | eks:node-manager | taints Nodes of managed groups | node groups without `taints` |
//! | [`aws_auth`] | eks:node-manager, kubernetes-admin | write `kube-system/aws-auth` | |
//! | [`aws_auth_watch`] | eks:authenticator | watches `aws-auth` for the authenticator | |
//! | [`pod_cidr`] | the admin | shortens a wait of old kubelets; not in EKS, a deviation | `cni: none` |
//!
//! All of them are level-triggered: an attempt that fails is repeated on the current object until it succeeds.
//! [`windows`] is an object that no controller reads.

pub(crate) mod aws_auth;
pub(crate) mod aws_auth_watch;
pub(crate) mod cloud_node;
pub(crate) mod node_manager;
pub(crate) mod pod_cidr;
pub(crate) mod rbac;
pub(crate) mod serving;
pub(crate) mod tagging;
#[cfg(test)]
mod tests;
pub(crate) mod windows;
