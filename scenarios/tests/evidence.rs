//! The evidence of a failed join is a folder that people attach to tickets: it must hold what they need, and no
//! credential.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::{Plan, UserDataPlan};

/// Files that a reader looks for.
const WANTED: &[&str] = &[
    "explain.txt",
    "verdict.json",
    "timeline.ndjson",
    "aws.ndjson",
    "audit.ndjson",
    "node.json",
    "certificates.json",
    "control-plane.log",
    "node/journal.log",
    "node/kubelet.log",
    "node/kubelet-argv.txt",
    "node/cloud-init-output.log",
    "index.json",
    "user-data/user-data.txt",
    "user-data/parts/part-001",
    "node/scripts/part-001",
    "node/logs/var/log/user-data.log",
    "node/versions.txt",
    "index.html",
    "../run.json",
    "../index.html",
];

/// User data that prints every credential that a node can get at.
const TELLTALE: &str = include_str!("telltale.sh");

/// A scenario that joins, prints its credentials, and fails, so that every part of its evidence has content.
pub(crate) fn failing(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let engine = plan
        .user_data
        .as_ref()
        .map(|user_data| user_data.engine)
        .unwrap_or_default();
    plan.user_data = Some(UserDataPlan {
        engine,
        base64: BASE64_STANDARD.encode(TELLTALE),
        gzip: false,
        replace: None,
        is_translated: false,
    });
    plan.id = "evidence".parse().expect("a word is a scenario id");
    plan.expect.kubelet.get_or_insert_default().argv = vec!["--no-such-flag".to_owned()];
    plan
}

/// What is wrong with the evidence.
pub(crate) fn faults(folder: &Path, verdict: &Verdict) -> Vec<String> {
    let mut faults = Vec::new();
    if verdict.outcome != Outcome::Failed {
        faults.push(format!("the verdict is {:?}, not failed", verdict.outcome));
    }
    faults.extend(
        WANTED
            .iter()
            .filter(|name| is_empty(&folder.join(name)))
            .map(|name| format!("`{name}` is missing or empty")),
    );
    for file in files(folder) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned();
        // The kind of the secret, never the secret.
        faults.extend(credentials(&text).map(|kind| format!("`{}` holds {kind}", file.display())));
    }
    faults
}

/// What it is, how it starts, and what it goes on with.
type Credential = (&'static str, &'static str, fn(char) -> bool);

/// Starts of credentials and what a credential would go on with. Looked for independently of the code that takes them
/// out.
const CREDENTIALS: &[Credential] = &[
    ("a token of the authenticator", "k8s-aws-v1.", |c| {
        c.is_ascii_alphanumeric()
    }),
    ("a private key", "PRIVATE KEY-----\n", |c| {
        c.is_ascii_alphanumeric()
    }),
    // An RSA key in base64, printed line by line.
    ("a line of a private key", "\"message\":\"MII", |c| {
        c.is_ascii_alphanumeric() || c == '+' || c == '/'
    }),
    ("a secret access key", "SecretAccessKey\" : \"", |c| {
        c.is_ascii_alphanumeric()
    }),
    ("a session token", "\"Token\" : \"", |c| c.is_ascii_alphanumeric()),
    ("a password of the registry", "AWS:eyJ", |c| {
        c.is_ascii_alphanumeric()
    }),
    ("a signature", "X-Amz-Signature=", |c| c.is_ascii_hexdigit()),
];

fn credentials(text: &str) -> impl Iterator<Item = &'static str> {
    // JSON files hold texts with escaped quotes and line ends.
    let plain = text.replace("\\\"", "\"").replace("\\n", "\n");
    CREDENTIALS.iter().filter_map(move |(kind, start, goes_on)| {
        let mut places = plain.match_indices(start);
        places
            .any(|(at, _)| plain[at + start.len()..].chars().take(12).all(goes_on))
            .then_some(*kind)
    })
}

fn is_empty(file: &Path) -> bool {
    std::fs::metadata(file).map_or(true, |found| found.len() == 0)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}
