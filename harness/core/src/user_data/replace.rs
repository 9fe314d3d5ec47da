//! Replaces the values in user data that belong to another cluster and that no test can have: its certificate
//! authority, and the bootstrap token and CA hash of kubeadm. Names and addresses stay.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::authority::{BEGIN, END, is_whole_certificate};
use super::fill::Values;
use super::gzip::{GZIP, gunzip, gzip};
use super::mime::decode_base64;
use crate::plan::UserDataPlan;

/// Shorter runs of base64 characters are words.
const SHORTEST_BASE64: usize = 40;
/// Encodings within encodings that are looked into.
const DEPTH: usize = 5;
/// Lines before and after a certificate that tell its purpose.
const CONTEXT: usize = 4;
/// Words near certificates of others, such as that of a proxy.
const OTHER_AUTHORITIES: [&str; 3] = ["ca-trust", "ca-certificates", "/anchors/"];
/// Words near the certificate of a cluster in PEM.
const CLUSTER_AUTHORITY: [&str; 2] = ["/pki/ca.crt", "certificate-authority"];

/// A value of another cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplacedValue {
    CertificateAuthority,
    BootstrapToken,
    CaCertHash,
}

/// User data after the replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedUserData {
    pub bytes: Vec<u8>,
    /// What was replaced.
    pub values: BTreeSet<ReplacedValue>,
}

/// The values that a run replaces in the user data of a plan; empty unless the plan requests it.
#[must_use]
pub fn replaced_values(plan: &UserDataPlan) -> BTreeSet<ReplacedValue> {
    let bytes = STANDARD.decode(&plan.base64).unwrap_or_default();
    match plan.replace {
        Some(_) => replace_cluster(&bytes, &Values::default()).values,
        None => BTreeSet::new(),
    }
}

/// Replaces the values of another cluster by those of the run, also within gzip and base64.
#[must_use]
pub fn replace_cluster(user_data: &[u8], values: &Values) -> ReplacedUserData {
    let mut replacer = Replacer {
        authority: values.get("cluster.certificate_authority"),
        pem: String::new(),
        token: values.get("cluster.bootstrap_token"),
        hash: values.get("cluster.ca_cert_hash"),
        found: BTreeSet::new(),
    };
    let pem = STANDARD.decode(&replacer.authority).unwrap_or_default();
    replacer.pem = String::from_utf8_lossy(&pem).into_owned();
    let bytes = replacer.bytes(user_data, DEPTH);
    ReplacedUserData {
        bytes: bytes.unwrap_or_else(|| user_data.to_vec()),
        values: replacer.found,
    }
}

struct Replacer {
    /// The CA of the run: PEM in base64.
    authority: String,
    pem: String,
    token: String,
    hash: String,
    found: BTreeSet<ReplacedValue>,
}

