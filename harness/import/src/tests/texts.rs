//! Files that are user data themselves, and files that are not rendered yet.

use super::{SCRIPT, all_refused, base64, gzip, machine, read, read_with, refused, user_data};
use crate::{AmiFamily, FileFormat, System};

const MIME: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n\
                    Content-Type: text/x-shellscript\n\n#!/bin/bash\necho\n--//--\n";

#[test]
fn user_data_is_taken_as_it_is() {
    for (text, format) in [
        (SCRIPT, FileFormat::ShellScript),
        (MIME, FileFormat::Mime),
        (
            "#!/bin/bash\ncat > /m <<EOF\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n--//--\nEOF\n\
             /etc/eks/bootstrap.sh demo\n",
            FileFormat::ShellScript,
        ),
        ("#cloud-config\nruncmd: []\n", FileFormat::CloudConfig),
        ("\n #Cloud-Config \nruncmd: []\n", FileFormat::CloudConfig),
        ("#cloud-boothook\n#!/bin/sh\n", FileFormat::CloudInit),
        ("#include\nhttps://example.com/x\n", FileFormat::CloudInit),
        (
            "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n",
            FileFormat::NodeConfig,
        ),
        (
            "{\"apiVersion\": \"node.eks.aws/v1alpha1\", \"kind\": \"NodeConfig\"}",
            FileFormat::NodeConfig,
        ),
    ] {
        let imported = read(text);
        assert_eq!(imported.format, format, "{text}");
        assert_eq!(user_data(&imported.machines[0]), text);
        assert_eq!(imported.machines[0].system, System::Linux);
        assert_eq!(imported.machines[0].notes, [""; 0], "{text}");
    }
}

#[test]
fn other_systems_are_recognized() {
    let windows = machine("<powershell>\n& $x -EKSClusterName demo\n</powershell>\n");
    assert_eq!(
        (windows.system, windows.traits.ami_family),
        (System::Windows, Some(AmiFamily::Windows))
    );
    let bottlerocket = machine("# ours\n[settings.kubernetes]\nmax-pods = 1_500\n");
    assert_eq!(bottlerocket.system, System::Bottlerocket);
    assert_eq!(
        refused("x.toml", "[settings.kubernetes]\ncluster-name = demo\n")
            .lines()
            .next(),
        Some("line 2, column 16: invalid TOML: string values must be quoted, expected literal string")
    );
}

#[test]
fn names_without_values_precede_invalid_toml() {
    let text = "[settings.kubernetes]\ncluster-name = \"${cluster}\"\nmax-pods = ${pods}\n";
    let error = refused("x.toml", text);
    assert!(error.contains("`cluster` (line 2), `pods` (line 3)"), "{error}");
    let quoted = "[settings.kubernetes]\ncluster-name = \"${cluster}\"\nmax-pods = x\n";
    assert!(!refused("x.toml", &quoted.replace("${cluster}", "demo")).contains("cluster"));
}

#[test]
fn the_output_of_terraform_is_unwrapped() {
    for text in [
        format!("<<EOT\n{SCRIPT}\nEOT\n"),
        format!("user_data = <<EOT\n{SCRIPT}\nEOT\n"),
        format!("\"{}\"\n", base64(SCRIPT)),
    ] {
        let imported = read(&text);
        assert_eq!(imported.format, FileFormat::ShellScript, "{text}");
        assert_eq!(user_data(&imported.machines[0]), SCRIPT);
        assert!(
            imported.notes[0].contains("as `terraform output` prints it without `-raw`"),
            "{:?}",
            imported.notes
        );
    }
}

#[test]
fn encodings_are_removed_until_user_data_appears() {
    let once = read(&format!("{}\n", base64(SCRIPT)));
    assert_eq!(user_data(&once.machines[0]), SCRIPT);
    assert!(
        once.notes[0].contains("instances receive it decoded"),
        "{:?}",
        once.notes
    );

    let packed = gzip(SCRIPT);
    let compressed = read_with("file", &packed, &[]).unwrap();
    assert_eq!(
        compressed.machines[0].user_data,
        Some(packed),
        "EC2 hands over what it was given"
    );
    assert_eq!(compressed.format, FileFormat::ShellScript);

    let document = read_with(
        "plan.json.gz",
        &gzip("{\"LaunchTemplateVersions\":[{\"LaunchTemplateName\":\"a\",\"LaunchTemplateData\":{}}]}"),
        &[],
    );
    assert_eq!(document.unwrap().format, FileFormat::LaunchTemplateVersions);
}

