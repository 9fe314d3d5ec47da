//! Commands of Amazon Linux in a node do what those of Amazon Linux do.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

fn run(root: &Path, tool: &str, arguments: &[&str], metadata: &str) -> Output {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/instance-tools");
    let link = root.join(tool);
    if !link.exists() {
        symlink(program, &link).unwrap();
    }
    let mut command = Command::new("bash");
    command.arg(link).args(arguments);
    command
        .env("NODEJOIN_ROOT", root)
        .env("NODEJOIN_METADATA", metadata);
    command.output().unwrap()
}

#[test]
fn modules_of_amazon_linux_are_recorded_and_others_are_left_to_the_real_program() {
    let root = tempfile::tempdir().unwrap();
    let loads = |arguments: &[&str]| run(root.path(), "modprobe", arguments, "").status.success();
    assert!(loads(&["br_netfilter"]) && loads(&["-q", "ip-vs-rr"]));
    assert!(loads(&["nf_conntrack", "hashsize=131072"]) && loads(&["--all", "overlay", "xt_TPROXY"]));
    for unknown in [
        &["no_such_module"][..],
        &["-a", "overlay", "no_such_module"],
        &["br_netfilte"],
    ] {
        assert!(!loads(unknown), "{unknown:?}");
    }
    let recorded = fs::read_to_string(root.path().join("var/log/nodejoin-modules")).unwrap();
    assert_eq!(
        recorded,
        "br_netfilter\nip_vs_rr\nnf_conntrack\noverlay\nxt_TPROXY\n"
    );
}

fn certificate(text: &str) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

#[test]
fn anchors_are_in_the_bundle_until_they_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let path = |path: &str| root.path().join(path);
    let (bundle, anchors) = (
        path("etc/ssl/certs/ca-certificates.crt"),
        path("etc/pki/ca-trust/source/anchors"),
    );
    fs::create_dir_all(bundle.parent().unwrap()).unwrap();
    fs::create_dir_all(&anchors).unwrap();
    fs::write(&bundle, certificate("system")).unwrap();
    fs::write(
        anchors.join("proxy.pem"),
        format!("a comment\n{}", certificate("proxy")),
    )
    .unwrap();
    fs::write(anchors.join("README"), "no certificate").unwrap();
    for arguments in [&[][..], &["extract"]] {
        assert!(
            run(root.path(), "update-ca-trust", arguments, "")
                .status
                .success()
        );
        let both = format!("{}{}", certificate("system"), certificate("proxy"));
        assert_eq!(fs::read_to_string(&bundle).unwrap(), both);
    }
    fs::remove_file(anchors.join("proxy.pem")).unwrap();
    assert!(run(root.path(), "update-ca-trust", &[], "").status.success());
    assert_eq!(fs::read_to_string(&bundle).unwrap(), certificate("system"));
    let unknown = run(root.path(), "update-ca-trust", &["nope"], "");
    assert_eq!(unknown.status.code(), Some(1));
}

/// Serves a metadata service that requires a token for `requests` requests.
fn metadata(requests: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            let headers: Vec<String> = lines.map(Result::unwrap).take_while(|l| !l.is_empty()).collect();
            let has_token = headers.iter().any(|header| header.ends_with("token: secret"));
            let (status, body) = match first.split(' ').nth(1).unwrap() {
                "/latest/api/token" => (200, "secret"),
                _ if !has_token => (401, ""),
                "/latest/meta-data/instance-id" => (200, "i-0abc"),
                "/latest/meta-data/placement/availability-zone" => (200, "eu-west-1b"),
                _ => (404, ""),
            };
            let size = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} x\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n{body}"
            )
            .unwrap();
        }
    });
    address
}

#[test]
fn metadata_is_printed_with_its_name_or_alone() {
    let root = tempfile::tempdir().unwrap();
    let address = metadata(5);
    let both = run(
        root.path(),
        "ec2-metadata",
        &["-i", "--availability-zone"],
        &address,
    );
    assert_eq!(
        String::from_utf8(both.stdout).unwrap(),
        "instance-id: i-0abc\nplacement: eu-west-1b\n"
    );
    let missing = run(root.path(), "ec2-metadata", &["-q", "-v"], &address);
    assert_eq!(String::from_utf8(missing.stdout).unwrap(), "not available\n");
    let nowhere = run(root.path(), "ec2-metadata", &["-i"], "http://127.0.0.1:1");
    assert_eq!(nowhere.status.code(), Some(1));
}

