//! An account that the real command serves on free ports. Dropping it stops the command.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::both;
use crate::venv;

/// Timeout of operations that take milliseconds.
const SOON: Duration = Duration::from_secs(20);

/// The command in a closed environment.
pub fn nodejoin(arguments: &[&str]) -> Command {
    let mut command = super::closed_command();
    command.args(arguments);
    command
}

/// The text of a file.
pub fn file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A running account. Dropping it stops the account.
pub struct RunningAccount {
    /// What it printed.
    pub lines: Vec<String>,
    child: RefCell<Child>,
    stderr: Arc<Mutex<String>>,
    reader: RefCell<Option<JoinHandle<()>>>,
    home: PathBuf,
    _own: Option<TempDir>,
}

impl RunningAccount {
    /// Serves an account file.
    pub fn of(account: &str) -> Self {
        Self::with(account, &[])
    }

    /// The same with more arguments.
    pub fn with(account: &str, more: &[&str]) -> Self {
        let own = TempDir::new().unwrap();
        let mut served = Self::at(own.path(), account, more);
        served._own = Some(own);
        served
    }

    /// The same in a folder of the caller's.
    pub fn at(home: &Path, account: &str, more: &[&str]) -> Self {
        std::fs::write(home.join("account.yaml"), account).unwrap();
        let free = [
            "--metadata",
            "127.0.0.1:0",
            "--services",
            "127.0.0.1:0",
            "--webhook",
            "127.0.0.1:0",
        ];
        let mut child = nodejoin(&[&["aws", "account.yaml"], &free[..], more].concat())
            .current_dir(home)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let (kept, mut from) = (Arc::clone(&stderr), BufReader::new(child.stderr.take().unwrap()));
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            while from.read_line(&mut line).is_ok_and(|read| read > 0) {
                kept.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        let out = BufReader::new(child.stdout.take().unwrap());
        let lines: Vec<String> = out.lines().map_while(Result::ok).take(3).collect();
        assert_eq!(lines.len(), 3, "{}", stderr.lock().unwrap());
        Self {
            lines,
            child: RefCell::new(child),
            stderr,
            reader: RefCell::new(Some(reader)),
            home: home.to_owned(),
            _own: None,
        }
    }

    /// The folder that it was started in.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder with its files.
    pub fn folder(&self) -> PathBuf {
        self.home.join("nodejoin-aws")
    }

    /// The port of its metadata service (0) or of its services (1).
    pub fn port(&self, line: usize) -> String {
        let url = self.lines[line].split("http://127.0.0.1:").nth(1).unwrap();
        url.chars().take_while(char::is_ascii_digit).collect()
    }

    /// Addresses of the metadata services of all instances.
    pub fn metadata_addresses(&self) -> Vec<String> {
        let env = file(&self.folder().join("env"));
        let lines = env.lines();
        let mut addresses: Vec<String> = lines
            .filter_map(|line| line.split("METADATA_SERVICE_ENDPOINT=http://").nth(1))
            .map(str::to_owned)
            .collect();
        addresses.sort_by_key(|address| !self.lines[0].ends_with(address.as_str()));
        addresses
    }

    /// As [`Self::cli`], on the instance with this index.
    pub fn cli_as(&self, instance: usize, command: &str) -> String {
        self.cli(&self.on(instance, command))
    }

    /// As [`Self::failing_cli`], on the instance with this index.
    pub fn failing_cli_as(&self, instance: usize, command: &str) -> String {
        self.failing_cli(&self.on(instance, command))
    }

    fn on(&self, instance: usize, command: &str) -> String {
        let address = &self.metadata_addresses()[instance];
        format!("export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://{address}\n{command}")
    }

    /// Waits until standard error contains a text.
    pub fn wait_for_log(&self, words: &str) {
        let until = Instant::now() + SOON;
        while !self.stderr.lock().unwrap().contains(words) {
            assert!(
                Instant::now() < until,
                "`{words}` is not in:\n{}",
                self.stderr.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Output of a shell command after the printed variables, with the AWS CLI and boto3 on PATH.
    pub fn cli(&self, command: &str) -> String {
        self.shell(&format!("{}\n{command}", self.lines.join("\n")))
    }

    /// Both streams of a shell command that must fail.
    pub fn failing_cli(&self, command: &str) -> String {
        let output = self.run(&format!("{}\n{command}", self.lines.join("\n")));
        assert!(!output.status.success(), "{}", both(&output));
        both(&output)
    }

    /// Output of a script in the folder that the account was started in.
    pub fn shell(&self, script: &str) -> String {
        let output = self.run(script);
        assert!(output.status.success(), "{script}\n{}", both(&output));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn run(&self, script: &str) -> Output {
        let python = venv::python();
        let path = std::env::var("PATH").unwrap();
        Command::new("sh")
            .args(["-c", script])
            .current_dir(&self.home)
            .env_clear()
            .env("PATH", format!("{}:{path}", python.parent().unwrap().display()))
            .env("HOME", &self.home)
            .env("AWS_PAGER", "")
            .output()
            .unwrap()
    }

    /// Changes the account and returns the output.
    pub fn set(&self, arguments: &[&str]) -> String {
        let output = nodejoin(&[&["aws", "set"], arguments].concat())
            .current_dir(&self.home)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", both(&output));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Status and body of a path of the metadata service.
    pub fn metadata(&self, path: &str, more: &[&str]) -> (u16, String) {
        let url = format!("http://127.0.0.1:{}/latest/{path}", self.port(0));
        self.curl(&[more, &[&url]].concat())
    }

    /// Status and body of a curl request that trusts the account's authority; status 0 means no response.
    pub fn curl(&self, arguments: &[&str]) -> (u16, String) {
        let authority = self.folder().join("ca.pem");
        let output = Command::new("curl")
            .args([
                "--silent",
                // The keys of an instance are made at its first signature, which takes long beside other work.
                "--max-time",
                "60",
                "--write-out",
                "\n%{http_code}",
                "--cacert",
            ])
            .arg(authority)
            .args(arguments)
            .output()
            .expect("these tests need curl on PATH");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    /// A token of the AWS CLI for a cluster.
    pub fn token(&self, cluster: &str) -> String {
        let credential = self.cli(&format!("aws eks get-token --cluster-name {cluster}"));
        let credential: Value = serde_json::from_str(&credential).unwrap();
        credential["status"]["token"].as_str().unwrap().to_owned()
    }

    /// The webhook's response to a TokenReview.
    pub fn review(&self, token: &str) -> (u16, Value) {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
        let (status, body) = self.call_webhook(&["--json", &review.to_string()]);
        (status, serde_json::from_str(&body).unwrap())
    }

    /// The webhook's response to a curl request.
    pub fn call_webhook(&self, arguments: &[&str]) -> (u16, String) {
        let kubeconfig = file(&self.folder().join("webhook.kubeconfig"));
        let server = kubeconfig
            .split("server: ")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap();
        self.curl(&[arguments, &[server]].concat())
    }

    /// Sends a signal and returns the exit code.
    pub fn end(&self, signal: &str) -> Option<i32> {
        let pid = self.child.borrow().id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let code = self.wait();
        self.reader.take().unwrap().join().unwrap();
        let stderr = self.stderr.lock().unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        code
    }

    fn wait(&self) -> Option<i32> {
        let until = Instant::now() + SOON;
        loop {
            if let Some(status) = self.child.borrow_mut().try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "the account does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for RunningAccount {
    fn drop(&mut self) {
        let mut child = self.child.borrow_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}