#[test]
fn what_cloud_init_ignores_is_noted() {
    let script = machine("/etc/eks/bootstrap.sh demo\n");
    assert!(
        script.notes[0].contains("does not begin with `#!`"),
        "{:?}",
        script.notes
    );
    assert!(
        machine("  #!/bin/bash\n/etc/eks/bootstrap.sh demo\n")
            .notes
            .is_empty(),
        "cloud-init skips white space when it looks for the type"
    );
    let config = "runcmd:\n- /etc/eks/bootstrap.sh demo\n";
    for (begin, why) in [
        (
            "",
            "the file has keys of a cloud-config and does not begin with `#cloud-config`",
        ),
        ("# cloud-config\n", "`# cloud-config` is not `#cloud-config`"),
        ("# Cloud-Config\n", "`# Cloud-Config` is not `#cloud-config`"),
        (
            "---\n#cloud-config\n",
            "`#cloud-config` is not at the beginning of the file",
        ),
    ] {
        let config = machine(&format!("{begin}{config}"));
        assert!(config.problems[0].starts_with(why), "{:?}", config.problems);
        assert_eq!(config.notes, [""; 0], "{begin}");
    }
    let shebang = machine(&format!("#!/bin/bash\n{MIME}"));
    assert!(
        shebang.problems[0].contains("as one script"),
        "{:?}",
        shebang.problems
    );
    let other = machine(&format!("ours\n{MIME}"));
    assert!(other.notes[0].contains("as a MIME message"), "{:?}", other.notes);
}

#[test]
fn user_data_over_the_limit_is_noted() {
    let exact = format!("#!/bin/bash\n{}", "#".repeat(16384 - 12));
    assert!(machine(&exact).notes.is_empty());
    let large = machine(&format!("{exact}#"));
    assert_eq!(
        large.notes,
        ["the user data has 16385 bytes, but EC2 allows 16384"]
    );
}

#[test]
fn sources_are_refused_with_the_command_that_renders_them() {
    let refusals = [
        (
            "main.tf",
            "# nodes\nresource \"aws_launch_template\" \"a\" {\n}\n",
        ),
        ("-", "module \"eks\" {\n}\n"),
        (
            "-",
            "locals {\n  x = <<EOF\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"a\"\n\n--a\nEOF\n}\n",
        ),
        (
            "user-data.tpl",
            "#!/bin/bash\n/etc/eks/bootstrap.sh ${cluster_name}\n",
        ),
        (
            "nodeclass.yaml",
            "apiVersion: karpenter.k8s.aws/v1\nname: {{ .Values.name }}\n",
        ),
        ("stack.ts", "import * as eks from 'aws-cdk-lib/aws-eks';\n"),
        ("index.ts", "import * as eks from '@pulumi/eks';\n"),
        ("plan.json", "{\"@level\":\"info\"}\n{\"@level\":\"info\"}\n"),
        ("tfplan", "PK\u{3}\u{4}x"),
        (
            "plan.txt",
            "Terraform will perform the following actions:\n\n  + resource \"aws_launch_template\" \"a\" {\n    }\n",
        ),
        ("qa.tfvars", "user_data = \"IyEvYmluL2Jhc2g=\"\n"),
    ];
    insta::assert_snapshot!(all_refused(&refusals));
}

/// cloud-init runs a script in any language.
#[test]
fn a_script_is_user_data_whatever_the_name_of_its_file() {
    let script = "#!/usr/bin/python3\nimport subprocess\nsubprocess.check_call([\"/etc/eks/bootstrap.sh\", \"demo\"])\n";
    let imported = read_with("userdata.py", script.as_bytes(), &[]).unwrap();
    assert_eq!(imported.format, FileFormat::ShellScript);
    assert_eq!(user_data(&imported.machines[0]), script);
    let program = |library: &str| script.replace("import subprocess", &format!("import {library}"));
    for (name, text, kind) in [
        ("app.py", program("aws_cdk as cdk"), "the CDK"),
        ("__main__.py", program("pulumi_eks as eks"), "Pulumi"),
        (
            "app.ts",
            "import {\n  aws_eks,\n} from 'aws-cdk-lib';\n".to_owned(),
            "the CDK",
        ),
    ] {
        let error = read_with(name, text.as_bytes(), &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("source code of {kind}")), "{error}");
    }
    let other = refused("app.py", &script.replace("#!/usr/bin/python3\n", ""));
    assert!(
        other.starts_with(
            "`app.py` is a program, not user data\n  hint: give the user data that it passes on"
        ),
        "{other}"
    );
    let handler = "#part-handler\ndef list_types():\n    return [\"text/x\"]\n";
    let imported = read_with("handler.py", handler.as_bytes(), &[]).unwrap();
    assert_eq!(imported.format, FileFormat::CloudInit);
}

