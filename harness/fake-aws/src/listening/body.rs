//! The body of an answer, whole or cut off.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

/// Time that the bytes before a cut get to leave: the connection's end would take them along.
const FLUSH: Duration = Duration::from_millis(50);

/// The answer ends here, as a fault demands.
#[derive(Debug, thiserror::Error)]
#[error("the answer is cut off, as the scenario's fault says")]
pub(super) struct Cut;

/// The body of an answer.
#[derive(Debug)]
pub(super) struct AnswerBody {
    left: Bytes,
    declared: u64,
    cut: Option<Pin<Box<Sleep>>>,
}

impl AnswerBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self {
            declared: bytes.len() as u64,
            left: bytes,
            cut: None,
        }
    }

    /// Declares all bytes and sends the first ones.
    pub(super) fn cut_after(bytes: &Bytes, length: u64) -> Self {
        let sent = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
        let cut = (sent < bytes.len()).then(|| Box::pin(tokio::time::sleep(FLUSH)));
        Self {
            declared: bytes.len() as u64,
            left: bytes.slice(..sent),
            cut,
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if !self.left.is_empty() {
            let bytes = std::mem::take(&mut self.left);
            self.declared -= bytes.len() as u64;
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match &mut self.cut {
            Some(flush) => flush.as_mut().poll(context).map(|()| Some(Err(Cut))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.cut.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.declared)
    }
}
