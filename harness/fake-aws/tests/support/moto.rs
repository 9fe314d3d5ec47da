//! moto from PyPI, an emulator of AWS.
#![allow(dead_code, reason = "each test target uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue ends here")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::venv;

/// A free port is only known once nothing listens on it, so that another program may take it: then moto ends, and the
/// next port is tried.
const TRIES: u32 = 5;
const START: Duration = Duration::from_secs(60);

/// A moto server. Dropping it stops it.
pub struct Moto {
    child: Child,
    pub address: SocketAddr,
}

impl Moto {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts it with more options.
    pub fn start_with(options: &[&str]) -> Self {
        let python = venv::environment("moto", &["moto[server]==5.2.5"]);
        for _ in 0..TRIES {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            let port = address.port().to_string();
            let child = Command::new(python.parent().unwrap().join("moto_server"))
                .args(["--host", "127.0.0.1", "--port", &port])
                .args(options)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut moto = Self { child, address };
            if moto.is_up() {
                return moto;
            }
        }
        panic!("moto did not start");
    }

    /// The response to a GET. moto selects the service by the scope of the signature, and does not check it.
    pub fn get(&self, service: &str, target: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let scope = format!("20260101/eu-west-1/{service}/aws4_request");
        let signature = format!("AWS4-HMAC-SHA256 Credential=a/{scope}, SignedHeaders=host, Signature=0");
        let host = format!("{service}.eu-west-1.amazonaws.com");
        write!(
            stream,
            "GET {target} HTTP/1.0\r\nHost: {host}\r\nAuthorization: {signature}\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn is_up(&mut self) -> bool {
        let until = Instant::now() + START;
        while Instant::now() < until && self.child.try_wait().unwrap().is_none() {
            if TcpStream::connect(self.address).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
