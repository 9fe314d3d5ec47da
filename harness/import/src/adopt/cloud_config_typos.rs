//! Misspelt keys of a cloud-config: cloud-init ignores them, and only its log has a warning.

use nodejoin_core::user_data::parse;

use super::node_config::line_of;
use crate::known_fields::meant;
use crate::source_lines::SourceLines;
use crate::tree::{Tree, yaml};

/// The keys of all modules of cloud-init (its `schema-cloud-config-v1.json`), and those of older releases and of
/// Amazon's.
const KEYS: [&str; 130] = [
    "allow_public_ssh_keys",
    "allow_userdata",
    "ansible",
    "apk_repos",
    "apt",
    "apt_custom_sources_list",
    "apt_mirror",
    "apt_pipelining",
    "apt_preserve_sources_list",
    "apt_proxy",
    "apt_reboot_if_required",
    "apt_sources",
    "apt_update",
    "apt_upgrade",
    "authkey_hash",
    "autoinstall",
    "bootcmd",
    "byobu_by_default",
    "ca-certs",
    "ca_certs",
    "chef",
    "chpasswd",
    "cloud_config_modules",
    "cloud_final_modules",
    "cloud_init_modules",
    "create_hostname_file",
    "datasource",
    "datasource_list",
    "debug",
    "def_log_file",
    "device_aliases",
    "disable_ec2_metadata",
    "disable_fallback_network",
    "disable_root",
    "disable_root_opts",
    "disk_setup",
    "drivers",
    "fan",
    "final_message",
    "fqdn",
    "fs_setup",
    "groups",
    "growpart",
    "grub-dpkg",
    "grub_dpkg",
    "hostname",
    "keyboard",
    "landscape",
    "launch-index",
    "locale",
    "locale_configfile",
    "log_cfgs",
    "logcfg",
    "lxd",
    "manage-resolv-conf",
    "manage_etc_hosts",
    "manage_resolv_conf",
    "manual_cache_clean",
    "mcollective",
    "merge_how",
    "merge_type",
    "migrate",
    "mount_default_fields",
    "mounts",
    "network",
    "no_ssh_fingerprints",
    "ntp",
    "output",
    "package-update",
    "package-upgrade",
    "package_reboot_if_required",
    "package_update",
    "package_upgrade",
    "packages",
    "password",
    "phone_home",
    "power_state",
    "prefer_fqdn_over_hostname",
    "preserve_hostname",
    "puppet",
    "random_seed",
    "repo_additions",
    "repo_releasever",
    "repo_upgrade",
    "repo_upgrade_exclude",
    "reporting",
    "resize_rootfs",
    "resolv_conf",
    "rh_subscription",
    "rpi",
    "rsyslog",
    "rsyslog_dir",
    "runcmd",
    "salt_minion",
    "selinux",
    "snap",
    "snappy",
    "spacewalk",
    "ssh",
    "ssh-import-id",
    "ssh_authorized_keys",
    "ssh_deletekeys",
    "ssh_fp_console_blacklist",
    "ssh_genkeytypes",
    "ssh_import_id",
    "ssh_key_console_blacklist",
    "ssh_keys",
    "ssh_publish_hostkeys",
    "ssh_pwauth",
    "ssh_quiet_keygen",
    "swap",
    "syslog_fix_perms",
    "system_info",
    "timezone",
    "ubuntu-advantage",
    "ubuntu_advantage",
    "ubuntu_pro",
    "unverified_modules",
    "updates",
    "user",
    "users",
    "vendor_data",
    "vendor_data2",
    "version",
    "warnings",
    "wireguard",
    "write_files",
    "yum_repo_dir",
    "yum_repos",
    "zypper",
];

/// The keys of an entry of `write_files`.
const KEYS_OF_FILE: [&str; 8] = [
    "append",
    "content",
    "defer",
    "encoding",
    "owner",
    "path",
    "permissions",
    "source",
];

/// Whether cloud-init documents the key.
pub(super) fn is_key(key: &str) -> bool {
    KEYS.contains(&key)
}

/// The key of cloud-init that another one means with a typing error.
pub(super) fn meant_key(key: &str) -> Option<&'static str> {
    let is_known = KEYS.contains(&key);
    meant(key, KEYS.into_iter()).filter(|_| !is_known)
}

