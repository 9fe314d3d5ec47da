//! User data that is almost right, and user data in the language of another system.

use serde_json::json;

use super::{base64, machine, read, read_with, refused, user_data};
use crate::{AmiFamily, FileFormat, System};

const SETTINGS: &str = "[settings.kubernetes]\ncluster-name = \"demo\"\n";
const CONFIG: &str = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    apiServerEndpoint: https://a\n";
const AL2023: &str =
    "resolve:ssm:/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id";

fn message(mime: &str, content: &str) -> String {
    format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: {mime}\n\n{content}\n--B--\n"
    )
}

#[test]
fn settings_of_bottlerocket_in_a_message_are_for_no_system() {
    let lost =
        "line 7: the MIME message has settings of Bottlerocket in a part: Bottlerocket takes TOML alone";
    for mime in ["text/plain", "application/toml"] {
        let error = refused("x.mime", &message(mime, SETTINGS));
        assert!(error.starts_with(lost), "{error}");
    }
    let call = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n--B\nContent-Type: text/plain\n\n";
    let beside = machine(&message("text/x-shellscript", &format!("{call}{SETTINGS}")));
    assert!(
        beside.problems[0].contains("settings of Bottlerocket"),
        "{:?}",
        beside.problems
    );
    let script = format!("#!/bin/bash\ncat >/x <<E\n{SETTINGS}E\n/etc/eks/bootstrap.sh demo\n");
    let handler = "#part-handler\n--B\nContent-Type: text/x-settings\n\n";
    for right in [
        message("text/x-shellscript", &script),
        message("text/part-handler", &format!("{handler}{SETTINGS}")),
    ] {
        assert_eq!(machine(&right).problems, [""; 0], "{right}");
    }
}

#[test]
fn a_byte_order_mark_before_settings_is_no_mistake() {
    let settings = machine(&format!(
        "\u{feff}{SETTINGS}api-server = \"https://a\"\ncluster-certificate = \"Y2E=\"\n"
    ));
    assert_eq!(settings.system, System::Bottlerocket);
    assert_eq!(settings.traits.cluster.name.as_deref(), Some("demo"));
}

#[test]
fn nodeadm_decodes_base64_of_base64() {
    let data = |ami: &str, text: &str| {
        let data = json!({ "ImageId": ami, "InstanceType": "m5.large", "UserData": base64(&base64(text)) });
        machine(&json!({ "LaunchTemplateData": data }).to_string())
    };
    for ami in [AL2023, "ami-0123456789abcdef0"] {
        let config = data(ami, CONFIG);
        assert_eq!(user_data(&config), CONFIG);
        assert_eq!(config.traits.ami_family, Some(AmiFamily::Al2023));
        let has_note = config
            .notes
            .iter()
            .any(|note| note.contains("nodeadm decodes it again"));
        assert!(has_note, "{:?}", config.notes);
    }
    let script = data(AL2023, super::SCRIPT);
    assert_eq!(user_data(&script), base64(super::SCRIPT));
    let of_al2 = AL2023.replace("amazon-linux-2023/x86_64/standard", "amazon-linux-2");
    assert_eq!(user_data(&data(&of_al2, CONFIG)), base64(CONFIG));
}

#[test]
fn a_node_config_of_another_group_is_named() {
    for api in ["node.eks.amazonaws.com/v1alpha1", "node.k8s.aws/v1alpha1"] {
        let text = CONFIG.replace("node.eks.aws/v1alpha1", api);
        let error = refused("x.yaml", &text);
        assert_eq!(
            error,
            format!(
                "line 1: nodeadm rejects the NodeConfig: its `apiVersion` is `{api}`, and `node.eks.aws/v1alpha1` is expected\n  \
                 hint: write `apiVersion: node.eks.aws/v1alpha1`"
            )
        );
    }
    assert_eq!(read(CONFIG).format, FileFormat::NodeConfig);
    let of_other =
        "apiVersion: scylla.scylladb.com/v1alpha1\nkind: NodeConfig\nspec:\n  localDiskSetup: {}\n";
    let error = refused("x.yaml", of_other);
    assert!(!error.contains("nodeadm"), "{error}");
}

#[test]
fn settings_below_another_name_are_named() {
    let error = refused("x.toml", &SETTINGS.replace("settings", "setting"));
    assert!(
        error.starts_with("line 1: Bottlerocket rejects the user data: it has a table `setting`"),
        "{error}"
    );
    let other = refused("x.toml", "[setting.display]\nlight = 1\n");
    assert!(!other.contains("Bottlerocket rejects"), "{other}");
}

#[test]
fn an_indented_message_names_the_blanks() {
    let right = message("text/x-shellscript", super::SCRIPT);
    let indented: String = right.lines().map(|line| format!("  {line}\n")).collect();
    for (text, line) in [(indented.clone(), 1), (format!("\n{indented}"), 2)] {
        assert_eq!(
            refused("user-data", &text),
            format!(
                "line {line}: the MIME message is indented: cloud-init finds no header in it, takes it for plain text and runs nothing of \
                 it\n  hint: remove the first 2 characters of each line, as `cut -c3-` does"
            )
        );
    }
    let in_script = format!("#!/bin/bash\ncat <<EOF\n{indented}EOF\n/etc/eks/bootstrap.sh demo\n");
    for text in [right, in_script] {
        machine(&text);
    }
}

#[test]
fn a_line_with_escapes_of_json_is_unwrapped() {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('\n', "\\n");
    let quoted = "#!/bin/bash\n/etc/eks/bootstrap.sh demo \\\n  --kubelet-extra-args \"--node-labels=a=b\"\n";
    let of_json = serde_json::to_string(quoted).unwrap();
    let config = "#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh demo\n";
    let in_message = message("text/x-shellscript", quoted);
    for (text, file) in [
        (quoted, escaped(quoted)),
        (quoted, of_json.trim_matches('"').to_owned()),
        (config, escaped(config)),
        (in_message.as_str(), escaped(&in_message)),
    ] {
        let imported = read(&format!("{file}\n"));
        assert_eq!(user_data(&imported.machines[0]), text, "{file}");
        assert!(
            imported.notes[0].contains("runs nothing of it"),
            "{:?}",
            imported.notes
        );
    }
    for text in [
        "#!/bin/bash\nprintf 'a\\nb'\n/etc/eks/bootstrap.sh demo\n",
        CONFIG,
    ] {
        assert_eq!(read(text).notes, [""; 0], "{text}");
    }
}

#[test]
fn a_script_with_a_byte_of_another_encoding_names_its_line() {
    let script = b"#!/bin/bash\n# d\xe9marre\n/etc/eks/bootstrap.sh demo\n";
    let error = read_with("x.sh", script, &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 2: the byte e9 is not UTF-8, and nodejoin reads files in UTF-8 only"
    );
    let binary = b"\x7fELF\x00\xff\x00#!/bin/bash";
    let error = read_with("x", binary, &[]).unwrap_err().to_string();
    assert!(error.contains("begins with the bytes 7f 45"), "{error}");
}
