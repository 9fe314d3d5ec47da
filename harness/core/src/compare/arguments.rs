//! Adds arguments to the call of a script in user data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::plan::UserDataPlan;

/// A script on the node, and arguments that it accepts and that its user data does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptArguments {
    /// Absolute path on the node.
    pub path: String,
    /// Arguments as a shell reads them, such as `--dns-cluster-ip 10.200.0.10`.
    pub arguments: String,
}

impl ScriptArguments {
    /// The user data with the arguments in the first call of the script; `None` if it does not call the script in plain
    /// text, or passes the flag already.
    #[must_use]
    pub fn added_to(&self, user_data: &UserDataPlan) -> Option<UserDataPlan> {
        let bytes = STANDARD.decode(&user_data.base64).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let flag = self.arguments.split(' ').next().unwrap_or_default();
        let passes_it = text
            .split(|c: char| c.is_whitespace() || c == '=' || c == '\'' || c == '"')
            .any(|word| word == flag);
        if passes_it {
            return None;
        }
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if let Some(at) = call_in(line, &self.path) {
                let end = start + at + self.path.len();
                let (before, after) = text.split_at(end);
                let text = format!("{before} {}{after}", self.arguments);
                return Some(UserDataPlan {
                    base64: STANDARD.encode(text),
                    ..user_data.clone()
                });
            }
            start += line.len();
        }
        None
    }
}

/// Where a line calls the script: the path as a whole word, followed by arguments, and not in a comment.
fn call_in(line: &str, path: &str) -> Option<usize> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let at = line.find(path)?;
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || ";&|(`\"'".contains(c));
    let before = line.get(..at)?.chars().next_back();
    let after = line.get(at + path.len()..)?.chars().next();
    (is_edge(before) && after.is_some_and(|c| c == ' ' || c == '\t')).then_some(at)
}

/// The configuration of the AMI in another file, with one more line. It cannot be that file itself: a script that
/// copies it to its place fails then.
const COPIED_CONFIGURATION: &str = "$(sed '1i# nodejoin' /etc/eks/containerd/containerd-config.toml \
    > /run/containerd-config.toml; echo /run/containerd-config.toml)";

/// The same with indented lines, in which scripts of some years find no pause image.
const INDENTED_CONFIGURATION: &str = "$(sed 's/^/  /' /etc/eks/containerd/containerd-config.toml \
    > /run/indented.toml; echo /run/indented.toml)";

/// Values for a flag by the words of its name: ones that a script does not guess.
#[must_use]
pub fn values_for(flag: &str) -> Vec<&'static str> {
    match value_for(flag) {
        COPIED_CONFIGURATION => vec![COPIED_CONFIGURATION, INDENTED_CONFIGURATION],
        value => vec![value],
    }
}

/// A value for a flag by the words of its name: one that a script does not guess.
#[must_use]
pub fn value_for(flag: &str) -> &'static str {
    const VALUES: [(&str, &str); 23] = [
        ("cluster-ca", "{{ cluster.certificate_authority }}"),
        ("b64", "{{ cluster.certificate_authority }}"),
        ("--use-", "false"),
        ("--enable-", "true"),
        ("ip-family", "ipv6"),
        ("ipv6-cidr", "fd30:1c53:5f8a::/108"),
        ("cidr", "10.200.0.0/16"),
        ("dns", "10.200.0.10"),
        ("endpoint", "{{ cluster.endpoint }}"),
        (
            "json",
            "'{\"log-level\":\"warn\",\"max-concurrent-downloads\":7}'",
        ),
        ("containerd-config-file", COPIED_CONFIGURATION),
        ("config-file", "/etc/hosts"),
        ("max-pods", "17"),
        ("container-runtime", "dockerd"),
        ("attempts", "1"),
        ("pause-container-account", "123456789012"),
        ("version", "3.9"),
        ("extra-args", "'--node-labels=nodejoin.test/world=flag --v=3'"),
        ("labels", "nodejoin.test/world=flag"),
        ("taints", "nodejoin.test/world=flag:NoSchedule"),
        ("cluster-id", "0d4d5b0b-5a4c-4f5e-9b3d-0c6f0c6f0c6f"),
        ("mtu", "1400"),
        ("mode", "true"),
    ];
    let found = VALUES.iter().find(|(word, _)| flag.contains(word));
    found.map_or("nodejoin", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::user_data_of;

    fn added(text: &str, arguments: &str) -> Option<String> {
        let arguments = ScriptArguments {
            path: "/etc/eks/bootstrap.sh".to_owned(),
            arguments: arguments.to_owned(),
        };
        let found = arguments.added_to(&user_data_of(text))?;
        Some(String::from_utf8(STANDARD.decode(found.base64).unwrap()).unwrap())
    }

    #[test]
    fn arguments_follow_the_path_of_the_first_call() {
        assert_eq!(
            added(
                "#!/bin/bash\n# /etc/eks/bootstrap.sh x\nexec /etc/eks/bootstrap.sh demo \\\n  --b\n",
                "--a 1"
            )
            .as_deref(),
            Some("#!/bin/bash\n# /etc/eks/bootstrap.sh x\nexec /etc/eks/bootstrap.sh --a 1 demo \\\n  --b\n")
        );
    }

    #[test]
    fn a_flag_that_is_passed_already_or_a_script_that_is_not_called_is_no_world() {
        assert_eq!(added("/etc/eks/bootstrap.sh demo --a=2\n", "--a 1"), None);
        assert_eq!(added("cp /etc/eks/bootstrap.sh.old /x\n", "--a 1"), None);
        assert_eq!(added("/opt/join.sh demo\n", "--a 1"), None);
    }

    #[test]
    fn a_value_fits_the_name_of_its_flag() {
        assert_eq!(value_for("--use-max-pods"), "false");
        assert_eq!(value_for("--max-pods"), "17");
        assert_eq!(value_for("--service-ipv6-cidr"), "fd30:1c53:5f8a::/108");
        assert_eq!(value_for("--other"), "nodejoin");
        assert_eq!(values_for("--max-pods"), ["17"]);
        // A shell runs them in place.
        let files = values_for("--containerd-config-file");
        for (file, name) in files.iter().zip(["containerd-config", "indented"]) {
            assert!(
                file.starts_with("$(") && file.ends_with(&format!("echo /run/{name}.toml)")),
                "{file}"
            );
            assert!(!file.contains('\n') && !file.contains("  >"), "{file}");
        }
        assert_eq!(files.len(), 2);
    }
}
