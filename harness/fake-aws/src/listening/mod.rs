//! The fakes as sockets: bound at once, listening when told, joined at the end.
//!
//! Life cycle: [`FakeAws::bind`] takes three ports (until [`Bound::listen`] a connection to them is refused), [`Listening::admit`] adds a
//! world, [`Listening::attach`] ties it to the source address of its node, [`Listening::detach`] takes it away,
//! [`Listening::shut_down`] closes everything and raises what went wrong in between.
//!
//! | file | what |
//! | --- | --- |
//! | `account.rs`, `front.rs` | the same for one account that everybody may ask |
//! | `accept.rs` | connections, and the tasks that serve them |
//! | `serve.rs` | a request's way: world, fault, answer, event |
//! | `line.rs` | a connection whose socket can still be set |
//! | `effects.rs` | what a fault does |
//! | `body.rs` | an answer's body, whole or cut |
//! | `resolver.rs` | DNS over UDP and TCP |

mod accept;
mod account;
mod body;
pub(crate) mod effects;
mod front;
mod line;
mod resolver;
mod serve;
pub(crate) mod worlds;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use nodejoin_core::plan::ids::{InstanceId, RunId};
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::net::{TcpSocket, UdpSocket};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::accept::Door;
pub use self::account::{Account, AccountDoors};
use self::worlds::Worlds;
use crate::clock::{Clock, MachineClock};
use crate::error::FakeAwsError;
use crate::sts_client::Sts;
use crate::tls::Authority;
use crate::world::World;

/// How often a port that is free for TCP is tried for UDP.
const PORT_TRIES: u32 = 32;
/// Connections that wait to be accepted: a burst of 1,000 clients has to find room.
const BACKLOG: u32 = 1024;

/// The fake AWS, as it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct FakeAws;

impl FakeAws {
    /// Binds the fakes of a run to an address of this machine, on free ports.
    ///
    /// # Errors
    /// Where a port cannot be had or a certificate cannot be made.
    pub fn bind(run: &RunId, ip: Ipv4Addr) -> Result<Bound, FakeAwsError> {
        Self::bind_with_clock(run, ip, Arc::new(MachineClock))
    }