impl Replacer {
    /// The changed bytes; `None` if nothing changes.
    fn bytes(&mut self, bytes: &[u8], depth: usize) -> Option<Vec<u8>> {
        let depth = depth.checked_sub(1)?;
        if bytes.starts_with(&GZIP) {
            return self.bytes(&gunzip(bytes)?, depth).map(|changed| gzip(&changed));
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let changed = self.text(text, depth);
        (changed != text).then(|| changed.into_bytes())
    }

    fn text(&mut self, text: &str, depth: usize) -> String {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut changed = String::with_capacity(text.len());
        let mut at = 0;
        while at < lines.len() {
            let (piece, taken) = self
                .pem_block(&lines, at)
                .or_else(|| self.base64_block(&lines, at, depth))
                .or_else(|| self.wrapped_value(&lines, at))
                .unwrap_or_else(|| (self.line(&lines, at, depth), 1));
            changed.push_str(&piece);
            at += taken;
        }
        changed
    }

    /// A certificate in PEM, if the lines around it say that it is the cluster's.
    fn pem_block(&mut self, lines: &[&str], at: usize) -> Option<(String, usize)> {
        let first = *lines.get(at)?;
        if first.trim() != BEGIN || !is_near(lines, at, &CLUSTER_AUTHORITY) {
            return None;
        }
        let length = lines[at..].iter().position(|line| line.trim() == END)? + 1;
        self.found.insert(ReplacedValue::CertificateAuthority);
        let indent = &first[..first.len() - first.trim_start().len()];
        let block = self.pem.lines().map(|line| format!("{indent}{line}\n")).collect();
        Some((block, length))
    }

    /// Base64 over several lines, as in MIME parts and YAML blocks.
    fn base64_block(&mut self, lines: &[&str], at: usize, depth: usize) -> Option<(String, usize)> {
        let first = lines[at];
        let width = first.trim().len();
        if width < SHORTEST_BASE64 || !is_base64(first.trim()) {
            return None;
        }
        let is_full = |line: &&&str| line.trim().len() == width && is_base64(line.trim());
        let full = lines[at..].iter().take_while(is_full).count();
        let is_rest = |line: &&str| line.trim().len() < width && is_base64(line.trim());
        let rest = usize::from(lines.get(at + full).is_some_and(is_rest));
        // A word below base64 whose last line is full, such as the `EOF` of a shell, does not belong to it.
        let (changed, length) = [full + rest, full]
            .into_iter()
            .skip(1 - rest)
            .find_map(|length| {
                let block = lines[at..at + length].iter().map(|line| line.trim());
                let changed = (length > 1).then(|| self.blob(&block.collect::<String>(), lines, at, depth));
                Some((changed??, length))
            })?;
        let indent = &first[..first.len() - first.trim_start().len()];
        let end = &first[first.trim_end().len()..];
        let wrapped = changed.as_bytes().chunks(width);
        let block = wrapped
            .map(|chunk| format!("{indent}{}{end}", String::from_utf8_lossy(chunk)))
            .collect();
        Some((block, length))
    }

    /// A certificate in base64 whose first line has other text before it, such as `CA=`, and that goes on in the lines
    /// below. The replacement breaks at the same places, so that what reads one line only still does.
    fn wrapped_value(&mut self, lines: &[&str], at: usize) -> Option<(String, usize)> {
        let first = lines[at].trim_end();
        let word = *base64_words(first).last()?;
        if word.len() < SHORTEST_BASE64 || !is_base64(word) {
            return None;
        }
        let whole = &word[..word.len() - word.len() % 4];
        if is_whole_certificate(whole)? || is_near(lines, at, &OTHER_AUTHORITIES) {
            return None;
        }
        let mut joined = word.to_owned();
        let (mut width, mut taken, mut rest) = (word.len(), 1, "");
        for line in &lines[at + 1..] {
            let end = line.find(|c| !is_base64_character(c)).unwrap_or(line.len());
            width = width.max(end);
            joined.push_str(&line[..end]);
            taken += 1;
            rest = &line[end..];
            let is_whole = || is_whole_certificate(&joined) == Some(true);
            if end == 0 || !rest.trim_end().is_empty() || is_whole() {
                break;
            }
        }
        is_whole_certificate(&joined)?.then_some(())?;
        self.found.insert(ReplacedValue::CertificateAuthority);
        let (begin, others) = self.authority.split_at_checked(word.len())?;
        let others = others.as_bytes().chunks(width).map(String::from_utf8_lossy);
        let lines: Vec<_> = std::iter::once(begin.into()).chain(others).collect();
        let prefix = &first[..first.len() - word.len()];
        Some((format!("{prefix}{}{rest}", lines.join("\n")), taken))
    }

    fn line(&mut self, lines: &[&str], at: usize, depth: usize) -> String {
        let mut changed = String::new();
        for word in base64_words(lines[at]) {
            match self.blob(word, lines, at, depth) {
                Some(replaced) => changed.push_str(&replaced),
                None => changed.push_str(word),
            }
        }
        self.kubeadm(&changed)
    }

    /// The replacement of a base64 value; `None` if it contains nothing of a cluster.
    fn blob(&mut self, word: &str, lines: &[&str], at: usize, depth: usize) -> Option<String> {
        if word.len() < SHORTEST_BASE64 || !is_base64(word) {
            return None;
        }
        if let Some(is_whole) = is_whole_certificate(word) {
            // A certificate that ends too early fails on the node, unless the author of the file left its rest out.
            let is_left_out = || {
                ["...", "\u{2026}"]
                    .iter()
                    .any(|dots| lines[at].contains(&format!("{word}{dots}")))
            };
            if is_near(lines, at, &OTHER_AUTHORITIES) || !(is_whole || is_left_out()) {
                return None;
            }
            self.found.insert(ReplacedValue::CertificateAuthority);
            return Some(self.authority.clone());
        }
        let decoded = decode_base64(word.as_bytes())?;
        self.bytes(&decoded, depth).map(|bytes| STANDARD.encode(bytes))
    }

    fn kubeadm(&mut self, line: &str) -> String {
        let mut changed = line.to_owned();
        if line.to_lowercase().contains("token") {
            for token in words(line).filter(|word| is_bootstrap_token(word)) {
                self.found.insert(ReplacedValue::BootstrapToken);
                changed = changed.replace(token, &self.token);
            }
        }
        for hash in words(line).filter(|word| is_ca_cert_hash(word)) {
            self.found.insert(ReplacedValue::CaCertHash);
            changed = changed.replace(hash, &self.hash);
        }
        changed
    }
}

fn is_near(lines: &[&str], at: usize, words: &[&str]) -> bool {
    let near = &lines[at.saturating_sub(CONTEXT)..lines.len().min(at + CONTEXT + 1)];
    near.iter()
        .any(|line| words.iter().any(|word| line.contains(word)))
}

fn is_base64_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=".contains(c)
}

