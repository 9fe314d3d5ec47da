//! The files and flags that `nodejoin wiring` writes, and what control planes lack.

use nodejoin_cluster::WiringFolder;
use nodejoin_cluster::needs::{Lack, Need};
use nodejoin_core::kubernetes::Minor;

#[test]
fn the_files_and_flags_of_a_wiring_folder_are_as_documented() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("wiring");
    let made = WiringFolder::create(&folder, "10.0.0.1:9443".parse().unwrap()).unwrap();
    let flags = made.flags("/etc/wiring", Minor::new(36)).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let webhook = std::fs::read_to_string(folder.join("token-webhook.kubeconfig")).unwrap();
    let webhook: String = webhook
        .lines()
        .map(|line| match line.split_once("certificate-authority-data: ") {
            Some((before, _)) => format!("{before}certificate-authority-data: [base64]\n"),
            None => format!("{line}\n"),
        })
        .collect();
    let policy = std::fs::read_to_string(folder.join("audit-policy.yaml")).unwrap();
    insta::assert_snapshot!(format!(
        "# files\n{}\n\n# flags\n{}\n\n# token-webhook.kubeconfig\n{webhook}\n# audit-policy.yaml\n{policy}",
        names.join("\n"),
        flags.join("\n"),
    ));
}

#[test]
fn the_errors_of_a_wiring_folder_name_the_cause() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("wiring");
    let listen = "10.0.0.1:9443".parse().unwrap();
    WiringFolder::create(&folder, listen).unwrap();
    let half = parent.path().join("half");
    std::fs::create_dir(&half).unwrap();
    std::fs::write(half.join("listen"), "nowhere").unwrap();
    let errors = [
        WiringFolder::create(&folder, "0.0.0.0:9443".parse().unwrap()),
        WiringFolder::create(&folder, "10.0.0.1:9444".parse().unwrap()),
        WiringFolder::open(&parent.path().join("missing")),
        WiringFolder::open(&half),
    ];
    let errors: String = errors.map(|result| format!("{}\n", result.unwrap_err())).concat();
    insta::assert_snapshot!(errors.replace(&*parent.path().to_string_lossy(), "[folder]"));
}

#[test]
fn each_need_has_its_words() {
    let needs = [
        Need::Tokens,
        Need::Audit,
        Need::Kubelets,
        Need::ClientCertificates,
    ];
    let lacks = needs.map(|need| Lack {
        need,
        why: "REASON".to_owned(),
    });
    let shown = lacks.map(|lack| format!("{:?}: {} / {}\n", lack.need, lack.need, lack.why));
    insta::assert_snapshot!(shown.concat());
}
