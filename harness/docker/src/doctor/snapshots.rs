//! Snapshots of the lines of `nodejoin doctor`.

use super::host::host;
use super::*;

fn lines(results: &[CheckResult]) -> String {
    let line = |result: &CheckResult| {
        let remedy = result.remedy.as_deref().unwrap_or("-");
        format!(
            "{:?} | {} | {} | {remedy}",
            result.state, result.name, result.seen
        )
    };
    results.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn engine(
    architecture: &str,
    storage_driver: &str,
    cgroup_version: u8,
    image_store: ImageStore,
) -> EngineFacts {
    EngineFacts {
        server_version: "26.1.5".to_owned(),
        api_version: "1.45".to_owned(),
        operating_system: "Debian GNU/Linux 12".to_owned(),
        architecture: architecture.to_owned(),
        kernel: "6.1.0".to_owned(),
        cgroup_version,
        cgroup_driver: "systemd".to_owned(),
        storage_driver: storage_driver.to_owned(),
        image_store,
        ..EngineFacts::default()
    }
}

#[test]
fn lines_about_the_engine() {
    let rootless = EngineFacts {
        security_options: vec!["name=rootless".to_owned()],
        ..engine("riscv64", "vfs", 1, ImageStore::Containerd)
    };
    let unknown = "riscv64".parse::<Architecture>().unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            lines(&facts(&engine("x86_64", "overlay2", 2, ImageStore::Docker))),
            lines(&facts(&rootless)).replace(&unknown, "[text of core]"),
        ]
        .join("\n\n")
    );
}

#[test]
fn lines_about_privileges() {
    let allowed = |privileged, lacking: &[&str]| Privileges {
        privileged,
        lacking: lacking.iter().map(|&name| name.to_owned()).collect(),
        dropped: Vec::new(),
    };
    let all = [
        allowed(true, &[]),
        allowed(false, &[]),
        allowed(false, &["SYS_RESOURCE"]),
        allowed(true, &["NET_ADMIN", "SYS_ADMIN"]),
    ];
    insta::assert_snapshot!(lines(&all.map(|allowed| allowance("privileges", &allowed))));
}

#[test]
fn lines_about_the_host() {
    let low = "max_user_instances 128\nmax_user_watches 8192\ndisk 1000 100\nmemory 1000000\nswap 1\noverlay no\nbridge no\ninit sh\n";
    let good = "max_user_instances 8192\nmax_user_watches 524288\ndisk 1000 500\nmemory 9000000\nswap 0\noverlay yes\nbridge yes\ninit tini\n";
    insta::assert_snapshot!(
        [low, good, ""]
            .map(|text| lines(&host(text).check()))
            .join("\n\n")
    );
}
