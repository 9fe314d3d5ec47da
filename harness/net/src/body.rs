//! Reads the body of an HTTP message up to a size limit.

use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body;

/// A client that sends this many bytes past the limit is cut off.
const MAX_DRAINED: usize = 64 * 1024 * 1024;

/// Reads a body of at most `limit` bytes; returns `None` for a longer one. The rest of a longer body is drained:
/// closing while the client still sends would reset the connection and lose our error response.
///
/// # Errors
/// The connection ends before the body does, or the body's framing is not HTTP.
pub async fn read_body<B>(mut body: B, limit: usize) -> Result<Option<Bytes>, B::Error>
where
    B: Body + Unpin,
{
    let (mut kept, mut length) = (BytesMut::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        length += bytes::Buf::remaining(&data);
        if length <= limit {
            kept.put(data);
        } else if length > limit.saturating_add(MAX_DRAINED) {
            break;
        }
    }
    Ok((length <= limit).then(|| kept.freeze()))
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;

    /// Sends `remaining` chunks of `chunk` bytes.
    struct Chunks {
        chunk: usize,
        remaining: usize,
    }

    impl Body for Chunks {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            if self.remaining == 0 {
                return Poll::Ready(None);
            }
            self.remaining -= 1;
            Poll::Ready(Some(Ok(Frame::data(vec![b'x'; self.chunk].into()))))
        }
    }

    #[tokio::test]
    async fn a_body_of_the_limit_is_returned() {
        let body = Chunks {
            chunk: 2,
            remaining: 3,
        };
        assert_eq!(read_body(body, 6).await.unwrap().unwrap(), "xxxxxx");
    }

    #[tokio::test]
    async fn a_longer_body_is_drained_and_dropped() {
        let mut body = Chunks {
            chunk: 2,
            remaining: 1000,
        };
        assert!(read_body(&mut body, 6).await.unwrap().is_none());
        assert_eq!(body.remaining, 0);
    }

    #[tokio::test]
    async fn draining_ends_after_64_mebibytes() {
        let mut body = Chunks {
            chunk: 1024 * 1024,
            remaining: 100,
        };
        assert!(read_body(&mut body, 0).await.unwrap().is_none());
        assert_eq!(body.remaining, 100 - 65);
    }
}
