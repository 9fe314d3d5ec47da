//! Checks the wiring of an API server: sends one request with a bogus token that must reach both webhooks.
//!
//! The token webhook receives the token, and the audit log has the rejection with the request's path. Token and path
//! contain a random word and the number of the probe: an API server does not ask twice for the same token.
//!
//! Audit events arrive in their order. Those of earlier requests have arrived once that of the probe has.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nodejoin_core::run::time_factor::TimeFactor;
use tokio::sync::watch;

use crate::api_server::access::Access;
use crate::needs::{Lack, Need};

/// Until both webhooks have received the request. An API server that failed to call its audit webhook tries again after
/// ten seconds.
const PROBE_TIMEOUT: Duration = Duration::from_secs(15);

/// The webhooks that have received the probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) token: bool,
    pub(crate) audit: bool,
}

/// One probe at a time, identified by its word and number. The webhooks report what they receive; the prober waits.
#[derive(Debug)]
pub(crate) struct WebhookProbe {
    word: String,
    number: AtomicU32,
    received: watch::Sender<Received>,
}

impl WebhookProbe {
    pub(crate) fn new(word: String) -> Self {
        Self {
            word,
            number: AtomicU32::new(0),
            received: watch::channel(Received::default()).0,
        }
    }

    /// Sends the request and waits until both webhooks have received it, or the timeout has passed.
    pub(crate) async fn probe(&self, access: &Access, factor: TimeFactor) -> Received {
        self.number.fetch_add(1, Ordering::SeqCst);
        self.received.send_replace(Received::default());
        let request = http::Request::get(self.path()).body(Vec::new());
        if let (Some(client), Ok(request)) = (access.with_token(&self.token()).await, request) {
            // The API server rejects the token; the response does not matter.
            let _ = client.request_text(request).await;
        }
        self.received(factor.scale(PROBE_TIMEOUT)).await
    }

    fn token(&self) -> String {
        format!("nodejoin-probe.{}.{}", self.word, self.number())
    }

    fn path(&self) -> String {
        format!("/apis?nodejoin-probe={}.{}", self.word, self.number())
    }

    fn number(&self) -> u32 {
        self.number.load(Ordering::SeqCst)
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
    use nodejoin_core::run::secret::Secret;

    use super::*;

    #[tokio::test]
    async fn only_the_exact_word_counts_as_received() {
        let probe = WebhookProbe::new("abc".to_owned());
        probe.record_token("nodejoin-probe.abd.0");
        probe.record_uri("/apis");
        assert_eq!(probe.received(Duration::ZERO).await, Received::default());
        probe.record_token("nodejoin-probe.abc.0");
        let received = probe.received(Duration::ZERO).await;
        assert_eq!((received.token, received.audit), (true, false));
        let lacks = received.lacks();
        assert_eq!((lacks.len(), lacks[0].need), (1, Need::Audit));
        probe.record_uri("/apis?nodejoin-probe=abc.0");
        assert!(probe.received(Duration::ZERO).await.lacks().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_to_an_earlier_probe_does_not_count() {
        let probe = WebhookProbe::new("abc".to_owned());
        let (token, path) = (probe.token(), probe.path());
        let closed = kube::Config::new("https://127.0.0.1:1".parse().unwrap());
        let access = Access::by_impersonation(closed, Secret::new(String::new()));
        let received = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            probe.record_token(&token);
            probe.record_uri(&path);
        };
        let (probed, ()) = tokio::join!(probe.probe(&access, TimeFactor::ONE), received);
        assert_eq!(probed, Received::default());
    }
}
