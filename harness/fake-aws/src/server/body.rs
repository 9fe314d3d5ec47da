//! The body of a response, complete or cut.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::time::Sleep;

use crate::content::Content;

/// Time for the bytes before a cut to leave: closing the connection at once would drop them.
const FLUSH: Duration = Duration::from_millis(50);

/// The body ends early.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("a fault of the scenario cuts the response")]
    Cut,
    #[error("cannot read the file of an image")]
    Unreadable(#[source] io::Error),
}

#[derive(Debug)]
pub(super) struct ResponseBody {
    content: Content,
    /// Bytes still to be sent.
    left: u64,
    declared: u64,
    cut: Option<Pin<Box<Sleep>>>,
}

impl ResponseBody {
    pub(super) fn complete(content: Content) -> Self {
        let length = content.length();
        Self {
            content,
            left: length,
            declared: length,
            cut: None,
        }
    }

    /// Declares the full length and sends only the first `length` bytes.
    pub(super) fn cut_after(content: Content, length: u64, time_factor: TimeFactor) -> Self {
        let complete = Self::complete(content);
        let left = length.min(complete.declared);
        let cut = (left < complete.declared).then(|| Box::pin(tokio::time::sleep(time_factor.scale(FLUSH))));
        Self {
            left,
            cut,
            ..complete
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.left > 0 {
            let most = self.left;
            let taken = self.content.take(most).map_err(BodyError::Unreadable)?;
            self.left -= taken.len() as u64;
            self.declared -= taken.len() as u64;
            return Poll::Ready(Some(Ok(Frame::data(taken))));
        }
        match &mut self.cut {
            Some(flush) => flush.as_mut().poll(context).map(|()| Some(Err(BodyError::Cut))),
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
