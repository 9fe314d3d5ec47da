//! Where nodes that `kubeadm join` adds find the API server.

/// The API server's address in kubeadm's objects.
#[derive(Debug, Clone)]
pub(crate) struct Kubeadm {
    /// Host name that nodes resolve.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether kubeadm itself created the cluster.
    pub(crate) created_by_kubeadm: bool,
}
