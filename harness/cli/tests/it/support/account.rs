//! An account that the real command serves: started on free ports, asked as its lines say, and never left alone.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::venv;

/// How long something may take that takes milliseconds.
const SOON: Duration = Duration::from_secs(20);

/// The command, with nothing of this process' that it would listen to.
pub fn nodejoin(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodejoin"));
    command.args(arguments).env_remove("NODEJOIN_AWS_FOLDER");
    command
}

/// Both streams of a command.
pub fn both(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// The text of a file.
pub fn file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// An account that is served; it ends with this.
pub struct Served {
    /// What it printed.
    pub lines: Vec<String>,
    child: RefCell<Child>,
    stderr: Arc<Mutex<String>>,
    reader: RefCell<Option<JoinHandle<()>>>,
    home: PathBuf,
    _own: Option<TempDir>,
}

impl Served {
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

    /// Waits until it has said something on standard error.
    pub fn said(&self, words: &str) {
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

    /// What a command of a shell prints after the three lines, with the AWS CLI and boto3 on PATH.
    pub fn cli(&self, command: &str) -> String {
        self.shell(&format!("{}\n{command}", self.lines.join("\n")))
    }

    /// The same of a command that must fail: what it complains of.
    pub fn failing_cli(&self, command: &str) -> String {
        let output = self.run(&format!("{}\n{command}", self.lines.join("\n")));
        assert!(!output.status.success(), "{}", both(&output));
        both(&output)
    }

    /// What a script prints in the folder that the account was started in.
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

    /// Changes the account, and gives what is said of it.
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

    /// Status and body of what curl asks, with the account's authority trusted; 0 where there was no answer.
    pub fn curl(&self, arguments: &[&str]) -> (u16, String) {
        let authority = self.folder().join("ca.pem");
        let output = Command::new("curl")
            .args([
                "--silent",
                "--max-time",
                "10",
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

    /// A token that the AWS CLI makes for a cluster.
    pub fn token(&self, cluster: &str) -> String {
        let credential = self.cli(&format!("aws eks get-token --cluster-name {cluster}"));
        let credential: Value = serde_json::from_str(&credential).unwrap();
        credential["status"]["token"].as_str().unwrap().to_owned()
    }

    /// What the webhook answers to a TokenReview.
    pub fn review(&self, token: &str) -> (u16, Value) {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
        let (status, body) = self.ask_webhook(&["--json", &review.to_string()]);
        (status, serde_json::from_str(&body).unwrap())
    }

    /// What the webhook answers to a request by curl.
    pub fn ask_webhook(&self, arguments: &[&str]) -> (u16, String) {
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

    /// Sends a signal and waits for the end: its exit code.
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
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut child = self.child.borrow_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}
