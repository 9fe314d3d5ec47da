//! The body of an answer, whole or cut off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::content::Content;

/// Time that the bytes before a cut get to leave: the connection's end would take them along.
const FLUSH: Duration = Duration::from_millis(50);

/// Why an answer ends before its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    /// A fault demands it.
    #[error("the answer is cut off, as the scenario's fault says")]
    Cut,
    /// The file that it stands in cannot be read.
    #[error("reading the file of an image")]
    Unread(#[source] io::Error),
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct AnswerBody {
    content: Content,
    /// How many bytes of it are still to be sent.
    left: u64,
    declared: u64,
    cut: Option<Pin<Box<Sleep>>>,
}

impl AnswerBody {
    pub(super) fn whole(content: Content) -> Self {
        let length = content.length();
        Self {
            content,
            left: length,
            declared: length,
            cut: None,
        }
    }

    /// Declares all bytes and sends the first ones.
    pub(super) fn cut_after(content: Content, length: u64) -> Self {
        let whole = Self::whole(content);
        let left = length.min(whole.declared);
        let cut = (left < whole.declared).then(|| Box::pin(tokio::time::sleep(FLUSH)));
        Self { left, cut, ..whole }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Ended;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Ended>>> {
        if self.left > 0 {
            let most = self.left;
            let taken = self.content.take(most).map_err(Ended::Unread)?;
            self.left -= taken.len() as u64;
            self.declared -= taken.len() as u64;
            return Poll::Ready(Some(Ok(Frame::data(taken))));
        }
        match &mut self.cut {
            Some(flush) => flush.as_mut().poll(context).map(|()| Some(Err(Ended::Cut))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0 && self.cut.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.declared)
    }
}