#[test]
fn rules_of_the_audit_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let rules = root.path().join("etc/audit/rules.d");
    fs::create_dir_all(&rules).unwrap();
    let text = |tool: &str, arguments: &[&str]| {
        let output = run(root.path(), tool, arguments, "");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    assert_eq!(text("auditctl", &["-l"]).1, "No rules\n");
    fs::write(
        rules.join("a.rules"),
        "# Passwords\n-D\n\n-w /etc/passwd -p wa -k users\n",
    )
    .unwrap();
    assert_eq!(
        text("augenrules", &["--check"]).1,
        "/sbin/augenrules: Rules have changed and should be updated\n"
    );
    assert_eq!(text("augenrules", &["--load"]), (Some(0), String::new()));
    assert_eq!(text("augenrules", &[]).1, "/sbin/augenrules: No change\n");
    assert_eq!(text("auditctl", &["-l"]).1, "-w /etc/passwd -p wa -k users\n");
    let written = fs::read_to_string(root.path().join("etc/audit/audit.rules")).unwrap();
    assert!(written.contains("\n-D\n-w /etc/passwd"), "{written}");
    assert_eq!(text("auditctl", &["-a", "always,exit", "-S", "mount"]).0, Some(0));
    assert!(text("auditctl", &["-l"]).1.ends_with("-a always,exit -S mount\n"));
    assert_eq!(text("auditctl", &["-D"]).0, Some(0));
    assert_eq!(text("auditctl", &["-l"]).1, "No rules\n");
    assert_eq!(text("auditctl", &["-R", "/none"]).0, Some(1));
    assert_eq!(text("auditctl", &["--unknown"]).0, Some(1));
}

