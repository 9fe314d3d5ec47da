//! A server with the layout of the official release server, which can also act as an HTTP proxy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use nodejoin_core::plan::architecture::Architecture;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

pub const PROGRAMS: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kubelet",
    "kubeadm",
    "kubectl",
];

/// A running server.
pub struct ReleaseServer {
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ReleaseServer {
    /// Serves files by path. Every path redirects to `/cdn` plus the path, as the official address does; unknown paths
    /// return 404.
    pub async fn start(files: HashMap<String, Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = requests.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or_default();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let line = request.lines().next().unwrap_or_default().to_owned();
                let response = respond(&files, line.split_whitespace().nth(1).unwrap_or_default());
                received.lock().unwrap().push(line);
                let _ = stream.write_all(&response).await;
            }
        });
        Self { url, requests }
    }

    /// The first lines of all requests.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// `target` is a path, or a URL if the server is used as a proxy.
fn respond(files: &HashMap<String, Vec<u8>>, target: &str) -> Vec<u8> {
    let path = target
        .strip_prefix("http://")
        .map_or(target, |url| &url[url.find('/').unwrap_or(url.len())..]);
    let direct = path.strip_prefix("/cdn").unwrap_or(path);
    match files.get(direct) {
        Some(_) if direct == path => format!(
            "HTTP/1.1 302 Found\r\nlocation: /cdn{path}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
        .into_bytes(),
        Some(body) => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            [head.as_bytes(), body].concat()
        }
        None => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
    }
}

/// The architecture of this machine.
pub fn architecture() -> Architecture {
    std::env::consts::ARCH.parse().unwrap()
}

/// A program that reports this version and whose content is unique.
pub fn program(version: &str) -> Vec<u8> {
    format!(
        "#!/bin/sh\necho Kubernetes {version}\n# {}\n",
        rand::random::<u64>()
    )
    .into_bytes()
}

/// The files of a release for this machine's architecture.
pub fn release(version: &str) -> HashMap<String, Vec<u8>> {
    let mut files = HashMap::new();
    for name in PROGRAMS.into_iter().chain(["kube-scheduler"]) {
        let path = format!("/release/{version}/bin/linux/{}/{name}", architecture().go());
        let content = program(version);
        let checksum = hex::encode(Sha256::digest(&content));
        files.insert(format!("{path}.sha256"), checksum.into_bytes());
        files.insert(path, content);
    }
    files
}
