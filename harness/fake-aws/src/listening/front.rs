//! The beginning of a connection to the one port of an account: TLS at once, or `CONNECT` before it.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::line::Line;
use crate::router::Endpoint;

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// No client sends a longer request for a tunnel.
const LONGEST: usize = 8 * 1024;

/// Whether TLS follows. Whoever asks for something else has been answered by then.
pub(super) async fn is_tls_next(stream: TcpStream) -> io::Result<Option<Line>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut line = Line::new(stream);
    if first == [HANDSHAKE] {
        return Ok(Some(line));
    }
    let answer = answer(&head(&mut line).await?);
    line.write_all(answer.text.as_bytes()).await?;
    if !answer.opens {
        line.shutdown().await?;
    }
    Ok(answer.opens.then_some(line))
}

/// The request line and its headers. Byte by byte: what comes after them is not ours to read.
async fn head(line: &mut Line) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < LONGEST {
        head.push(line.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// What a request in clear text gets.
struct Answer {
    /// Whether TLS follows.
    opens: bool,
    text: String,
}

fn answer(head: &str) -> Answer {
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "CONNECT" {
        return refusal(
            "400 Bad Request",
            "this port speaks TLS, or CONNECT as a proxy does",
        );
    }
    let host = target.rsplit_once(':').map_or(target, |(host, _)| host);
    if Endpoint::of_host(&host.to_ascii_lowercase()).is_none() {
        return refusal("403 Forbidden", &format!("no service of AWS is called {host}"));
    }
    Answer {
        opens: true,
        text: "HTTP/1.1 200 Connection established\r\n\r\n".to_owned(),
    }
}

fn refusal(status: &str, why: &str) -> Answer {
    let body = format!("{why}\n");
    let length = body.len();
    let headers = format!("Content-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close");
    Answer {
        opens: false,
        text: format!("HTTP/1.1 {status}\r\n{headers}\r\n\r\n{body}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tunnels_to_services_of_aws_are_opened() {
        let table = [
            ("CONNECT eks.eu-west-1.amazonaws.com:443 HTTP/1.1\r\n\r\n", "200"),
            ("CONNECT EC2.US-EAST-1.amazonaws.com:443 HTTP/1.1\r\n\r\n", "200"),
            ("CONNECT example.com:443 HTTP/1.1\r\n\r\n", "403"),
            ("CONNECT\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "400"),
            ("", "400"),
        ];
        for (head, status) in table {
            let answer = answer(head);
            let said = answer.text.split(' ').nth(1);
            assert_eq!((said, answer.opens), (Some(status), status == "200"), "{head}");
        }
    }
}
