//! One account for all clients, without a node: metadata on one address per instance, all other services behind one
//! TLS port.
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
use nodejoin_core::plan::change::{Change, ChangeRequest, Refused, Setting};
use nodejoin_core::plan::ids::{InstanceId, RunId};
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::accept::{self, Protocol};
use super::fake_aws::FakeAws;
use super::ports;
use super::tasks::join_all;
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
    /// The metadata service of the first instance; the others follow on the next ports, or on free ones.
    pub metadata: SocketAddr,
    /// All services but the metadata service.
    pub services: SocketAddr,
}

/// A server of one account for all clients. Dropping it stops it; [`AccountServer::shut_down`] also waits.
#[derive(Debug)]
pub struct AccountServer {
    /// The instances, each with the address of its metadata service; never empty.
    pub instances: Vec<(InstanceId, SocketAddr)>,
    /// Address of all other services.
    pub services: SocketAddr,
    /// The certificate authority of the AWS host names, in PEM.
    pub ca_pem: String,
    authority: Arc<CertificateAuthority>,
    worlds: Arc<WorldRegistry>,
    /// The worlds at the start, in the order of the instances.
    defaults: Vec<World>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl FakeAws {
    /// Serves one account. `defaults` has one world per instance, the first of which also answers requests to services
    /// that name no instance. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// An address cannot be bound, or a certificate cannot be created.
    pub fn serve_account(
        run: &RunId,
        addresses: AccountAddresses,
        defaults: Vec<World>,
        factor: TimeFactor,
    ) -> Result<AccountServer, FakeAwsError> {
        let metadata = metadata_ports(addresses.metadata, defaults.len())?;
        let (services, services_at) = ports::listen("services", addresses.services)?;
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
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        let mut instances = Vec::new();
        for ((listener, address), world) in metadata.into_iter().zip(&defaults) {
            let id = world.instance.id.clone();
            worlds.admit(world.clone());
            match instances.as_slice() {
                [] => worlds.attach_default(&id),
                _ => worlds.start(&id),
            }
            let protocol = Protocol::MetadataOf(id.clone());
            tasks.spawn(accept::run(listener, protocol, Arc::clone(&worlds), stop.clone()));
            instances.push((id, address));
        }
        let protocol = Protocol::TlsOrConnect(tls.into());
        tasks.spawn(accept::run(services, protocol, Arc::clone(&worlds), stop.clone()));
        Ok(AccountServer {
            instances,
            services: services_at,
            ca_pem: authority.pem().to_owned(),
            authority,
            worlds,
            defaults,
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
    pub fn change(
        &self,
        request: &ChangeRequest,
        rows: Option<&[RoleMapping]>,
    ) -> Result<Vec<String>, Refused> {
        let selected = self.selected(request)?;
        // First on copies: either all instances change, or none.
        for (id, default) in &selected {
            self.with_instance(id, |instance| {
                self.apply(&mut instance.world.clone(), default, request, rows, instance)
            })?;
        }
        let mut changed = Vec::new();
        for (id, default) in selected {
            let lines = self.with_instance(id, |instance| {
                let mut world = instance.world.clone();
                let lines = self.apply(&mut world, default, request, rows, instance)?;
                instance.world = world;
                if let Change::Throttle(Setting::Value(_)) = request.change {
                    // The throttle is the first fault. Setting the same one again restarts its count.
                    let fault = instance.world.faults[0].clone();
                    instance.faults.forget(&fault);
                }
                instance.reload_world();
                Ok(lines)
            })?;
            changed.push((id, lines));
        }
        Ok(changes::merged(&changed))
    }

    fn apply(
        &self,
        world: &mut World,
        default: &World,
        request: &ChangeRequest,
        rows: Option<&[RoleMapping]>,
        instance: &Instance,
    ) -> Result<Vec<String>, Refused> {
        let seconds = instance.request_time(self.worlds.now()).seconds();
        changes::apply(world, default, &request.change, rows, seconds)
    }

    /// The instances that a change selects, each with its world at the start.
    fn selected(&self, request: &ChangeRequest) -> Result<Vec<(&InstanceId, &World)>, Refused> {
        let all = self.instances.iter().map(|(id, _)| id).zip(&self.defaults);
        let Some(requested) = &request.instance else {
            return Ok(all.collect());
        };
        if !request.change.is_of_instance() {
            return Err(Refused::new(
                "the setting belongs to the account, not to one instance",
                "omit `--instance`",
            ));
        }
        let found: Vec<_> = all.filter(|(id, _)| *id == requested).collect();
        if found.is_empty() {
            let ids: Vec<&str> = self.instances.iter().map(|(id, _)| id.as_str()).collect();
            return Err(Refused::new(
                format!("the account has no instance `{requested}`"),
                format!("instances: {}", ids.join(", ")),
            ));
        }
        Ok(found)
    }

    /// The current state of the account, as its first instance sees it.
    #[must_use]
    pub fn world(&self) -> World {
        self.with_instance(&self.instances[0].0, |instance| instance.world.clone())
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
        join_all(&mut self.tasks).await;
    }

    fn with_instance<T>(&self, id: &InstanceId, use_instance: impl FnOnce(&mut Instance) -> T) -> T {
        let shared = self
            .worlds
            .instance(id)
            .expect("an account never detaches its instances");
        let mut instance = shared.lock();
        use_instance(&mut instance)
    }
}

impl Drop for AccountServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Binds one port per instance: the given one and those that follow, or free ones for port 0.
fn metadata_ports(first: SocketAddr, count: usize) -> Result<Vec<(TcpListener, SocketAddr)>, FakeAwsError> {
    let offsets = (0..=u16::MAX).take(count);
    let ports = offsets.map(|offset| match first.port() {
        0 => Some(0),
        port => port.checked_add(offset),
    });
    ports
        .map(|port| match port {
            Some(port) => ports::listen("metadata", SocketAddr::new(first.ip(), port)),
            None => Err(FakeAwsError::NoPortLeft { first, count }),
        })
        .collect()
}
