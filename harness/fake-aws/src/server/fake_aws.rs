//! The fakes of a run, whose clients are nodes: each source address has its own world.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use nodejoin_core::plan::ids::{InstanceId, RunId};
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::net::{TcpSocket, UdpSocket};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::accept::{self, Protocol};
use super::ports::{self, BACKLOG};
use super::resolver;
use super::tasks::join_all;
use crate::clock::{Clock, MachineClock};
use crate::error::FakeAwsError;
use crate::refusals::Refusals;
use crate::sts_client::StsClient;
use crate::tls::CertificateAuthority;
use crate::world::World;
use crate::world_registry::WorldRegistry;

/// Starts the servers of the fake AWS.
#[derive(Debug, Clone, Copy)]
pub struct FakeAws;

impl FakeAws {
    /// Binds the fakes of a run to free ports of a local address.
    ///
    /// # Errors
    /// A port cannot be bound, or a certificate cannot be created.
    pub fn bind(run: &RunId, ip: Ipv4Addr) -> Result<BoundFakeAws, FakeAwsError> {
        Self::bind_with_clock(run, ip, Arc::new(MachineClock))
    }

    /// Binds as [`FakeAws::bind`] does, with the caller's clock.
    ///
    /// # Errors
    /// As [`FakeAws::bind`].
    pub fn bind_with_clock(
        run: &RunId,
        ip: Ipv4Addr,
        clock: Arc<dyn Clock>,
    ) -> Result<BoundFakeAws, FakeAwsError> {
        let authority = Arc::new(CertificateAuthority::generate(
            &format!("nodejoin AWS {run}"),
            ip.into(),
            clock.now(),
        )?);
        let (metadata_socket, metadata) = ports::tcp("metadata", SocketAddr::from((ip, 0)))?;
        let (tls_socket, tls) = ports::tcp("tls", SocketAddr::from((ip, 0)))?;
        let (dns_tcp, dns_udp, dns) = ports::both(ip)?;
        let ca_pem = authority.pem().to_owned();
        let worlds = WorldRegistry::new(run.clone(), clock);
        Ok(BoundFakeAws {
            metadata,
            metadata_ipv6: None,
            tls,
            dns,
            ca_pem,
            sockets: Sockets {
                metadata_socket,
                ipv6_socket: None,
                tls_socket,
                dns_tcp,
                dns_udp,
            },
            authority,
            worlds,
        })
    }
}

#[derive(Debug)]
struct Sockets {
    metadata_socket: TcpSocket,
    ipv6_socket: Option<TcpSocket>,
    tls_socket: TcpSocket,
    dns_tcp: TcpSocket,
    dns_udp: std::net::UdpSocket,
}

/// The fakes with their addresses, before they listen.
#[derive(Debug)]
pub struct BoundFakeAws {
    /// Destination for 169.254.169.254:80.
    pub metadata: SocketAddr,
    /// Destination for `[fd00:ec2::254]:80`, if bound.
    pub metadata_ipv6: Option<SocketAddr>,
    /// Destination for port 443 of every AWS host name, and for ports 80 and 443 of names outside.
    pub tls: SocketAddr,
    /// Destination for 169.254.169.253:53, UDP and TCP.
    pub dns: SocketAddr,
    /// The certificate authority of the AWS host names, in PEM.
    pub ca_pem: String,
    sockets: Sockets,
    authority: Arc<CertificateAuthority>,
    worlds: WorldRegistry,
}

impl BoundFakeAws {
    /// Scales the timeouts for clients on a slow machine.
    #[must_use]
    pub fn with_time_factor(mut self, factor: TimeFactor) -> Self {
        self.worlds.time_factor = factor;
        self
    }

    /// Also binds the metadata service's IPv6 endpoint, for instances whose metadata options enable it.
    ///
    /// # Errors
    /// No port can be bound.
    pub fn with_ipv6(mut self, ip: Ipv6Addr) -> Result<Self, FakeAwsError> {
        let (socket, address) = ports::tcp("metadata", SocketAddr::from((ip, 0)))?;
        (self.sockets.ipv6_socket, self.metadata_ipv6) = (Some(socket), Some(address));
        Ok(self)
    }

