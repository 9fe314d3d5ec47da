//! `cfn-init`, `cfn-signal` and `cfn-get-metadata` in a node do what those of aws-cfn-bootstrap do.
//!
//! | file | content |
//! | --- | --- |
//! | `requests.rs` | what the tools request, and how they prove themselves |
//! | `sections.rs` | what `cfn-init` applies of each section of a configuration |

mod requests;
mod sections;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

const DOCUMENT: &str = r#"{"instanceId":"i-0abc"}"#;

/// A metadata service, CloudFormation and downloads at one address, which report the first line of each request with
/// its `Authorization`.
struct Service {
    url: String,
    requests: Receiver<String>,
}

impl Service {
    fn start(metadata: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let resource = json!({ "DescribeStackResourceResponse": { "DescribeStackResourceResult": {
            "StackResourceDetail": { "Metadata": metadata.to_string() } } } });
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().unwrap().unwrap();
                let headers: Vec<String> = lines.map(Result::unwrap).take_while(|l| !l.is_empty()).collect();
                let proof = headers
                    .iter()
                    .find_map(|line| line.strip_prefix("Authorization: "));
                let _ = sender.send(format!("{first} {}", proof.unwrap_or_default()));
                let (status, body) = response(first.split(' ').nth(1).unwrap(), &resource);
                let size = body.len();
                let head =
                    format!("HTTP/1.1 {status} x\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(&body).unwrap();
            }
        });
        Self { url, requests }
    }

    /// What was requested from other services than the metadata service.
    fn requests(&self) -> Vec<String> {
        let of_metadata = |request: &String| request.contains(" /latest/");
        self.requests
            .try_iter()
            .filter(|request| !of_metadata(request))
            .collect()
    }
}

fn response(path: &str, resource: &Value) -> (u16, Vec<u8>) {
    let text = |text: &str| (200, text.as_bytes().to_vec());
    match path.split('?').next().unwrap() {
        "/latest/api/token" => text("token"),
        "/latest/meta-data/instance-id" => text("i-0abc"),
        "/latest/meta-data/iam/security-credentials/node" => {
            text(r#"{"AccessKeyId":"ASIA1","SecretAccessKey":"secret","Token":"session"}"#)
        }
        "/latest/dynamic/instance-identity/document" => text(DOCUMENT),
        "/latest/dynamic/instance-identity/signature" => text("signed\nhere"),
        "/" if path.contains("LogicalResourceId=None") => {
            let error =
                json!({ "Error": { "Code": "ValidationError", "Message": "Resource None does not exist" } });
            (400, error.to_string().into_bytes())
        }
        "/" => text(&resource.to_string()),
        "/file" => text("from {{from}}\n"),
        "/archive.tar" => (200, archive()),
        _ => (404, Vec::new()),
    }
}

fn archive() -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(3);
    header.set_mode(0o644);
    archive
        .append_data(&mut header, "agent/version", &b"1.2"[..])
        .unwrap();
    archive.into_inner().unwrap()
}

/// A root folder with the tools, and the programs that they start, which record their arguments.
struct Node(tempfile::TempDir);

impl Node {
    fn new() -> Self {
        let node = Self(tempfile::tempdir().unwrap());
        let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/cfn/tool");
        for tool in ["cfn-init", "cfn-signal", "cfn-get-metadata"] {
            symlink(&guest, node.path(tool)).unwrap();
        }
        fs::create_dir(node.path("bin")).unwrap();
        for (tool, exit) in [
            ("rpm", "[ $1 != -q ]"),
            ("yum", "[ $3 != unknown ]"),
            ("systemctl", "[ $1 != is-active ]"),
            ("groupadd", "true"),
            ("useradd", "true"),
        ] {
            let record = node.path("called").display().to_string();
            let path = node.path("bin").join(tool);
            fs::write(
                &path,
                format!("#!/bin/sh\necho {tool} \"$@\" >> {record}\n{exit}\n"),
            )
            .unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn run(&self, service: &Service, tool: &str, arguments: &[&str]) -> Output {
        let path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new("python3");
        command.arg("-B").arg(self.path(tool)).args(arguments);
        command.args(["--region", "eu-west-1", "--url", &service.url]);
        command
            .env("NODEJOIN_ROOT", self.0.path())
            .env("NODEJOIN_METADATA", &service.url);
        for variable in [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "all_proxy",
        ] {
            command.env_remove(variable);
        }
        command.env("PATH", path).output().unwrap()
    }

    /// Applies an `AWS::CloudFormation::Init`, and returns the exit code and the errors.
    fn init(&self, init: Value, arguments: &[&str]) -> (i32, String) {
        let service = Service::start(&json!({ "AWS::CloudFormation::Init": init }));
        self.init_with(&service, arguments)
    }

    fn init_with(&self, service: &Service, arguments: &[&str]) -> (i32, String) {
        let stack = ["-v", "--stack", "nodes", "-r", "Worker"];
        let output = self.run(service, "cfn-init", &[&stack[..], arguments].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap(), errors)
    }

    #[track_caller]
    fn applies(&self, init: Value, arguments: &[&str]) {
        let (code, errors) = self.init(init, arguments);
        assert_eq!((code, errors.as_str()), (0, ""));
    }

    #[track_caller]
    fn rejects(&self, init: Value, sentence: &str) {
        let (code, errors) = self.init(init, &[]);
        assert!(code == 1 && errors.contains(sentence), "{code} {errors}");
    }
}

fn at(node: &Node, name: &str) -> String {
    node.path(name).display().to_string()
}
