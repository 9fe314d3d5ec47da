//! The sending end of a run's event stream.

use nodejoin_core::run::event::RunEvent;
use tokio::sync::mpsc;

/// Clones send into the same stream. The stream ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Events {
    sender: mpsc::UnboundedSender<RunEvent>,
}

impl Events {
    /// Creates a stream and its receiving end.
    #[must_use]
    pub fn stream() -> (Self, mpsc::UnboundedReceiver<RunEvent>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender }, receiver)
    }

    /// Sends one event. Ignores a closed receiver: the run still has to be torn down.
    pub fn send(&self, event: RunEvent) {
        let _ = self.sender.send(event);
    }
}
