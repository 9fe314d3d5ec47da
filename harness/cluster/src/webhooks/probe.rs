//! Checks the wiring of a user's API server: sends one request with a bogus token that must reach both webhooks.
//!
//! The token webhook receives the token, and the audit log has the rejection with the request's path. Token and path
//! contain a random word.

use std::time::Duration;

use nodejoin_core::run::time_factor::TimeFactor;
use tokio::sync::watch;

use crate::api_server::access::Access;
use crate::needs::{Lack, Need};

/// Until both webhooks have received the request.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The webhooks that have received the probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) token: bool,
    pub(crate) audit: bool,
}

/// One probe, identified by its word. The webhooks report what they receive; the prober waits.
#[derive(Debug)]
pub(crate) struct WebhookProbe {
    word: String,
    received: watch::Sender<Received>,
}

impl WebhookProbe {
    pub(crate) fn new(word: String) -> Self {
        Self {
            word,
            received: watch::channel(Received::default()).0,
        }
    }

    /// Sends the request and waits until both webhooks have received it, or the timeout has passed.
    pub(crate) async fn probe(&self, access: &Access, factor: TimeFactor) -> Received {
        let request = http::Request::get(self.path()).body(Vec::new());
        if let (Some(client), Ok(request)) = (access.with_token(&self.token()), request) {
            // The API server rejects the token; the response does not matter.
            let _ = client.request_text(request).await;
        }
        self.received(factor.scale(PROBE_TIMEOUT)).await
    }

    fn token(&self) -> String {
        format!("nodejoin-probe.{}", self.word)
    }

    fn path(&self) -> String {
        format!("/apis?nodejoin-probe={}", self.word)
    }

    /// Called by the token webhook for each token.
    pub(crate) fn record_token(&self, token: &str) {
        if token == self.token() {
            self.received.send_modify(|received| received.token = true);
        }
    }

    /// Called by the audit webhook for each request URI.
    pub(crate) fn record_uri(&self, uri: &str) {
        if uri == self.path() {
            self.received.send_modify(|received| received.audit = true);
        }
    }

    async fn received(&self, timeout: Duration) -> Received {
        let mut received = self.received.subscribe();
        let both = received.wait_for(|received| received.token && received.audit);
        let _ = tokio::time::timeout(timeout, both).await;
        *self.received.borrow()
    }
}

impl Received {
    /// What an API server lacks that sent the probe to these webhooks only.
    pub(crate) fn lacks(self) -> Vec<Lack> {
        let lack = |need, flag: &str| Lack {
            need,
            why: format!(
                "the API server did not call nodejoin; set its flag `--{flag}` to a file of `nodejoin wiring`, and pass that \
                 folder to the run with `--wiring`"
            ),
        };
        let token = (!self.token).then(|| lack(Need::Tokens, "authentication-token-webhook-config-file"));
        let audit = (!self.audit).then(|| lack(Need::Audit, "audit-webhook-config-file"));
        token.into_iter().chain(audit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_exact_word_counts_as_received() {
        let probe = WebhookProbe::new("abc".to_owned());
        probe.record_token("nodejoin-probe.abd");
        probe.record_uri("/apis");
        assert_eq!(probe.received(Duration::ZERO).await, Received::default());
        probe.record_token("nodejoin-probe.abc");
        let received = probe.received(Duration::ZERO).await;
        assert_eq!((received.token, received.audit), (true, false));
        let lacks = received.lacks();
        assert_eq!((lacks.len(), lacks[0].need), (1, Need::Audit));
        probe.record_uri("/apis?nodejoin-probe=abc");
        assert!(probe.received(Duration::ZERO).await.lacks().is_empty());
    }
}
