//! Whose cluster is it, and what has to be removed from it at the end?

mod external;
mod relay;

pub(crate) use external::ExternalInstall;
pub(crate) use relay::Relay;

use crate::ClusterError;
use crate::api_server::access::READYZ;
use crate::api_server::container::ApiServerContainer;
use crate::client_certificates::kubeadm::Kubeadm;

/// Whose cluster the API server serves.
pub(crate) enum Install {
    /// The harness started it: its objects end with its container.
    Own(OwnInstall),
    /// A user's cluster: the objects of the run are removed one by one.
    External(ExternalInstall),
}

/// An API server in a container of the run.
pub(crate) struct OwnInstall {
    pub(crate) container: ApiServerContainer,
    /// Settings for `kubeadm join`, if kube-controller-manager signs `cluster-info`.
    pub(crate) kubeadm: Option<Kubeadm>,
    /// Files on this machine that the container needs.
    pub(crate) files: Option<Box<dyn LocalFiles>>,
    /// The path that tells whether it has started.
    pub(crate) readyz: &'static str,
}

/// Files of a provider on this machine. Dropping them removes them.
pub(crate) trait LocalFiles: Send + Sync {
    /// Keeps the files on drop, because a kept container needs them. A sweep removes both.
    fn keep(&self);
}

impl OwnInstall {
    async fn ended(&self, phase: &'static str) -> ClusterError {
        ClusterError::Ended {
            phase,
            lines: self.container.ended().await,
        }
    }
}

impl Install {
    /// The container of the API server, if it is the harness's.
    pub(crate) fn container(&self) -> Option<&ApiServerContainer> {
        match self {
            Self::Own(own) => Some(&own.container),
            Self::External(_) => None,
        }
    }

    /// Settings for `kubeadm join`, if it works here.
    pub(crate) fn kubeadm(&self) -> Option<&Kubeadm> {
        match self {
            Self::Own(own) => own.kubeadm.as_ref(),
            Self::External(_) => None,
        }
    }

    /// The label of every created object, on a user's cluster.
    pub(crate) fn label(&self) -> Option<(String, String)> {
        match self {
            Self::Own(_) => None,
            Self::External(external) => Some(external.label()),
        }
    }

    /// Keeps the local files, because the container is kept.
    pub(crate) fn keep_files(&self) {
        match self {
            Self::Own(own) => own.files.iter().for_each(|files| files.keep()),
            Self::External(_) => {}
        }
    }

    /// The path that tells whether the API server has started.
    pub(crate) fn readyz(&self) -> &'static str {
        match self {
            Self::Own(own) => own.readyz,
            Self::External(_) => READYZ,
        }
    }

    /// Waits until the container ends while the API server starts. A user's API server already runs.
    pub(crate) async fn ended_at_start(&self) -> ClusterError {
        match self {
            Self::Own(own) => own.ended("it started").await,
            Self::External(_) => std::future::pending().await,
        }
    }

    /// Waits until the API server is gone, which is unexpected before the run's end.
    pub(crate) async fn ended(&self) -> ClusterError {
        match self {
            Self::Own(own) => own.ended("nodes joined").await,
            Self::External(external) => external.gone().await,
        }
    }

    /// The output of the control plane's programs, for evidence.
    pub(crate) async fn logs(&self) -> String {
        match self {
            Self::Own(own) => own.container.logs().await,
            Self::External(_) => "nodejoin has no access to the log of a user's API server\n".to_owned(),
        }
    }

    /// Removes the run's objects. Returns one line per object that could not be removed.
    pub(crate) async fn clean_up(&self) -> Vec<String> {
        match self {
            Self::Own(_) => Vec::new(),
            Self::External(external) => external.clean_up().await,
        }
    }
}
