//! The start of a connection to the services' port of an account: TLS, or a `CONNECT` request before it.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::shared_socket::SharedSocket;
use crate::endpoint::HostName;

/// The first byte of a TLS handshake.
pub(super) const HANDSHAKE: u8 = 0x16;
/// Limit of a request's head.
const MAX_HEAD: usize = 8 * 1024;
/// Limit of a request's headers: curl and the SDKs send fewer than ten.
const MAX_HEADERS: usize = 64;
pub(super) const ESTABLISHED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// Accepts a TLS handshake, or a tunnel to an AWS service. Returns the socket when TLS follows; any other request has
/// its response by then.
pub(super) async fn accept_tunnel(
    stream: TcpStream,
    is_answered: impl Fn(&str) -> bool,
) -> io::Result<Option<SharedSocket>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut socket = SharedSocket::new(stream);
    if first == [HANDSHAKE] {
        return Ok(Some(socket));
    }
    match check(&read_head(&mut socket).await?, is_answered) {
        Ok(()) => {
            socket.write_all(ESTABLISHED.as_bytes()).await?;
            Ok(Some(socket))
        }
        Err(refusal) => {
            socket.write_all(refusal.as_bytes()).await?;
            socket.shutdown().await?;
            Ok(None)
        }
    }
}

/// Reads the request line and the headers, byte by byte: the bytes after them belong to TLS.
pub(super) async fn read_head(socket: &mut SharedSocket) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_HEAD {
        head.push(socket.read_u8().await?);
    }
    Ok(head)
}

/// The end of a tunnel that a client requests.
#[derive(Debug)]
pub(super) struct Target {
    /// Host name in lower case, or an address.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Target {
    /// Reads a `CONNECT` request; `None` for anything else.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let is_complete = matches!(request.parse(head), Ok(httparse::Status::Complete(_)));
        let (true, Some("CONNECT"), Some(target)) = (is_complete, request.method, request.path) else {
            return None;
        };
        let (host, port) = target.rsplit_once(':').unwrap_or((target, "443"));
        Some(Self {
            host: host.to_ascii_lowercase(),
            port: port.parse().ok()?,
        })
    }
}

/// Accepts `CONNECT` to an AWS service, and to a host that the account answers. The error is the response to any other
/// request.
fn check(head: &[u8], is_answered: impl Fn(&str) -> bool) -> Result<(), String> {
    let Some(Target { host, .. }) = Target::of(head) else {
        return Err(refusal(
            "400 Bad Request",
            "this port accepts TLS, or CONNECT as a proxy does",
        ));
    };
    if HostName::parse(&host).is_some() || is_answered(&host) {
        return Ok(());
    }
    Err(refusal(
        "403 Forbidden",
        &format!("{host} is not the host name of an AWS service: `aws.answers` can answer it"),
    ))
}

pub(super) fn refusal(status: &str, reason: &str) -> String {
    let body = format!("{reason}\n");
    let length = body.len();
    let headers = format!("Content-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close");
    format!("HTTP/1.1 {status}\r\n{headers}\r\n\r\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_lead_to_aws_services_only() {
        let table = [
            ("CONNECT eks.eu-west-1.amazonaws.com:443 HTTP/1.1\r\n\r\n", None),
            (
                "CONNECT EC2.US-EAST-1.amazonaws.com:443 HTTP/1.1\r\nHost: x\r\nUser-Agent: curl\r\n\r\n",
                None,
            ),
            ("CONNECT ssm.eu-west-1.amazonaws.com:443 HTTP/1.1\r\n\r\n", None),
            ("CONNECT example.com:443 HTTP/1.1\r\n\r\n", Some("403")),
            ("CONNECT own.example.com:443 HTTP/1.1\r\n\r\n", None),
            (
                "CONNECT eks.eu-west-1.amazonaws.com:443 HTTP/1.1\r\n",
                Some("400"),
            ),
            ("CONNECT\r\n\r\n", Some("400")),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", Some("400")),
            ("", Some("400")),
        ];
        for (head, status) in table {
            let refused = check(head.as_bytes(), |host| host == "own.example.com").err();
            let refused = refused.as_deref().and_then(|response| response.split(' ').nth(1));
            assert_eq!(refused, status, "{head}");
        }
    }
}
