//! A connection whose socket can still be set while somebody else reads and writes it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// One end of a TCP connection. Clones are the same connection; it is closed with the last of them.
#[derive(Debug, Clone)]
pub(super) struct Line(Arc<TcpStream>);

impl Line {
    pub(super) fn new(stream: TcpStream) -> Self {
        // Answers are one write each; waiting for more only delays them.
        let _ = stream.set_nodelay(true);
        Self(Arc::new(stream))
    }

    /// From now on packets survive so many hops. A client that is further away gets nothing, and the connection hangs.
    pub(super) fn set_hops(&self, hops: u8) -> io::Result<()> {
        let socket = SockRef::from(&*self.0);
        if self.0.local_addr()?.is_ipv4() {
            socket.set_ttl_v4(hops.into())
        } else {
            socket.set_unicast_hops_v6(hops.into())
        }
    }

    /// Whoever closes it from now on resets it.
    pub(super) fn reset_at_the_end(&self) -> io::Result<()> {
        SockRef::from(&*self.0).set_linger(Some(Duration::ZERO))
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                // Somebody was told that there is something, and there is not: the next wait is for real.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}
