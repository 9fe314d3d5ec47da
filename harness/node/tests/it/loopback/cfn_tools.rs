//! `cfn-init`, `cfn-signal` and `cfn-get-metadata` in a node do what those of aws-cfn-bootstrap do.

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

#[test]
fn the_instance_proves_itself_with_its_identity_or_a_role() {
    let node = Node::new();
    let service = Service::start(&json!({ "AWS::CloudFormation::Init": { "config": {} } }));
    assert_eq!(node.init_with(&service, &[]), (0, String::new()));
    assert_eq!(node.init_with(&service, &["--role", "node"]), (0, String::new()));
    let requests = service.requests();
    for part in [
        "Action=DescribeStackResource",
        "StackName=nodes",
        "LogicalResourceId=Worker",
    ] {
        assert!(
            requests.iter().all(|request| request.contains(part)),
            "{requests:?}"
        );
    }
    assert!(
        requests[0].ends_with(" CFN_V1 eyJpbnN0YW5jZUlkIjoiaS0wYWJjIn0=:signedhere"),
        "{requests:?}"
    );
    assert!(
        requests[1].contains(" AWS4-HMAC-SHA256 Credential=ASIA1/"),
        "{requests:?}"
    );
    assert!(
        requests[1].contains("/eu-west-1/cloudformation/aws4_request, "),
        "{requests:?}"
    );
}