#[test]
fn commands_of_the_system_say_what_amazon_linux_says() {
    let root = tempfile::tempdir().unwrap();
    let text = |tool: &str, arguments: &[&str]| {
        let output = run(root.path(), tool, arguments, "");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    assert_eq!(
        text("udevadm", &["settle", "--timeout=5"]),
        (Some(0), String::new())
    );
    assert_eq!(text("udevadm", &["info", "/dev/xvda"]).0, Some(1));
    assert_eq!(text("getenforce", &[]).1, "Disabled\n");
    assert_eq!(
        text("setenforce", &["0"]),
        (Some(1), "setenforce: SELinux is disabled\n".to_owned())
    );
    assert!(text("sestatus", &[]).1.contains("disabled"));
    assert_eq!(text("restorecon", &["-R", "/etc"]).0, Some(0));
    assert!(text("chronyc", &["-n", "tracking"]).1.contains("169.254.169.123"));
    assert_eq!(text("chronyc", &["shutdown"]).0, Some(1));
    assert_eq!(text("dracut", &["--force"]), (Some(0), String::new()));

    assert_eq!(text("crontab", &["-l"]).0, Some(1));
    let jobs = root.path().join("jobs");
    fs::write(&jobs, "0 * * * * /bin/true\n").unwrap();
    assert_eq!(
        text("crontab", &["-u", "ec2-user", jobs.to_str().unwrap()]).0,
        Some(0)
    );
    assert_eq!(
        text("crontab", &["-l", "-u", "ec2-user"]).1,
        "0 * * * * /bin/true\n"
    );
    assert_eq!(text("crontab", &["-r", "-u", "ec2-user"]).0, Some(0));
    assert_eq!(text("crontab", &["-l", "-u", "ec2-user"]).0, Some(1));

    fs::create_dir(root.path().join("etc")).unwrap();
    fs::write(
        root.path().join("etc/os-release"),
        "PLATFORM_ID=\"platform:al2023\"\n",
    )
    .unwrap();
    assert_eq!(text("getenforce", &[]).1, "Permissive\n");
    assert_eq!(text("setenforce", &["0"]).0, Some(0));
}

#[test]
fn disks_are_listed_and_described_as_by_nvme_cli() {
    let root = tempfile::tempdir().unwrap();
    let text = |arguments: &[&str]| {
        let output = run(root.path(), "nvme", arguments, "");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let rows = || {
        let (code, table) = text(&["list"]);
        assert_eq!(code, Some(0));
        let mut lines = table.lines();
        assert!(lines.next().unwrap().starts_with("Node             SN    "));
        let dashes = [16, 20, 40, 9, 26, 16, 8]
            .map(|width| "-".repeat(width))
            .join(" ");
        assert_eq!(lines.next(), Some(dashes.as_str()));
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.map(words).collect::<Vec<_>>()
    };
    // A type with Xen and without an instance store.
    assert!(rows().is_empty());

    for (name, sectors, model, serial) in [
        (
            "nvme0n1",
            "41943040",
            "Amazon Elastic Block Store",
            "vol0123456789abcdef0",
        ),
        (
            "nvme1n1",
            "3710937500",
            "Amazon EC2 NVMe Instance Storage",
            "AWS0123456789ABCDEF0",
        ),
    ] {
        let disk = root.path().join("sys/block").join(name);
        fs::create_dir_all(disk.join("device")).unwrap();
        fs::write(disk.join("size"), format!("{sectors}\n")).unwrap();
        fs::write(disk.join("device/model"), format!("{model}\n")).unwrap();
        fs::write(disk.join("device/serial"), format!("{serial}\n")).unwrap();
    }
    assert_eq!(
        rows(),
        [
            "/dev/nvme0n1 vol0123456789abcdef0 Amazon Elastic Block Store 1 21.47 GB / 21.47 GB 512 B + 0 B 1.0",
            "/dev/nvme1n1 AWS0123456789ABCDEF0 Amazon EC2 NVMe Instance Storage 1 1.90 TB / 1.90 TB 512 B + 0 B 0",
        ]
    );
    let (_, listed) = text(&["list", "-o", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let store = &listed["Devices"][1];
    assert_eq!(store["DevicePath"], "/dev/nvme1n1");
    assert_eq!(store["PhysicalSize"], 1_900_000_000_000_u64);
    assert_eq!(listed["Devices"][0]["SerialNumber"], "vol0123456789abcdef0");

    let (_, described) = text(&["id-ctrl", "-v", "/dev/nvme0n1"]);
    assert!(
        described.contains("\nsn      : vol0123456789abcdef0\n"),
        "{described}"
    );
    let first = "\n0000: 78 76 64 61 20 20 20 20 20 20 20 20 20 20 20 20 \"xvda............\"\n";
    assert!(described.contains(first), "{described}");
    let (_, bytes) = text(&["id-ctrl", "--raw-binary", "/dev/nvme1n1"]);
    assert_eq!(bytes.len(), 4096);
    assert_eq!(bytes.get(3072..3104).unwrap().trim_end(), "ephemeral0:none");
    assert_eq!(text(&["id-ctrl", "/dev/nvme9n1"]).0, Some(1));
    assert_eq!(text(&["format", "/dev/nvme1n1"]).0, Some(1));

    // A volume besides the root volume has its name in the block device mapping.
    let volume = root.path().join("sys/block/nvme0n1");
    fs::rename(volume, root.path().join("sys/block/nvme2n1")).unwrap();
    fs::create_dir(root.path().join("dev")).unwrap();
    std::os::unix::fs::symlink("nvme2n1", root.path().join("dev/sdb")).unwrap();
    let (_, bytes) = text(&["id-ctrl", "--raw-binary", "/dev/nvme2n1"]);
    assert_eq!(bytes.get(3072..3104).unwrap().trim_end(), "/dev/sdb");
    let id = |arguments: &[&str]| {
        let output = run(root.path(), "ebsnvme-id", arguments, "");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let both = "Volume ID: vol-0123456789abcdef0\n/dev/sdb\n";
    assert_eq!(id(&["/dev/nvme2n1"]), (true, both.to_owned()));
    assert_eq!(id(&["-u", "/dev/nvme2n1"]), (true, "sdb\n".to_owned()));
    assert_eq!(id(&["-b", "/dev/nvme1n1"]), (false, String::new()));
}
