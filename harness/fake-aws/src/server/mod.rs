//! The servers of the fakes: sockets bound early, served later, joined at the end.
//!
//! Life cycle: [`FakeAws::bind`] binds the ports (a connection is refused until [`BoundFakeAws::listen`]),
//! [`FakeAwsServer::admit`] adds a world, [`FakeAwsServer::attach`] maps the source address of a node to it,
//! [`FakeAwsServer::detach`] removes it, and [`FakeAwsServer::shut_down`] closes everything and raises the first panic.
//!
//! | file | what |
//! | --- | --- |
//! | `fake_aws.rs` | the servers of a run for its nodes |
//! | `account.rs`, `connect_proxy.rs` | a server of one account for all clients |
//! | `ports.rs`, `tasks.rs` | the start and the end of both |
//! | `accept.rs` | connections of every protocol |
//! | `connection.rs` | the connection of a request |
//! | `serve.rs` | the world of a request, and its body |
//! | `pending_call.rs` | its fault, response and event |
//! | `http_proxy.rs` | the HTTP proxy of a scenario |
//! | `shared_socket.rs` | a connection with access to its socket options |
//! | `body.rs` | the body of a response, complete or cut |
//! | `resolver.rs` | DNS over UDP and TCP |

mod accept;
mod account;
mod body;
mod connect_proxy;
mod connection;
mod fake_aws;
mod http_proxy;
mod pending_call;
mod ports;
mod resolver;
mod serve;
mod shared_socket;
mod tasks;

pub use self::account::{AccountAddresses, AccountServer};
pub use self::fake_aws::{BoundFakeAws, FakeAws, FakeAwsServer};
