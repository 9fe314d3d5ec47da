//! What the harness makes on a cluster that is not its own, and takes away again. Everything carries the run's label; what was there
//! before is never changed: a cluster that has objects of the same names is refused.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, DynamicObject, ObjectMeta, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::run::time_factor::TimeFactor;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::ClusterError;
use crate::access::{Access, await_ready};
use crate::calls::{self, Calls, Heard};
use crate::controllers::{aws_auth, rbac};
use crate::needs::{Lack, Need};

/// A cluster of the user's, and the run that is on it.
#[derive(Clone)]
pub(crate) struct Foreign {
    run: RunId,
    client: Client,
    server: String,
}

impl Foreign {
    pub(crate) fn new(run: RunId, client: Client, server: String) -> Self {
        Self { run, client, server }
    }

    /// The label of everything that is made.
    pub(crate) fn label(&self) -> (String, String) {
        (LABEL.to_owned(), self.run.to_string())
    }

    /// Refuses the cluster where it has an object that the harness would have to overwrite.
    pub(crate) async fn refuse_what_is_there(&self) -> Result<(), ClusterError> {
        let mut there = Vec::new();
        for object in rbac::objects() {
            let (api, name, what) = rbac::api_of(&self.client, &object);
            let found = api.get_opt(&name).await;
            let found = found.map_err(ClusterError::api(format!("look for {what}")))?;
            there.extend(found.map(|found| self.owner(&what, found.labels().get(LABEL))));
        }
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), aws_auth::NAMESPACE);
        let found = maps.get_opt(aws_auth::NAME).await;
        let found = found.map_err(ClusterError::api("look for ConfigMap `kube-system/aws-auth`"))?;
        there.extend(found.map(|found| self.owner("ConfigMap `aws-auth`", found.labels().get(LABEL))));
        match there.is_empty() {
            true => Ok(()),
            false => Err(ClusterError::Occupied { there }),
        }
    }

    fn owner(&self, what: &str, run: Option<&String>) -> String {
        match run {
            Some(run) => format!("{what} (of run {run})"),
            None => what.to_owned(),
        }
    }

    /// Lays down what EKS lays into a cluster. What was made until a failure is removed again.
    pub(crate) async fn lay_down(&self) -> Result<(), ClusterError> {
        for object in rbac::objects() {
            let (api, name, what) = rbac::api_of(&self.client, &object);
            let mut made: DynamicObject = serde_json::from_value(object)
                .map_err(|error| ClusterError::api(format!("make {what}"))(kube::Error::SerdeError(error)))?;
            made.labels_mut().extend([self.label()]);
            if let Err(error) = api.create(&PostParams::default(), &made).await {
                self.clean_up().await;
                return Err(ClusterError::api(format!("make {what} (`{name}`)"))(error));
            }
        }
        Ok(())
    }

    /// Removes everything that carries the run's label; gives what could not be removed.
    pub(crate) async fn clean_up(&self) -> Vec<String> {
        let mut left = Vec::new();
        // Bindings before what they bind.
        for object in rbac::objects().into_iter().rev() {
            let (api, name, what) = rbac::api_of(&self.client, &object);
            let labels = api.get_metadata_opt(&name).await;
            let labels = labels.map(|found| found.map(|found| found.metadata));
            let gone = match self.ours(labels) {
                Ok(Some(params)) => api.delete(&name, &params).await.map(|_| ()),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            left.extend(told(&what, gone));
        }
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), aws_auth::NAMESPACE);
        let labels = maps.get_metadata_opt(aws_auth::NAME).await;
        let gone = match self.ours(labels.map(|found| found.map(|found| found.metadata))) {
            Ok(Some(params)) => maps.delete(aws_auth::NAME, &params).await.map(|_| ()),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        left.extend(told("ConfigMap `aws-auth`", gone));
        left
    }

    /// How to delete an object, where it is this run's: just the one that was looked at.
    fn ours(&self, found: kube::Result<Option<ObjectMeta>>) -> kube::Result<Option<DeleteParams>> {
        let (key, run) = self.label();
        Ok(found?
            .filter(|found| found.labels.as_ref().and_then(|labels| labels.get(&key)) == Some(&run))
            .map(|found| {
                DeleteParams::default().preconditions(Preconditions {
                    uid: found.uid,
                    resource_version: None,
                })
            }))
    }

    /// Asks the API server with a token that nobody has, and waits for what the webhooks hear of it.
    pub(crate) async fn hear(access: &Access, calls: &Calls, factor: TimeFactor) -> Heard {
        let request = http::Request::get(calls.path()).body(Vec::new());
        if let (Some(stranger), Ok(request)) = (access.stranger(&calls.token()), request) {
            // A refusal is what is wanted; anything else is an answer, too.
            let _ = stranger.request_text(request).await;
        }
        calls.heard(factor.limit(HEARING)).await
    }

    /// Waits until it has not answered for a while.
    pub(crate) async fn gone(&self) -> ClusterError {
        let mut missed = 0;
        loop {
            tokio::time::sleep(LOOK).await;
            match await_ready(&self.client, LOOK).await {
                Ok(_) => missed = 0,
                Err(_) if missed < MISSES => missed += 1,
                Err(error) => {
                    return ClusterError::NoAnswer {
                        server: self.server.clone(),
                        source: Box::new(error),
                    };
                }
            }
        }
    }
}

/// Whether what listens there serves a certificate for this name, by this CA.
pub(crate) async fn serves(endpoint: SocketAddrV4, name: &str, ca_pem: &str) -> Result<(), String> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()).flatten() {
        let _ = roots.add(certificate);
    }
    let provider = rustls::crypto::ring::default_provider();
    let config = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
    let stream = TcpStream::connect(endpoint)
        .await
        .map_err(|error| error.to_string())?;
    let connected = TlsConnector::from(Arc::new(config)).connect(server, stream).await;
    connected.map(|_| ()).map_err(|error| error.to_string())
}

fn told(what: &str, gone: kube::Result<()>) -> Option<String> {
    match gone {
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(error) => Some(format!("{what} on the cluster: {error}")),
        Ok(()) => None,
    }
}

const LABEL: &str = "nodejoin.run";
const HEARING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_secs(1);
const MISSES: u32 = 3;

/// What a cluster of the user's lacks, of which this was heard. Its API server is not on the network of the nodes.
pub(crate) fn lacks(heard: Heard) -> Vec<Lack> {
    let kubelets = Lack {
        need: Need::Kubelets,
        why: "an API server that nodejoin does not start is not on the network of its nodes".to_owned(),
    };
    let mut lacks = calls::lacks(heard);
    lacks.push(kubelets);
    lacks
}
