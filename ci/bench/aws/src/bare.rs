//! The upper bound of hyper: a handler with one constant response.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};

/// Answers every request with this response until the process ends.
pub(crate) async fn serve(answer: Response<Bytes>) -> std::io::Result<SocketAddr> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = socket.listen(1024)?;
    let address = listener.local_addr()?;
    tokio::spawn(accept(listener, answer));
    Ok(address)
}

async fn accept(listener: TcpListener, answer: Response<Bytes>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |_| {
                let answer = answer.clone().map(Full::new);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut server = http1::Builder::new();
            server.title_case_headers(true).half_close(true);
            // A client that disconnects does not matter to the benchmark.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
