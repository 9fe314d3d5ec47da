//! A connection whose socket options can change while another task reads and writes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// One end of a TCP connection. Clones share it; dropping the last one closes it.
#[derive(Debug, Clone)]
pub(super) struct SharedSocket(Arc<TcpStream>);

impl SharedSocket {
    pub(super) fn new(stream: TcpStream) -> Self {
        // Each response is one write; Nagle's algorithm would only delay it.
        let _ = stream.set_nodelay(true);
        Self(Arc::new(stream))
    }

    /// Limits the hops of further packets. A client beyond the limit receives nothing, and its connection hangs.
    pub(super) fn set_hop_limit(&self, hops: u8) -> io::Result<()> {
        let socket = SockRef::from(&*self.0);
        if self.0.local_addr()?.is_ipv4() {
            socket.set_ttl_v4(hops.into())
        } else {
            socket.set_unicast_hops_v6(hops.into())
        }
    }

    /// Makes the close of the connection a reset.
    pub(super) fn reset_on_close(&self) -> io::Result<()> {
        SockRef::from(&*self.0).set_linger(Some(Duration::ZERO))
    }
}

impl AsyncRead for SharedSocket {
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
                // Readiness can be stale; `try_read` has cleared it, so that the next wait is real.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for SharedSocket {
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
