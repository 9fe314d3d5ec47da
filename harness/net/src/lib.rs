//! What every server of the harness shares: the accept loop and bounded reading of HTTP bodies.

mod accept;
mod body;

pub use accept::{Listener, serve_connections};
pub use body::read_body;