    /// Starts to listen. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// A socket cannot listen.
    pub fn listen(self) -> Result<FakeAwsServer, FakeAwsError> {
        let Sockets {
            metadata_socket,
            ipv6_socket,
            tls_socket,
            dns_tcp,
            dns_udp,
        } = self.sockets;
        let failed = |what, address| {
            move |source| FakeAwsError::Bind {
                what,
                address,
                source,
            }
        };
        let worlds = Arc::new(self.worlds);
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let metadata = metadata_socket
            .listen(BACKLOG)
            .map_err(failed("metadata", self.metadata))?;
        tasks.spawn(accept::run(
            metadata,
            Protocol::Metadata,
            Arc::clone(&worlds),
            stop.clone(),
        ));
        if let (Some(socket), Some(address)) = (ipv6_socket, self.metadata_ipv6) {
            let listener = socket.listen(BACKLOG).map_err(failed("metadata", address))?;
            tasks.spawn(accept::run(
                listener,
                Protocol::Metadata,
                Arc::clone(&worlds),
                stop.clone(),
            ));
        }
        let tls = tls_socket.listen(BACKLOG).map_err(failed("tls", self.tls))?;
        let protocol = Protocol::TlsOrHttp(self.authority.server_config()?.into());
        tasks.spawn(accept::run(tls, protocol, Arc::clone(&worlds), stop.clone()));
        let dns = dns_tcp.listen(BACKLOG).map_err(failed("dns", self.dns))?;
        tasks.spawn(accept::run(dns, Protocol::Dns, Arc::clone(&worlds), stop.clone()));
        let udp = UdpSocket::from_std(dns_udp).map_err(failed("dns", self.dns))?;
        tasks.spawn(resolver::serve_udp(udp, Arc::clone(&worlds), stop.clone()));
        Ok(FakeAwsServer {
            metadata: self.metadata,
            metadata_ipv6: self.metadata_ipv6,
            tls: self.tls,
            dns: self.dns,
            ca_pem: self.ca_pem,
            authority: self.authority,
            worlds,
            stop,
            tasks,
        })
    }
}

/// The running fakes. Dropping it stops them; [`FakeAwsServer::shut_down`] also waits and raises their panics.
#[derive(Debug)]
pub struct FakeAwsServer {
    /// Destination for 169.254.169.254:80.
    pub metadata: SocketAddr,
    /// Destination for `[fd00:ec2::254]:80`, if bound.
    pub metadata_ipv6: Option<SocketAddr>,
    /// Destination for port 443 of every AWS host name, and for ports 80 and 443 of names outside.
    pub tls: SocketAddr,
    /// Destination for 169.254.169.253:53, UDP and TCP.
    pub dns: SocketAddr,
    /// The certificate authority of the AWS host names, in PEM.
    pub ca_pem: String,
    authority: Arc<CertificateAuthority>,
    worlds: Arc<WorldRegistry>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl FakeAwsServer {
    /// Adds a world, replacing an earlier one of the same instance.
    pub fn admit(&self, world: World) {
        self.authority.add_addresses(world.https_addresses());
        self.worlds.admit(world);
    }

    /// Maps the source address of a node to its instance and starts the clock of everything that is relative to the
    /// node's start. Requests of an instance that was not admitted stay without a world.
    pub fn attach(&self, source: impl Into<IpAddr>, instance: &InstanceId) {
        self.worlds.attach(source.into(), instance);
    }

    /// Where the node of an instance reports the connections that its rules refused.
    #[must_use]
    pub fn refusals(&self, instance: &InstanceId) -> Refusals {
        Refusals::new(Arc::clone(&self.worlds), instance.clone())
    }

    /// How often each fault of an instance fired so far, by its index in the plan.
    #[must_use]
    pub fn faults_fired(&self, instance: &InstanceId) -> BTreeMap<usize, u32> {
        self.worlds.faults_fired(instance)
    }

    /// Removes an instance and returns how often each of its faults fired, by its index in the plan.
    pub fn detach(&self, instance: &InstanceId) -> BTreeMap<usize, u32> {
        self.worlds.detach(instance)
    }

    /// The client for the control plane's authenticator.
    #[must_use]
    pub fn sts(&self) -> StsClient {
        StsClient::new(Arc::clone(&self.worlds))
    }

    /// Stops listening, closes every connection and waits for the tasks.
    ///
    /// # Panics
    /// With the panic of a connection that panicked.
    pub async fn shut_down(mut self) {
        self.stop.cancel();
        join_all(&mut self.tasks).await;
    }
}

impl Drop for FakeAwsServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
