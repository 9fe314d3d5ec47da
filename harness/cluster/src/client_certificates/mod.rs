//! How do nodes that do not join by an IAM role get their client certificates?

pub(crate) mod kubeadm;
pub(crate) mod outpost;