    /// The same, with a clock of the caller's.
    ///
    /// # Errors
    /// As [`FakeAws::bind`].
    pub fn bind_with_clock(run: &RunId, ip: Ipv4Addr, clock: Arc<dyn Clock>) -> Result<Bound, FakeAwsError> {
        let authority = Arc::new(Authority::generate(
            &format!("nodejoin AWS {run}"),
            ip.into(),
            clock.now(),
        )?);
        let (metadata_socket, metadata) = tcp("metadata", SocketAddr::from((ip, 0)))?;
        let (tls_socket, tls) = tcp("tls", SocketAddr::from((ip, 0)))?;
        let (dns_tcp, dns_udp, dns) = both(ip)?;
        let ca_pem = authority.pem().to_owned();
        let worlds = Worlds::new(run.clone(), clock);
        Ok(Bound {
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

/// The fakes with their addresses, not yet listening.
#[derive(Debug)]
pub struct Bound {
    /// Where 169.254.169.254:80 has to lead.
    pub metadata: SocketAddr,
    /// Where [fd00:ec2::254]:80 has to lead, where it was bound.
    pub metadata_ipv6: Option<SocketAddr>,
    /// Where port 443 of every AWS host name has to lead.
    pub tls: SocketAddr,
    /// Where 169.254.169.253:53 has to lead, UDP and TCP.
    pub dns: SocketAddr,
    /// The certificate authority of the AWS host names, in PEM.
    pub ca_pem: String,
    sockets: Sockets,
    authority: Arc<Authority>,
    worlds: Worlds,
}

impl Bound {
    /// The same with more patience with clients, on a slow machine.
    #[must_use]
    pub fn with_time_factor(mut self, factor: TimeFactor) -> Self {
        self.worlds.time_factor = factor;
        self
    }

    /// Binds the metadata service's IPv6 endpoint too. It answers instances whose metadata options have it on.
    ///
    /// # Errors
    /// Where no port can be had.
    pub fn with_ipv6(mut self, ip: Ipv6Addr) -> Result<Self, FakeAwsError> {
        let (socket, address) = tcp("metadata", SocketAddr::from((ip, 0)))?;
        (self.sockets.ipv6_socket, self.metadata_ipv6) = (Some(socket), Some(address));
        Ok(self)
    }

    /// Starts to listen. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// Where a socket cannot listen.
    pub fn listen(self) -> Result<Listening, FakeAwsError> {
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
            Door::Metadata,
            Arc::clone(&worlds),
            stop.clone(),
        ));
        if let (Some(socket), Some(address)) = (ipv6_socket, self.metadata_ipv6) {
            let listener = socket.listen(BACKLOG).map_err(failed("metadata", address))?;
            tasks.spawn(accept::run(
                listener,
                Door::Metadata,
                Arc::clone(&worlds),
                stop.clone(),
            ));
        }
        let tls = tls_socket.listen(BACKLOG).map_err(failed("tls", self.tls))?;
        let door = Door::Tls(self.authority.server_config()?.into());
        tasks.spawn(accept::run(tls, door, Arc::clone(&worlds), stop.clone()));
        let dns = dns_tcp.listen(BACKLOG).map_err(failed("dns", self.dns))?;
        tasks.spawn(accept::run(dns, Door::Dns, Arc::clone(&worlds), stop.clone()));
        let udp = UdpSocket::from_std(dns_udp).map_err(failed("dns", self.dns))?;
        tasks.spawn(resolver::serve_udp(udp, Arc::clone(&worlds), stop.clone()));
        Ok(Listening {
            metadata: self.metadata,
            metadata_ipv6: self.metadata_ipv6,
            tls: self.tls,
            dns: self.dns,
            ca_pem: self.ca_pem,
            worlds,
            stop,
            tasks,
        })
    }
}

/// The fakes, listening. Dropping it stops them; [`Listening::shut_down`] also waits, and raises their panics.
#[derive(Debug)]
pub struct Listening {
    /// Where 169.254.169.254:80 has to lead.
    pub metadata: SocketAddr,
    /// Where [fd00:ec2::254]:80 has to lead, where it was bound.
    pub metadata_ipv6: Option<SocketAddr>,
    /// Where port 443 of every AWS host name has to lead.
    pub tls: SocketAddr,
    /// Where 169.254.169.253:53 has to lead, UDP and TCP.
    pub dns: SocketAddr,
    /// The certificate authority of the AWS host names, in PEM.
    pub ca_pem: String,
    worlds: Arc<Worlds>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Listening {
    /// Adds a world. A world of the same instance is replaced.
    pub fn admit(&self, world: World) {
        self.worlds.admit(world);
    }

    /// Ties an instance to the source address of its node: from now on the address is answered, and time runs for what holds
    /// until so many seconds after the node's start. An instance that was not admitted stays unanswered.
    pub fn attach(&self, source: impl Into<IpAddr>, instance: &InstanceId) {
        self.worlds.attach(source.into(), instance);
    }

    /// How often each fault of an instance's world fired so far, by its place in the plan.
    #[must_use]
    pub fn faults_fired(&self, instance: &InstanceId) -> BTreeMap<usize, u32> {
        self.worlds.fired(instance)
    }

    /// Takes an instance away and tells how often each of its faults fired, by its place in the plan.
    pub fn detach(&self, instance: &InstanceId) -> BTreeMap<usize, u32> {
        self.worlds.detach(instance)
    }

    /// What the control plane's authenticator asks.
    #[must_use]
    pub fn sts(&self) -> Sts {
        Sts::new(Arc::clone(&self.worlds))
    }

    /// Stops listening, closes every connection and waits for the tasks.
    ///
    /// # Panics
    /// With the panic of a task that had one.
    pub async fn shut_down(mut self) {
        self.stop.cancel();
        join_all(&mut self.tasks).await;
    }
}

/// Waits for tasks that were told to stop, and raises the panic of one that had one.
async fn join_all(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Takes a port without listening on it: until [`Bound::listen`] a connection is refused, as it is while a service is down.
fn tcp(what: &'static str, address: SocketAddr) -> Result<(TcpSocket, SocketAddr), FakeAwsError> {
    take(address).map_err(|source| FakeAwsError::Bind {
        what,
        address,
        source,
    })
}

fn take(address: SocketAddr) -> io::Result<(TcpSocket, SocketAddr)> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.bind(address)?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

/// A port that is free for UDP and TCP alike.
fn both(ip: Ipv4Addr) -> Result<(TcpSocket, std::net::UdpSocket, SocketAddr), FakeAwsError> {
    for _ in 0..PORT_TRIES {
        let (socket, address) = tcp("dns", SocketAddr::from((ip, 0)))?;
        let Ok(udp) = std::net::UdpSocket::bind(address) else {
            continue;
        };
        udp.set_nonblocking(true).map_err(|source| FakeAwsError::Bind {
            what: "dns",
            address,
            source,
        })?;
        return Ok((socket, udp, address));
    }
    Err(FakeAwsError::NoSharedPort {
        ip,
        tried: PORT_TRIES,
    })
}
