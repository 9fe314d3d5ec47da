//! What does the API server call, and does it call the harness at all?

pub(crate) mod probe;
pub(crate) mod server;
pub(crate) mod token_webhook;
