//! The run's objects on a user's cluster. All of them have the run's label. Existing objects are never changed: a
//! cluster that already has objects of these names is rejected.

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

use super::relay::Relay;
use crate::ClusterError;
use crate::api_server::access::await_ready;
use crate::api_server::objects::{api_of, ignore_missing};
use crate::controllers::rbac;
use crate::iam::aws_auth;

const LABEL: &str = "nodejoin.run";
const CONFIG_MAP: &str = "ConfigMap `aws-auth`";
/// Pause between two checks of the API server.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// Failed checks in a row after which the API server counts as gone.
const FAILED_CHECKS: u32 = 4;
/// Until the API server's TLS handshake is done.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A user's cluster with the objects of one run.
pub(crate) struct ExternalInstall {
    run: RunId,
    client: Client,
    server: String,
    time_factor: TimeFactor,
    relay: Relay,
}

impl ExternalInstall {
    pub(crate) fn new(
        run: RunId,
        client: Client,
        server: String,
        time_factor: TimeFactor,
        relay: Relay,
    ) -> Self {
        Self {
            run,
            client,
            server,
            time_factor,
            relay,
        }
    }

    /// The label of every created object.
    pub(crate) fn label(&self) -> (String, String) {
        (LABEL.to_owned(), self.run.to_string())
    }

    /// Fails if the cluster has an object that the harness would have to overwrite.
    pub(crate) async fn check_unoccupied(client: &Client) -> Result<(), ClusterError> {
        let mut objects = Vec::new();
        for object in rbac::objects() {
            let (api, name, title) = api_of(client, &object);
            let found = api.get_opt(&name).await;
            let found = found.map_err(ClusterError::api(format!("get {title}")))?;
            objects.extend(found.map(|found| with_run(&title, found.labels().get(LABEL))));
        }
        let found = config_maps(client).get_opt(aws_auth::NAME).await;
        let found = found.map_err(ClusterError::api("get ConfigMap `kube-system/aws-auth`"))?;
        objects.extend(found.map(|found| with_run(CONFIG_MAP, found.labels().get(LABEL))));
        match objects.is_empty() {
            true => Ok(()),
            false => Err(ClusterError::Occupied { objects }),
        }
    }

    /// Creates the RBAC of EKS. After a failure it removes what it created.
    pub(crate) async fn create_objects(&self) -> Result<(), ClusterError> {
        for object in rbac::objects() {
            let (api, name, title) = api_of(&self.client, &object);
            let mut labelled: DynamicObject = serde_json::from_value(object).map_err(|error| {
                ClusterError::api(format!("create {title}"))(kube::Error::SerdeError(error))
            })?;
            labelled.labels_mut().extend([self.label()]);
            if let Err(error) = api.create(&PostParams::default(), &labelled).await {
                self.remove_objects().await;
                return Err(ClusterError::api(format!("create {title} (`{name}`)"))(error));
            }
        }
        Ok(())
    }

    /// Stops the relay and removes every object with the run's label. Returns one line per object that could not be
    /// removed.
    pub(crate) async fn clean_up(&self) -> Vec<String> {
        self.relay.shut_down().await;
        self.remove_objects().await
    }

    async fn remove_objects(&self) -> Vec<String> {
        let mut left = Vec::new();
        // Bindings before their roles.
        for object in rbac::objects().into_iter().rev() {
            let (api, name, title) = api_of(&self.client, &object);
            let found = api.get_metadata_opt(&name).await;
            let found = found.map(|found| found.map(|found| found.metadata));
            let deleted = match self.delete_params(found) {
                Ok(Some(params)) => api.delete(&name, &params).await.map(|_| ()),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            left.extend(left_behind(&title, deleted));
        }
        let maps = config_maps(&self.client);
        let found = maps.get_metadata_opt(aws_auth::NAME).await;
        let deleted = match self.delete_params(found.map(|found| found.map(|found| found.metadata))) {
            Ok(Some(params)) => maps.delete(aws_auth::NAME, &params).await.map(|_| ()),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        left.extend(left_behind(CONFIG_MAP, deleted));
        left
    }

    /// Parameters that delete exactly this object, if it is the run's.
    fn delete_params(&self, found: kube::Result<Option<ObjectMeta>>) -> kube::Result<Option<DeleteParams>> {
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

    /// Waits until the API server has not answered several times in a row.
    pub(crate) async fn gone(&self) -> ClusterError {
        let mut failed = 0;
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let ready = await_ready(&self.client, self.time_factor.scale(CHECK_TIMEOUT)).await;
            failed = if ready.is_ok() { 0 } else { failed + 1 };
            if let Err(error) = ready
                && failed >= FAILED_CHECKS
            {
                return ClusterError::NoAnswer {
                    server: self.server.clone(),
                    source: Box::new(error),
                };
            }
        }
    }

    /// Whether the API server presents a certificate for this name, signed by this CA.
    pub(crate) async fn serves_certificate_for(
        &self,
        endpoint: SocketAddrV4,
        name: &str,
        ca_pem: &str,
    ) -> Result<(), String> {
        let timeout = self.time_factor.scale(HANDSHAKE_TIMEOUT);
        let served = tokio::time::timeout(timeout, serves_certificate_for(endpoint, name, ca_pem)).await;
        served.unwrap_or_else(|_| Err(format!("no TLS handshake within {} s", timeout.as_secs())))
    }
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), aws_auth::NAMESPACE)
}

fn with_run(title: &str, run: Option<&String>) -> String {
    match run {
        Some(run) => format!("{title} (of run {run})"),
        None => title.to_owned(),
    }
}

async fn serves_certificate_for(endpoint: SocketAddrV4, name: &str, ca_pem: &str) -> Result<(), String> {
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

fn left_behind(title: &str, deleted: kube::Result<()>) -> Option<String> {
    let error = ignore_missing(deleted).err()?;
    Some(format!("{title} on the cluster: {error}"))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use kube::Config;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_api_server_fails_the_handshake_within_the_scaled_timeout() {
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = silent.local_addr().unwrap();
        let config = Config::new(format!("https://{address}").parse().unwrap());
        let install = ExternalInstall::new(
            "0123456789ab".parse().unwrap(),
            Client::try_from(config).unwrap(),
            format!("https://{address}"),
            "6".parse().unwrap(),
            Relay::start(Ipv4Addr::LOCALHOST, vec![address]).await.unwrap(),
        );
        let endpoint = SocketAddrV4::new(Ipv4Addr::LOCALHOST, address.port());
        let started = tokio::time::Instant::now();
        let served = install.serves_certificate_for(endpoint, "kubernetes", "");
        assert_eq!(served.await.unwrap_err(), "no TLS handshake within 60 s");
        assert_eq!(started.elapsed(), Duration::from_secs(60));
    }
}