#[test]
fn errors_of_cloudformation_and_missing_metadata_are_reported() {
    let node = Node::new();
    let service = Service::start(&json!({ "Other": 1 }));
    let read = |resource| node.run(&service, "cfn-init", &["-s", "nodes", "-r", resource]);
    let missing = read("None");
    let errors = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(
        (missing.status.code(), errors.as_str()),
        (
            Some(1),
            "cfn-init: ValidationError: Resource None does not exist\n"
        )
    );
    // As there: a resource without the key is not an error.
    let other = read("Worker");
    let errors = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.success() && errors.contains("Could not find 'AWS::CloudFormation::Init' key"));
    let unknown = node.run(&service, "cfn-init", &["-s", "nodes", "-r", "Worker", "--resume"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn files_have_their_content_mode_and_backup() {
    let node = Node::new();
    let service = Service::start(&json!({}));
    fs::write(node.path("old"), "before").unwrap();
    fs::write(node.path("same"), "same").unwrap();
    node.applies(
        json!({ "config": { "files": {
            at(&node, "folder/plain"): { "content": "a\nb\n", "mode": "000640" },
            at(&node, "object"): { "content": { "a": [1] } },
            at(&node, "encoded"): { "content": "AAEC\n", "encoding": "base64" },
            at(&node, "source"): { "source": format!("{}/file", service.url), "context": { "from": "<a>" } },
            at(&node, "template"): {
                "content": "{{#list}}\n- {{.}} of {{&name}}\n{{/list}}\n{{^none}}end{{/none}} {{{name}}} {{name}}\n",
                "context": { "list": ["x", "y"], "name": "a&b" } },
            at(&node, "link"): { "content": at(&node, "old"), "mode": "120600" },
            at(&node, "old"): { "content": "after" },
            at(&node, "same"): { "content": "same" },
        } } }),
        &[],
    );
    assert_eq!(node.read("folder/plain"), "a\nb\n");
    let mode = fs::metadata(node.path("folder/plain"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640);
    assert_eq!(node.read("object"), r#"{"a": [1]}"#);
    assert_eq!(fs::read(node.path("encoded")).unwrap(), [0, 1, 2]);
    assert_eq!(node.read("source"), "from &lt;a&gt;\n");
    assert_eq!(node.read("template"), "- x of a&b\n- y of a&b\nend a&b a&amp;b\n");
    assert_eq!(fs::read_link(node.path("link")).unwrap(), node.path("old"));
    assert_eq!(
        (node.read("old"), node.read("old.bak")),
        ("after".to_owned(), "before".to_owned())
    );
    assert_eq!(node.read("same.bak"), "same");
}

#[test]
fn downloads_prove_themselves_as_the_metadata_says() {
    let node = Node::new();
    let service = Service::start(&Value::Null);
    let host = service.url.trim_start_matches("http://").to_owned();
    let files = json!({ at(&node, "a"): { "source": format!("{}/file", service.url) },
        at(&node, "b"): { "source": format!("{}/file", service.url), "authentication": "s3" } });
    let metadata = json!({
        "AWS::CloudFormation::Init": { "config": { "files": files,
            "sources": { at(&node, "unpacked"): format!("{}/archive.tar", service.url) } } },
        "AWS::CloudFormation::Authentication": {
            "basic": { "type": "basic", "username": "me", "password": "it", "uris": [host] },
            "s3": { "type": "S3", "roleName": "node", "buckets": ["files"] } } });
    let stack = Service::start(&metadata);
    assert_eq!(node.init_with(&stack, &[]), (0, String::new()));
    assert_eq!(node.read("unpacked/agent/version"), "1.2");
    let requests = service.requests();
    assert!(
        requests[0].ends_with("/archive.tar HTTP/1.1 Basic bWU6aXQ="),
        "{requests:?}"
    );
    assert!(
        requests[1].ends_with("/file HTTP/1.1 Basic bWU6aXQ="),
        "{requests:?}"
    );
    assert!(
        requests[2].contains("/eu-west-1/s3/aws4_request, "),
        "{requests:?}"
    );
}

#[test]
fn commands_run_in_the_order_of_their_names() {
    let node = Node::new();
    let out = at(&node, "out");
    node.applies(
        json!({ "config": { "commands": {
            "20_env": { "command": "echo \"$A $HOME\" >> $OUT", "env": { "A": 1, "OUT": out } },
            "10_cwd": { "command": "pwd -P >> out", "cwd": at(&node, "") },
            "30_list": { "command": ["sh", "-c", "echo $0 >> $1", "list", out], "test": ["true"] },
            "40_test": { "command": format!("echo skipped >> {out}"), "test": "exit 3" },
            "50_ignored": { "command": "echo told; exit 5", "ignoreErrors": "true" },
        } } }),
        &[],
    );
    let folder = node.0.path().canonicalize().unwrap();
    // `env` replaces the environment: there is no `HOME`.
    assert_eq!(node.read("out"), format!("{}\n1 \nlist\n", folder.display()));
    let (log, output) = (
        node.read("var/log/cfn-init.log"),
        node.read("var/log/cfn-init-cmd.log"),
    );
    assert!(log.contains(" [INFO] Command 10_cwd succeeded\n"), "{log}");
    assert!(log.contains(" [INFO] Test failed with code 3\n"), "{log}");
    assert!(
        log.contains(" [ERROR] Command 50_ignored (echo told; exit 5) failed\n"),
        "{log}"
    );
    assert!(
        output.contains("[INFO] \ttold\n") && output.contains("[ERROR] Exited with error code 5\n"),
        "{output}"
    );
    node.rejects(
        json!({ "config": { "commands": { "a": { "command": "exit 1" }, "b": { "command": format!("touch {out}2") } } } }),
        "Error occurred during build: Command a failed\n",
    );
    assert!(!node.path("out2").exists());
}

#[test]
fn packages_groups_users_and_services_go_through_the_tools_of_the_node() {
    let node = Node::new();
    let file = at(&node, "unit.conf");
    node.applies(
        json!({ "config": {
            "services": { "systemd": {
                "changed": { "enabled": true, "ensureRunning": true, "files": [file] },
                "stopped": { "ensureRunning": "false" },
                "started": { "enabled": "false", "ensureRunning": "true", "packages": { "yum": ["other"] } } },
                "sysvinit": { "packaged": { "packages": { "yum": ["jq"] } } } },
            "files": { &file: { "content": "x" } },
            "packages": { "yum": { "jq": [], "git": ["1", "2.0"] }, "rpm": { "agent": "https://host/agent.rpm" } },
            "groups": { "no-such-group": { "gid": "4567" } },
            "users": { "no-such-user": { "uid": 4567, "groups": ["a", "b"], "homeDir": "/srv" } },
        } }),
        &[],
    );
    let expected = "rpm -U --quiet --nosignature --replacepkgs https://host/agent.rpm\n\
                    rpm -q --quiet git-2.0\nyum -y install git-2.0\nrpm -q --quiet jq\nyum -y install jq\n\
                    groupadd -r -g 4567 no-such-group\n\
                    useradd -M -r --shell /sbin/nologin -d /srv -G a,b -u 4567 no-such-user\n\
                    systemctl enable changed\nsystemctl restart changed\n\
                    systemctl disable started\nsystemctl is-active --quiet started\nsystemctl start started\n\
                    systemctl is-active --quiet stopped\nsystemctl restart packaged\n";
    assert_eq!(node.read("called"), expected);
    node.rejects(
        json!({ "config": { "packages": { "yum": { "unknown": [] } } } }),
        "Error occurred during build: Could not successfully install unknown with yum",
    );
}

#[test]
fn config_sets_run_in_their_order_and_may_contain_others() {
    let node = Node::new();
    let echo = |name: &str| json!({ "commands": { "a": { "command": format!("echo {name} >> {}", at(&node, "out")) } } });
    let init = json!({
        "configSets": { "default": [{ "ConfigSet": "first" }, "two"], "first": ["one"], "last": "three" },
        "one": echo("one"), "two": echo("two"), "three": echo("three"), "four": echo("four") });
    node.applies(init.clone(), &[]);
    assert_eq!(node.read("out"), "one\ntwo\n");
    node.applies(init.clone(), &["-c", "last,first"]);
    assert_eq!(node.read("out"), "one\ntwo\nthree\none\n");
    let (code, errors) = node.init(init, &["--configsets", "none"]);
    assert_eq!(
        (code, errors.as_str()),
        (
            1,
            "Error occurred during build: Error: no ConfigSet named none exists\n"
        )
    );
    node.rejects(
        json!({ "configSets": { "default": ["none"] } }),
        "No configuration found with name: none",
    );
    let cycle =
        json!({ "configSets": { "default": [{ "ConfigSet": "a" }], "a": [{ "ConfigSet": "default" }] } });
    node.rejects(cycle, "At least one circular dependency detected");
}

#[test]
fn what_it_does_not_know_is_an_error_before_anything_is_applied() {
    let node = Node::new();
    for (section, expected) in [
        (
            json!({ "file": {} }),
            "unknown section `config.file`, expected one of packages, ",
        ),
        (
            json!({ "commands": { "b": { "comand": "true" } } }),
            "unknown key `config.commands.b.comand`, expected one of ",
        ),
        (
            json!({ "packages": { "apt": { "jq": [] } } }),
            "unknown package manager `config.packages.apt`, expected ",
        ),
        (
            json!({ "services": { "windows": {} } }),
            "unknown service manager `config.services.windows`, ",
        ),
        (
            json!({ "files": { "/a": { "content": { "Fn::Sub": "x" } } } }),
            "has the function Fn::Sub of a template",
        ),
        (
            json!({ "sources": { "/a": "https://github.com/a/b/tarball/main" } }),
            "`config.sources./a` is an archive",
        ),
    ] {
        let mut config = json!({ "files": { at(&node, "written"): { "content": "x" } } });
        for (name, value) in section.as_object().unwrap() {
            config[name] = value.clone();
        }
        node.rejects(json!({ "config": config }), expected);
        node.rejects(
            json!({ "config": config }),
            "cfn-init: nodejoin's stand-in does not know this: ",
        );
        assert!(!node.path("written").exists(), "{expected}");
    }
}

#[test]
fn signals_have_the_id_of_the_instance_and_the_result() {
    let node = Node::new();
    let service = Service::start(&Value::Null);
    for (arguments, status) in [
        (&["-e", "0"][..], "SUCCESS"),
        (&["--exit-code", "3"], "FAILURE"),
        (&["-s", "false"], "FAILURE"),
        (&[], "SUCCESS"),
    ] {
        let stack = ["--stack", "nodes", "--resource", "NodeGroup"];
        let output = node.run(&service, "cfn-signal", &[&stack[..], arguments].concat());
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let [request] = <[String; 1]>::try_from(service.requests()).unwrap();
        for part in [
            "Action=SignalResource",
            "UniqueId=i-0abc",
            &format!("Status={status}&"),
        ] {
            assert!(request.contains(part), "{request}");
        }
    }
}

#[test]
fn metadata_is_printed_whole_or_by_its_key() {
    let node = Node::new();
    let service = Service::start(&json!({ "a": { "b": [1] } }));
    let read = |arguments: &[&str]| {
        let stack = ["-s", "nodes", "-r", "Worker"];
        let output = node.run(&service, "cfn-get-metadata", &[&stack[..], arguments].concat());
        (
            output.status.code(),
            serde_json::from_slice::<Value>(&output.stdout).ok(),
        )
    };
    assert_eq!(read(&[]), (Some(0), Some(json!({ "a": { "b": [1] } }))));
    assert_eq!(read(&["-k", "a.b"]), (Some(0), Some(json!([1]))));
    assert_eq!(read(&["-k", "a.c"]), (Some(1), None));
}