#[test]
fn code_with_settings_of_bottlerocket_in_a_text_is_not_their_template() {
    let code = "module \"eks\" {\n  name = \"${local.name}-br\"\n  settings = <<-EOT\n    [settings.kubernetes]\n    max-pods = 20\n  EOT\n}\n";
    for name in ["main.tf", "-"] {
        let error = refused(name, code);
        assert!(
            error.starts_with("line 1: Terraform code that is not rendered yet"),
            "{error}"
        );
    }
    let settings = refused("-", "[settings.kubernetes]\nmax-pods = ${pods}\n");
    assert!(settings.contains("`pods` (line 2)"), "{settings}");
}

#[test]
fn a_template_with_all_values_is_rendered() {
    let text = "#!/bin/bash\nX=$${HOME}\n/etc/eks/bootstrap.sh ${name} ${args}\n";
    let imported = read_with("u.tpl", text.as_bytes(), &[("name", "demo"), ("args", "--x")]).unwrap();
    assert_eq!(
        user_data(&imported.machines[0]),
        "#!/bin/bash\nX=${HOME}\n/etc/eks/bootstrap.sh demo --x\n"
    );
    let error = read_with("u.tpl", text.as_bytes(), &[("name", "demo")]).unwrap_err();
    assert_eq!(error.line(), Some(3));
    // Everything that is missing is named at once.
    let error = read_with("u.tpl", text.as_bytes(), &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("no value: `args` (line 3), `name` (line 3)"),
        "{error}"
    );
    assert!(
        error.hint().contains("`--set args=VALUE --set name=VALUE`"),
        "{}",
        error.hint()
    );
    let stripped = "#!/bin/bash\n${pre ~}\n  /etc/eks/bootstrap.sh ${ name }\n\n${~ args}\n";
    let error = read_with("u.tpl", stripped.as_bytes(), &[]).unwrap_err();
    assert!(
        error
            .hint()
            .contains("`--set args=VALUE --set name=VALUE --set pre=VALUE`")
    );
    let set = [("name", "demo"), ("args", "--x"), ("pre", "date;")];
    let rendered = read_with("u.tpl", stripped.as_bytes(), &set).unwrap();
    assert_eq!(
        user_data(&rendered.machines[0]),
        "#!/bin/bash\ndate;/etc/eks/bootstrap.sh demo--x\n"
    );
    for (text, words) in [
        (
            "#!/bin/bash\necho ${name)\n",
            "line 2: a template of Terraform with `${` and no `}`",
        ),
        (
            "#!/bin/bash\n\n%{ if proxy }\n%{ endif }\n",
            "line 3: a template of Terraform with `%{ }`",
        ),
    ] {
        let error = read_with("u.tpl", text.as_bytes(), &[("proxy", "x")]).unwrap_err();
        assert!(error.to_string().starts_with(words), "{error}");
    }
}

#[test]
fn source_code_with_user_data_in_it_is_source_code() {
    let text = format!("import pulumi\nuser_data = f\"\"\"{MIME}\"\"\"\n");
    let error = read_with("__main__.py", text.as_bytes(), &[]).unwrap_err();
    assert!(error.to_string().contains("source code of Pulumi"), "{error}");
}

#[test]
fn other_files_are_refused() {
    let refusals = [
        ("empty", ""),
        ("prose.txt", "Dear node,\nplease join.\n"),
        ("list.json", "[1, 2]"),
        ("broken.json", "{\"a\": "),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\n"),
    ];
    insta::assert_snapshot!(all_refused(&refusals));
    let binary = read_with("a.out", b"\x7fELF\xff\xfe", &[]).unwrap_err();
    assert!(
        binary
            .to_string()
            .ends_with("it begins with the bytes 7f 45 4c 46 ff fe"),
        "{binary}"
    );
    let utf16 = read_with("a", b"\xff\xfe#\0!\0", &[]).unwrap_err();
    assert!(utf16.hint().contains("PowerShell"), "{utf16}");
    let damaged = read_with("a.gz", &gzip(SCRIPT)[..20], &[]).unwrap_err();
    assert!(
        damaged.to_string().starts_with("damaged gzip data: "),
        "{damaged}"
    );
}