/// A sentence for each misspelt key.
pub(super) fn misspelt(user_data: &[u8], lines: &SourceLines<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for part in parse(user_data).parts {
        if part.mime != "text/cloud-config" {
            continue;
        }
        let text = String::from_utf8_lossy(&part.content);
        for (number, line) in (1..).zip(text.lines()) {
            let key = key(line);
            if let Some((key, meant)) = key.and_then(|key| Some((key, meant_key(key)?))) {
                let place = lines.place(&text, number, &part.name);
                found.push(format!(
                    "cloud-init has no key `{key}` ({place}) and ignores it; did you mean `{meant}`?"
                ));
            }
        }
        found.extend(misspelt_in_files(&text, &part.name, lines));
    }
    found
}

/// A sentence for each misspelt key of a file.
fn misspelt_in_files(text: &str, part: &str, lines: &SourceLines<'_>) -> Vec<String> {
    let documents = yaml(text).unwrap_or_default();
    let files = documents.iter().flat_map(|tree| tree.items_at(&["write_files"]));
    let entries = files.flat_map(Tree::entries);
    let unknown = entries.filter(|(key, _)| !KEYS_OF_FILE.contains(&key.as_str()));
    let sentence = |(key, value): &(String, Tree)| {
        let meant = meant(key, KEYS_OF_FILE.into_iter())?;
        // A value can begin on the line behind its key.
        let has_key = |line: usize| {
            let own = text.lines().nth(line - 1)?;
            own.contains(&format!("{key}:")).then_some(line)
        };
        let line = value
            .line()
            .and_then(has_key)
            .or_else(|| line_of(text, key, value));
        let place = line.map(|line| lines.place(text, line, part));
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        Some(format!(
            "a file of `write_files` has no key `{key}`{place}, and cloud-init ignores it; did you mean `{meant}`?"
        ))
    };
    unknown.filter_map(sentence).collect()
}

/// The key of a line that is not indented.
fn key(line: &str) -> Option<&str> {
    let (key, after) = line.split_once(':')?;
    let is_key = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    // A text such as `a:b` is not a key.
    (is_key && (after.is_empty() || after.starts_with([' ', '\t', '\r']))).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_keys_are_named_with_the_one_that_is_meant() {
        for (key, meant) in [
            ("write_file", "write_files"),
            ("write-files", "write_files"),
            ("run_cmd", "runcmd"),
            ("runcmds", "runcmd"),
            ("RunCmd", "runcmd"),
            ("bootcmds", "bootcmd"),
            ("package", "packages"),
            ("pakcages", "packages"),
            ("mount", "mounts"),
        ] {
            let text = format!("#cloud-config\nhostname: a\n{key}:\n- x\n");
            let expected = format!(
                "cloud-init has no key `{key}` (line 3 of part-001) and ignores it; did you mean `{meant}`?"
            );
            assert_eq!(misspelt(text.as_bytes(), &SourceLines::default()), [expected]);
        }
    }

    #[test]
    fn misspelt_keys_of_files_are_named() {
        let text = "#cloud-config\nwrite_files:\n- path: /a\n  contents: |\n    owners: x\n  permission: '0644'\n- { path: /b, owners: root, mode: x }\n";
        let expected = [
            (4, "contents", "content"),
            (6, "permission", "permissions"),
            (7, "owners", "owner"),
        ]
        .map(|(line, key, meant)| {
            format!(
                "a file of `write_files` has no key `{key}` (line {line} of part-001), and cloud-init ignores it; did you mean `{meant}`?"
            )
        });
        assert_eq!(misspelt(text.as_bytes(), &SourceLines::default()), expected);
        let all: Vec<String> = KEYS_OF_FILE.iter().map(|key| format!("{key}: x")).collect();
        let text = format!(
            "#cloud-config\nwrite_files:\n- {{ {} }}\nruncmd: [{{ contents: x }}]\n",
            all.join(", ")
        );
        assert_eq!(misspelt(text.as_bytes(), &SourceLines::default()), [""; 0]);
    }

    #[test]
    fn other_keys_are_not_misspelt() {
        let all: String = KEYS.iter().map(|key| format!("{key}: x\n")).collect();
        let others = "files: x\nx-common: &a\nspec: x\nsu: x\nkubernetes: x\n";
        let text = format!("#cloud-config\n{all}{others}runcmd:\n- |\n  write_file: x\n");
        assert_eq!(misspelt(text.as_bytes(), &SourceLines::default()), [""; 0]);
        assert_eq!(
            misspelt(b"#!/bin/sh\nrun_cmd: x\n", &SourceLines::default()),
            [""; 0]
        );
    }
}