fn is_base64(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_base64_character)
}

/// Splits a line into runs of base64 characters and the text between them. `=` belongs to the end of a run only: before
/// a value it separates that from its name.
fn base64_words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut previous: Option<char> = None;
    for (at, c) in line.char_indices() {
        let is_split = previous.is_some_and(|previous| {
            is_base64_character(previous) != is_base64_character(c) || (previous == '=' && c != '=')
        });
        if is_split {
            words.push(&line[start..at]);
            start = at;
        }
        previous = Some(c);
    }
    words.push(&line[start..]);
    words
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || ".:@".contains(c)))
}

/// Such as `abcdef.0123456789abcdef`.
fn is_bootstrap_token(word: &str) -> bool {
    let is_part = |part: &str, length| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    word.split_once('.')
        .is_some_and(|(id, secret)| is_part(id, 6) && is_part(secret, 16))
}

/// A digest of an image has `@` before it.
fn is_ca_cert_hash(word: &str) -> bool {
    word.strip_prefix("sha256:")
        .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Replacement;

    const THEIRS: &str = "-----BEGIN CERTIFICATE-----\nTUlJQy9qQ0NBZWFnQXdJQkFnSUJBREFOQmdrcWhraUc5dzBCQVFzRkFE\nQUFBQUE=\n-----END CERTIFICATE-----\n";
    const OURS: &str = "-----BEGIN CERTIFICATE-----\nb3Vycw==\n-----END CERTIFICATE-----\n";

    fn values() -> Values {
        let mut plan = crate::testing::plan();
        plan.cluster.bootstrap_tokens = vec![crate::plan::bootstrap_token::BootstrapToken {
            token: "ours00.0123456789abcdef".parse().unwrap(),
            expires_seconds: None,
            deleted: false,
            usages: Vec::new(),
            groups: Vec::new(),
        }];
        Values::of(&plan, OURS)
    }

    fn replaced(text: &[u8]) -> (String, Vec<ReplacedValue>) {
        let replaced = replace_cluster(text, &values());
        let text = String::from_utf8(replaced.bytes).unwrap();
        (text, replaced.values.into_iter().collect())
    }

    #[test]
    fn a_line_can_end_with_any_character() {
        // A word with a length that four does not divide, which is cut for base64.
        for text in ["echo, \u{201c}\n", "A=\u{e4}\u{201d}\n", "\u{1f600}'"] {
            assert_eq!(replaced(text.as_bytes()), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn the_authority_is_replaced_in_every_encoding() {
        let (theirs, ours) = (STANDARD.encode(THEIRS), STANDARD.encode(OURS));
        let nested = |authority: &str| STANDARD.encode(format!("join --b64-cluster-ca {authority}\n"));
        let wrapped = |text: &str| {
            let lines = text.as_bytes().chunks(76);
            lines
                .map(|line| format!("  {}\r\n", String::from_utf8_lossy(line)))
                .collect::<String>()
        };
        for (before, after) in [
            (
                format!("B64_CLUSTER_CA={theirs}\n"),
                format!("B64_CLUSTER_CA={ours}\n"),
            ),
            (
                format!("--b64-cluster-ca '{theirs}' x\n"),
                format!("--b64-cluster-ca '{ours}' x\n"),
            ),
            (
                format!("echo {} |base64 -d\n", nested(&theirs)),
                format!("echo {} |base64 -d\n", nested(&ours)),
            ),
            (wrapped(&nested(&theirs)), wrapped(&nested(&ours))),
            (
                format!("cat >/etc/kubernetes/pki/ca.crt <<E\n{THEIRS}E\n"),
                format!("cat >/etc/kubernetes/pki/ca.crt <<E\n{OURS}E\n"),
            ),
        ] {
            let (text, found) = replaced(before.as_bytes());
            assert_eq!(text, after, "{before}");
            assert_eq!(found, [ReplacedValue::CertificateAuthority]);
        }
    }

    #[test]
    fn a_certificate_over_several_lines_stays_broken_in_the_same_way() {
        let theirs = STANDARD.encode(THEIRS);
        let (begin, rest) = theirs.split_at(60);
        let ours = STANDARD.encode(OURS);
        let (our_begin, our_rest) = ours.split_at(60);
        for (before, after) in [
            (
                format!("CA={begin}\n{rest}\n/etc/eks/bootstrap.sh x --b64-cluster-ca $CA\n"),
                format!("CA={our_begin}\n{our_rest}\n/etc/eks/bootstrap.sh x --b64-cluster-ca $CA\n"),
            ),
            (
                format!("CA=\"{begin}\n{rest}\" bootstrap\n"),
                format!("CA=\"{our_begin}\n{our_rest}\" bootstrap\n"),
            ),
            (
                format!("CA={begin}...\nbootstrap\n"),
                format!("CA={ours}...\nbootstrap\n"),
            ),
        ] {
            let (text, found) = replaced(before.as_bytes());
            assert_eq!(text, after);
            assert_eq!(found, [ReplacedValue::CertificateAuthority]);
        }
        let cut = format!("CA={begin}\nbootstrap\n");
        assert_eq!(replaced(cut.as_bytes()), (cut.clone(), Vec::new()));
    }

    #[test]
    fn a_certificate_without_its_padding_stays_and_a_word_below_it_too() {
        let theirs = STANDARD.encode(format!("{THEIRS}\n"));
        let cut = format!("certificateAuthority: {}\n", theirs.trim_end_matches('='));
        assert_eq!(replaced(cut.as_bytes()), (cut.clone(), Vec::new()));
        let wrapped = |text: &str| format!("{}\n{}\nEOF\n", &text[..80], &text[80..]);
        let (text, _) = replaced(wrapped(&STANDARD.encode(THEIRS)).as_bytes());
        assert_eq!(text, wrapped(&STANDARD.encode(OURS)));
    }

    #[test]
    fn compressed_user_data_stays_compressed() {
        let text = format!("B64_CLUSTER_CA={}\n", STANDARD.encode(THEIRS));
        let replaced = replace_cluster(&gzip(text.as_bytes()), &values()).bytes;
        let text = String::from_utf8(gunzip(&replaced).unwrap()).unwrap();
        assert_eq!(text, format!("B64_CLUSTER_CA={}\n", STANDARD.encode(OURS)));
    }

    #[test]
    fn token_and_hash_of_kubeadm_are_replaced() {
        let hash = "a1".repeat(32);
        let (text, found) = replaced(
            format!("kubeadm join x:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:{hash}\n")
                .as_bytes(),
        );
        let ours = values().get("cluster.ca_cert_hash");
        assert_eq!(
            text,
            format!(
                "kubeadm join x:6443 --token ours00.0123456789abcdef --discovery-token-ca-cert-hash {ours}\n"
            )
        );
        assert_eq!(found, [ReplacedValue::BootstrapToken, ReplacedValue::CaCertHash]);
    }

    #[test]
    fn what_belongs_to_no_cluster_stays() {
        let digest = "a1".repeat(32);
        let proxy = format!(
            "- path: /etc/pki/ca-trust/source/anchors/p.pem\n  content: {}\n",
            STANDARD.encode(THEIRS)
        );
        for text in [
            format!("cat >/etc/pki/ca-trust/p.pem <<E\n{THEIRS}E\n"),
            proxy,
            format!("image: repo@sha256:{digest}\n"),
            "certificateAuthority: Y2VydGlmaWNhdGVBdXRob3JpdHlUaGF0SXNOb3RPbmU=\n".to_owned(),
            "#!/bin/bash\nexport A=B==\n/etc/eks/bootstrap.sh demo\n".to_owned(),
        ] {
            assert_eq!(replaced(text.as_bytes()), (text.clone(), Vec::new()));
        }
        assert_eq!(replace_cluster(&[0xff, 0x00], &values()).bytes, [0xff, 0x00]);
    }

    #[test]
    fn a_plan_replaces_only_on_request() {
        let plan = |replace| UserDataPlan {
            engine: Default::default(),
            base64: STANDARD.encode(format!("CA={}\n", STANDARD.encode(THEIRS))),
            gzip: false,
            replace,
            is_translated: false,
        };
        assert!(replaced_values(&plan(None)).is_empty());
        assert_eq!(replaced_values(&plan(Some(Replacement::Cluster))).len(), 1);
    }
}
