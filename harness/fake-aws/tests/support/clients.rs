//! Real clients: curl, and the AWS CLI and boto3 in a virtual environment.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use tokio::process::Command;

use super::Fakes;
use super::proxy::Proxy;
use super::venv;

/// What curl saw.
#[derive(Debug, Clone)]
pub struct Curled {
    pub exit: i32,
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Curled {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn lines(&self) -> Vec<String> {
        self.text().lines().map(ToOwned::to_owned).collect()
    }
}

/// Runs curl with these arguments.
pub async fn curl(arguments: &[&str]) -> Curled {
    let folder = tempfile::tempdir().unwrap();
    let (head, body) = (folder.path().join("head"), folder.path().join("body"));
    let output = Command::new("curl")
        .args(["--silent", "--noproxy", "*", "--max-time", "10", "--path-as-is"])
        .args([
            "--dump-header".as_ref(),
            head.as_os_str(),
            "--output".as_ref(),
            body.as_os_str(),
        ])
        .args(arguments)
        .output()
        .await
        .expect("these tests need curl on PATH");
    let head = fs::read_to_string(head).unwrap_or_default();
    let mut lines = head.lines();
    let status_line = lines.next().unwrap_or_default();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    Curled {
        exit: output.status.code().unwrap_or(-1),
        status: status_line
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or(0),
        headers: headers.collect(),
        body: fs::read(body).unwrap_or_default(),
    }
}

/// A session token of the metadata service, by curl.
pub async fn token(fakes: &Fakes) -> String {
    let url = fakes.metadata("/latest/api/token");
    let curled = curl(&[
        "-X",
        "PUT",
        "-H",
        "X-aws-ec2-metadata-token-ttl-seconds: 21600",
        &url,
    ])
    .await;
    assert_eq!(curled.status, 200);
    curled.text()
}

/// A metadata path with a token, by curl.
pub async fn metadata(fakes: &Fakes, token: &str, path: &str) -> Curled {
    curl(&[
        "-H",
        &format!("X-aws-ec2-metadata-token: {token}"),
        &fakes.metadata(path),
    ])
    .await
}

/// Clients of AWS that reach the fakes as they would reach AWS: by the real host names, through a proxy, with the
/// metadata service as the source of credentials.
pub struct AwsClients {
    proxy: Proxy,
    folder: tempfile::TempDir,
    metadata: String,
    python: PathBuf,
}

impl AwsClients {
    pub async fn of(fakes: &Fakes) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), &fakes.server.ca_pem).unwrap();
        let python = tokio::task::spawn_blocking(venv::python).await.unwrap();
        let metadata = format!("http://{}", fakes.server.metadata);
        Self {
            proxy: Proxy::start(fakes.server.tls).await,
            folder,
            metadata,
            python,
        }
    }

    /// The AWS CLI.
    pub async fn cli(&self, arguments: &[&str]) -> Output {
        self.run(self.python.parent().unwrap().join("aws"), arguments, &[])
            .await
    }

    /// The AWS CLI with more in its environment.
    pub async fn cli_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        self.run(self.python.parent().unwrap().join("aws"), arguments, environment)
            .await
    }

    /// Runs a Python program that may import boto3; returns its output.
    pub async fn python(&self, program: &str) -> String {
        let output = self.run(self.python.clone(), &["-c", program], &[]).await;
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    async fn run(&self, program: PathBuf, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        Command::new(program)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("HTTPS_PROXY", &self.proxy.url)
            .env("AWS_CA_BUNDLE", self.folder.path().join("ca.pem"))
            .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", &self.metadata)
            .env("AWS_DEFAULT_REGION", "eu-west-1")
            .env("AWS_PAGER", "")
            .envs(environment.iter().copied())
            .output()
            .await
            .unwrap()
    }
}

/// An AWS host name by curl, as it resolves in a node, with the fakes' certificate authority trusted.
pub async fn curl_host(fakes: &Fakes, arguments: &[&str]) -> Curled {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    fs::write(&ca, &fakes.server.ca_pem).unwrap();
    let to = format!("::{}", fakes.server.tls);
    curl(
        &[
            &["--connect-to", &to, "--cacert", ca.to_str().unwrap()],
            arguments,
        ]
        .concat(),
    )
    .await
}

/// What a client printed; it must have succeeded.
pub fn out(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone())
        .unwrap()
        .trim_end()
        .to_owned()
}

/// What a client complained of; it must have failed.
pub fn error(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// The JSON that a client printed.
pub fn json_of(output: &Output) -> serde_json::Value {
    serde_json::from_str(&out(output)).unwrap()
}
