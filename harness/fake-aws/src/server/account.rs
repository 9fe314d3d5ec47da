//! One account for all clients, without a node: metadata on one address, all other services behind one TLS port.
//!
//! | the services' port receives | response |
//! | --- | --- |
//! | a TLS handshake | TLS under the client's server name; the `Host` of each request selects the service |
//! | `CONNECT host:443` for an AWS service | 200, then TLS: `HTTPS_PROXY` alone leads a client here |
//! | `CONNECT` to any other host | 403: the proxy forwards nothing |
//! | any other clear text | 400 |

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

use nodejoin_core::plan::RoleMapping;
use nodejoin_core::plan::change::{Change, Refused, Setting};
use nodejoin_core::plan::ids::{InstanceId, RunId};
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::accept::{self, Protocol};
use super::{BACKLOG, FakeAws};
use crate::changes;
use crate::clock::MachineClock;
use crate::error::FakeAwsError;
use crate::instance::Instance;
use crate::sts_client::StsClient;
use crate::tls::CertificateAuthority;
use crate::world::World;
use crate::world_registry::WorldRegistry;

/// The addresses to serve an account on. Port 0 selects a free port.
#[derive(Debug, Clone, Copy)]
pub struct AccountAddresses {
    pub metadata: SocketAddr,
    /// All services but the metadata service.
    pub services: SocketAddr,
}

/// A server of one account for all clients. Dropping it stops it; [`AccountServer::shut_down`] also waits.
#[derive(Debug)]
pub struct AccountServer {
    /// Address of the metadata service.
    pub metadata: SocketAddr,
    /// Address of all other services.
    pub services: SocketAddr,
    /// The certificate authority of the AWS host names, in PEM.
    pub ca_pem: String,
    authority: Arc<CertificateAuthority>,
    worlds: Arc<WorldRegistry>,
    instance: InstanceId,
    default: World,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl FakeAws {
    /// Serves one account. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// An address cannot be bound, or a certificate cannot be created.
    pub fn serve_account(
        run: &RunId,
        addresses: AccountAddresses,
        world: World,
        factor: TimeFactor,
    ) -> Result<AccountServer, FakeAwsError> {
        let (metadata, metadata_at) = listen("metadata", addresses.metadata)?;
        let (services, services_at) = listen("services", addresses.services)?;
        let name = format!("nodejoin AWS {run}");
        let authority = Arc::new(CertificateAuthority::generate(
            &name,
            services_at.ip(),
            SystemTime::now(),
        )?);
        let tls = authority.server_config()?;
        let mut worlds = WorldRegistry::new(run.clone(), Arc::new(MachineClock));
        worlds.time_factor = factor;
        let worlds = Arc::new(worlds);
        let (instance, default) = (world.instance.id.clone(), world.clone());
        worlds.admit(world);
        worlds.attach_default(&instance);
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        for (listener, protocol) in [
            (metadata, Protocol::Metadata),
            (services, Protocol::TlsOrConnect(tls.into())),
        ] {
            tasks.spawn(accept::run(listener, protocol, Arc::clone(&worlds), stop.clone()));
        }
        Ok(AccountServer {
            metadata: metadata_at,
            services: services_at,
            ca_pem: authority.pem().to_owned(),
            authority,
            worlds,
            instance,
            default,
            stop,
            tasks,
        })
    }
}

impl AccountServer {
    /// Changes the account and returns one line per setting. `rows` are the new rows of a change of `aws-auth`.
    ///
    /// # Errors
    /// The change is refused; the account is unchanged.
    pub fn change(&self, change: &Change, rows: Option<&[RoleMapping]>) -> Result<Vec<String>, Refused> {
        let now = self.worlds.now();
        self.with_instance(|instance| {
            let seconds = instance.request_time(now).seconds();
            let lines = changes::apply(&mut instance.world, &self.default, change, rows, seconds)?;
            if let Change::Throttle(Setting::Value(_)) = change {
                // The throttle is the first fault. Setting the same one again restarts its count.
                let fault = instance.world.faults[0].clone();
                instance.faults.forget(&fault);
            }
            instance.reload_world();
            Ok(lines)
        })
    }

    /// The current state of the account.
    #[must_use]
    pub fn world(&self) -> World {
        self.with_instance(|instance| instance.world.clone())
    }

    #[must_use]
    pub fn sts(&self) -> StsClient {
        StsClient::new(Arc::clone(&self.worlds))
    }

    /// TLS configuration for another port under the same certificate authority. Clients without a server name receive a
    /// certificate for `ip`.
    ///
    /// # Errors
    /// rustls rejects the configuration.
    pub fn server_config(&self, ip: IpAddr) -> Result<Arc<rustls::ServerConfig>, FakeAwsError> {
        self.authority.server_config_at(ip)
    }

    /// Stops listening, closes every connection and waits for the tasks.
    ///
    /// # Panics
    /// With the panic of a connection that panicked.
    pub async fn shut_down(mut self) {
        self.stop.cancel();
        super::join_all(&mut self.tasks).await;
    }

    fn with_instance<T>(&self, use_instance: impl FnOnce(&mut Instance) -> T) -> T {
        let shared = self
            .worlds
            .instance(&self.instance)
            .expect("an account never detaches its instance");
        let mut instance = shared.lock();
        use_instance(&mut instance)
    }
}

impl Drop for AccountServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Binds with `SO_REUSEADDR`: connections of an earlier server on the port may still be closing.
fn listen(what: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), FakeAwsError> {
    let listen = || {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    listen().map_err(|source| FakeAwsError::Bind {
        what,
        address,
        source,
    })
}
