//! Requests to hosts outside, by curl and wget.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use nodejoin_core::observation::CalledService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::support::Fakes;
use crate::support::clients::{Curled, curl, curl_host};

const BYTES: &[u8] = b"\x1f\x8b\xff0123456789";

/// Fakes with recorded URLs, each with the same file.
fn fakes(urls: &[&str]) -> (Fakes, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.tar.gz");
    std::fs::write(&file, BYTES).unwrap();
    let fakes = Fakes::start(|world| {
        for url in urls {
            world
                .outside
                .insert((*url).to_owned(), file.display().to_string());
        }
    });
    (fakes, folder)
}

/// A request on port 80, as the rules of a node redirect it.
async fn curl_http(fakes: &Fakes, arguments: &[&str]) -> Curled {
    let to = format!("::{}", fakes.server.tls);
    curl(&[&["--connect-to", &to], arguments].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_urls_have_their_file_over_https_and_http() {
    let (mut fakes, _folder) = fakes(&[
        "https://downloads.example.com/agent/*",
        "http://mirror.example.com/agent.tar.gz?v=2",
    ]);
    let https = "https://downloads.example.com/agent/1/agent.tar.gz";
    let http = "http://mirror.example.com/agent.tar.gz?v=2";
    let whole = curl_host(&fakes, &[https]).await;
    assert_eq!((whole.status, whole.body.as_slice()), (200, BYTES));
    assert_eq!(
        (whole.header("content-length"), whole.header("content-type")),
        (Some("13"), Some("application/octet-stream"))
    );
    let head = curl_host(&fakes, &["--head", https]).await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("13")));
    let part = curl_host(&fakes, &["--range", "3-5", https]).await;
    assert_eq!((part.status, part.body.as_slice()), (206, &b"012"[..]));
    assert_eq!(part.header("content-range"), Some("bytes 3-5/13"));
    let clear = curl_http(&fakes, &[http]).await;
    assert_eq!((clear.status, clear.body.as_slice()), (200, BYTES));
    let calls = fakes.calls();
    let seen: Vec<_> = calls
        .iter()
        .map(|call| (call.operation.as_str(), call.status, call.known))
        .collect();
    assert_eq!(
        seen,
        [
            (format!("GET {https}").as_str(), 200, true),
            (format!("HEAD {https}").as_str(), 200, true),
            (format!("GET {https}").as_str(), 206, true),
            (format!("GET {http}").as_str(), 200, true),
        ]
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_names_the_addresses_of_urls_and_of_the_user_data() {
    let (mut fakes, _folder) = fakes(&["https://203.0.113.7/agent.tar.gz"]);
    let _other = fakes.add(Ipv4Addr::new(127, 0, 0, 2), |world| {
        world.instance.id = "i-0fedcba9876543210".parse().unwrap();
        world.user_data = Some(b"curl https://203.0.113.9/x".to_vec());
    });
    let recorded = curl_host(&fakes, &["https://203.0.113.7/agent.tar.gz"]).await;
    assert_eq!((recorded.status, recorded.body.as_slice()), (200, BYTES));
    // Empty reply from server.
    let refused = curl_host(&fakes, &["https://203.0.113.9/x"]).await;
    assert_eq!(refused.exit, 52);
    // The certificate has another name.
    let unknown = curl_host(&fakes, &["https://203.0.113.10/x"]).await;
    assert_eq!(unknown.exit, 60);
    let calls = fakes.calls();
    let seen: Vec<_> = calls.iter().map(|call| call.operation.as_str()).collect();
    assert_eq!(
        seen,
        [
            "GET https://203.0.113.7/agent.tar.gz",
            "GET https://203.0.113.9/x"
        ]
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_request_ends_at_once_with_its_url_in_the_transcript() {
    let (mut fakes, _folder) = fakes(&["https://downloads.example.com/agent.tar.gz"]);
    let started = Instant::now();
    let requests = [
        ("GET", "https://downloads.example.com/other?token=1"),
        ("POST", "https://downloads.example.com/agent.tar.gz"),
        ("GET", "https://registry.k8s.io/v2/"),
        ("GET", "http://downloads.example.com/agent.tar.gz"),
    ];
    for (method, url) in requests {
        let arguments = ["--request", method, url];
        let refused = match url.starts_with("https") {
            true => curl_host(&fakes, &arguments).await,
            false => curl_http(&fakes, &arguments).await,
        };
        // Empty reply from server.
        assert_eq!((refused.exit, refused.status), (52, 0), "{url}");
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    let seen: Vec<_> = fakes
        .calls()
        .into_iter()
        .map(|call| (call.service, call.operation, call.status, call.known))
        .collect();
    let expected = requests.map(|(method, url)| {
        let operation = format!("{method} {url}");
        (CalledService::Outside, operation, 0, false)
    });
    assert_eq!(seen, expected);
    fakes.end().await;
}

/// A proxy with `https://` in its URL: TLS comes before CONNECT.
#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_expects_tls_is_refused_with_its_target_in_the_transcript() {
    let (mut fakes, _folder) = fakes(&[]);
    let at = fakes.server.tls;
    let name = format!("proxy.example.com:{}", at.port());
    let resolve = format!("{name}:{}", at.ip());
    let proxy = format!("https://{name}");
    let arguments = [
        "--noproxy",
        "",
        "--resolve",
        &resolve,
        "--proxy",
        &proxy,
        "--proxy-insecure",
    ];
    let refused = curl(&[&arguments[..], &["https://ec2.eu-west-1.amazonaws.com/"]].concat()).await;
    assert_ne!(refused.exit, 0);
    let [call] = &fakes.calls()[..] else {
        panic!("one request");
    };
    assert_eq!(
        (call.service, call.operation.as_str(), call.status),
        (
            CalledService::Outside,
            "CONNECT ec2.eu-west-1.amazonaws.com:443",
            501
        )
    );
    assert!(call.is_to_tls_proxy() && call.is_refused_outside(), "{call:?}");
    fakes.end().await;
}

/// The body of an upload may never come.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_does_not_wait_for_the_body() {
    let (fakes, _folder) = fakes(&[]);
    let mut stream = TcpStream::connect(fakes.server.tls).await.unwrap();
    let head = "POST /upload HTTP/1.1\r\nHost: logs.example.com\r\nContent-Length: 1000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut response)).await;
    // A reset or an end; in any case no response.
    assert!(ended.is_ok() && response.is_empty(), "{response:?}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_the_scenario_come_first() {
    let (mut fakes, _folder) = {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, BYTES).unwrap();
        let answers = serde_json::json!([{ "host": "downloads.example.com", "status": 503, "times": 1 }]);
        let fakes = Fakes::start(|world| {
            let url = "https://downloads.example.com/x".to_owned();
            world.outside.insert(url, file.display().to_string());
            world.aws.answers = serde_json::from_value(answers).unwrap();
        });
        (fakes, folder)
    };
    let url = "https://downloads.example.com/x";
    assert_eq!(curl_host(&fakes, &[url]).await.status, 503);
    assert_eq!(curl_host(&fakes, &[url]).await.status, 200);
    let answers: Vec<_> = fakes.calls().iter().map(|call| call.answer).collect();
    assert_eq!(answers, [Some(0), None]);
    fakes.end().await;
}

/// A rule of the diagnosis recognizes what clients print.
#[tokio::test(flavor = "multi_thread")]
async fn clients_say_that_the_connection_closed_without_a_response() {
    let (fakes, _folder) = fakes(&[]);
    let port = fakes.server.tls.port();
    let url = format!("http://localhost.example.com:{port}/x");
    let resolve = format!("localhost.example.com:{port}:127.0.0.1");
    let curl = Command::new("curl")
        .args(["-sS", "--noproxy", "*", "--resolve", &resolve, &url])
        .output();
    let program = format!(
        "import http.client\nc = http.client.HTTPConnection('127.0.0.1', {port})\n\
         c.request('GET', '/x', headers={{'Host': 'downloads.example.com'}})\nc.getresponse()"
    );
    let python = Command::new("python3").args(["-c", &program]).output();
    for (output, words) in [
        (curl.await, "curl: (52) Empty reply from server"),
        (python.await, "Remote end closed connection without response"),
    ] {
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(words), "{text}");
    }
    fakes.end().await;
}
