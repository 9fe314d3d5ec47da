//! One account for everybody who asks, without a node: metadata on one address, all other services behind one TLS port.
//!
//! | what comes to the services' port | what becomes of it |
//! | --- | --- |
//! | a TLS handshake | answered under whatever name the client asks for; the `Host` of each request tells the service |
//! | `CONNECT host:443` of a service of AWS | 200, then as above: so `HTTPS_PROXY` is enough to lead a client here |
//! | `CONNECT` to any other host | 403: nothing is passed on |
//! | anything else in clear text | 400 |

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

use super::accept::{self, Door};
use super::worlds::{Worlds, moment};
use super::{BACKLOG, FakeAws};
use crate::changes;
use crate::clock::MachineClock;
use crate::error::FakeAwsError;
use crate::sts_client::Sts;
use crate::tls::Authority;
use crate::world::World;

/// Where an account is to be served; port 0 is a free one.
#[derive(Debug, Clone, Copy)]
pub struct AccountDoors {
    /// The metadata service.
    pub metadata: SocketAddr,
    /// All other services.
    pub services: SocketAddr,
}

/// An account that is served to everybody who asks. Dropping it stops it; [`Account::shut_down`] also waits.
#[derive(Debug)]
pub struct Account {
    /// Where the metadata service answers.
    pub metadata: SocketAddr,
    /// Where all other services answer.
    pub services: SocketAddr,
    /// The certificate authority of the AWS host names, in PEM.
    pub ca_pem: String,
    authority: Arc<Authority>,
    worlds: Arc<Worlds>,
    instance: InstanceId,
    default: World,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl FakeAws {
    /// Serves one account. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// Where an address cannot be had or a certificate cannot be made.
    pub fn serve_account(
        run: &RunId,
        doors: AccountDoors,
        world: World,
        factor: TimeFactor,
    ) -> Result<Account, FakeAwsError> {
        let (metadata, metadata_at) = listen("metadata", doors.metadata)?;
        let (services, services_at) = listen("services", doors.services)?;
        let name = format!("nodejoin AWS {run}");
        let authority = Arc::new(Authority::generate(&name, services_at.ip(), SystemTime::now())?);
        let tls = authority.server_config()?;
        let mut worlds = Worlds::new(run.clone(), Arc::new(MachineClock));
        worlds.time_factor = factor;
        let worlds = Arc::new(worlds);
        let (instance, default) = (world.instance.id.clone(), world.clone());
        worlds.admit(world);
        worlds.attach_everybody(&instance);
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        for (listener, door) in [(metadata, Door::Metadata), (services, Door::Front(tls.into()))] {
            tasks.spawn(accept::run(listener, door, Arc::clone(&worlds), stop.clone()));
        }
        Ok(Account {
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

impl Account {
    /// Changes the account, and says what became of it. `rows` are those of a change of `aws-auth`.
    ///
    /// # Errors
    /// What cannot be; nothing has changed then.
    pub fn change(&self, change: &Change, rows: Option<&[RoleMapping]>) -> Result<Vec<String>, Refused> {
        let now = self.worlds.now();
        self.with_instance(|instance| {
            let seconds = moment(instance, now).seconds();
            let said = changes::apply(&mut instance.world, &self.default, change, rows, seconds)?;
            if let Change::Throttle(Setting::Value(_)) = change {
                // It stands first. The same one once more counts from the start.
                let fault = instance.world.faults[0].clone();
                instance.faults.forget(&fault);
            }
            instance.renew();
            Ok(said)
        })
    }

    /// The account as it is by now.
    #[must_use]
    pub fn world(&self) -> World {
        self.with_instance(|instance| instance.world.clone())
    }

    /// What an authenticator asks.
    #[must_use]
    pub fn sts(&self) -> Sts {
        Sts::new(Arc::clone(&self.worlds))
    }

    /// The server side of TLS for another port of the account's, under the same authority; `ip` is the name of clients that ask
    /// for none.
    ///
    /// # Errors
    /// Where rustls refuses the set-up.
    pub fn server_config(&self, ip: IpAddr) -> Result<Arc<rustls::ServerConfig>, FakeAwsError> {
        self.authority.server_config_at(ip)
    }

    /// Stops listening, closes every connection and waits for the tasks.
    ///
    /// # Panics
    /// With the panic of a task that had one.
    pub async fn shut_down(mut self) {
        self.stop.cancel();
        super::join_all(&mut self.tasks).await;
    }

    fn with_instance<T>(&self, ask: impl FnOnce(&mut crate::world::Instance) -> T) -> T {
        let shared = self
            .worlds
            .instance(&self.instance)
            .expect("the account's one instance is never detached");
        let mut instance = shared.lock();
        ask(&mut instance)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A port may be taken again while connections of the last one that had it are still passing away.
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
