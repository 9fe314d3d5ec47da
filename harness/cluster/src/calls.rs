//! Whether an API server calls the harness at all: seen by a question of which both webhooks must hear.
//!
//! One request to the API server with a token that nobody has: its token webhook is asked about the token, and the refusal stands
//! in the audit log with its path. The token and the path hold a word that was made up for this.

use std::time::Duration;

use tokio::sync::watch;

use crate::needs::{Lack, Need};

/// What was heard of the word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) token: bool,
    pub(crate) audit: bool,
}

/// A word that is listened for. The webhooks tell; whoever asked waits.
#[derive(Debug)]
pub(crate) struct Calls {
    word: String,
    heard: watch::Sender<Heard>,
}

impl Calls {
    /// Listens for a word that nobody else says.
    pub(crate) fn listen(word: String) -> Self {
        Self {
            word,
            heard: watch::channel(Heard::default()).0,
        }
    }

    /// The token to ask the API server with.
    pub(crate) fn token(&self) -> String {
        format!("nodejoin-probe.{}", self.word)
    }

    /// The path to ask the API server for.
    pub(crate) fn path(&self) -> String {
        format!("/apis?nodejoin-probe={}", self.word)
    }

    pub(crate) fn note_token(&self, token: &str) {
        if token == self.token() {
            self.heard.send_modify(|heard| heard.token = true);
        }
    }

    pub(crate) fn note_request(&self, uri: &str) {
        if uri == self.path() {
            self.heard.send_modify(|heard| heard.audit = true);
        }
    }

    /// What was heard when both were, or the limit has passed.
    pub(crate) async fn heard(&self, limit: Duration) -> Heard {
        let mut heard = self.heard.subscribe();
        let both = heard.wait_for(|heard| heard.token && heard.audit);
        let _ = tokio::time::timeout(limit, both).await;
        *self.heard.borrow()
    }
}

/// What an API server lacks of which this was heard.
pub(crate) fn lacks(heard: Heard) -> Vec<Lack> {
    let lack = |need, flag: &str| Lack {
        need,
        why: format!(
            "it did not call nodejoin when it was asked to; its flag `--{flag}` must name a file of `nodejoin wiring`, and the \
             run must be given that folder with `--wiring`"
        ),
    };
    [
        (
            heard.token,
            lack(Need::Tokens, "authentication-token-webhook-config-file"),
        ),
        (heard.audit, lack(Need::Audit, "audit-webhook-config-file")),
    ]
    .into_iter()
    .filter_map(|(is_heard, lack)| (!is_heard).then_some(lack))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_word_counts() {
        let calls = Calls::listen("abc".to_owned());
        calls.note_token("nodejoin-probe.abd");
        calls.note_request("/apis");
        assert_eq!(calls.heard(Duration::ZERO).await, Heard::default());
        calls.note_token("nodejoin-probe.abc");
        let heard = calls.heard(Duration::ZERO).await;
        assert_eq!((heard.token, heard.audit), (true, false));
        let lacks = lacks(heard);
        assert_eq!((lacks.len(), lacks[0].need), (1, Need::Audit));
        calls.note_request("/apis?nodejoin-probe=abc");
        assert!(super::lacks(calls.heard(Duration::ZERO).await).is_empty());
    }
}
