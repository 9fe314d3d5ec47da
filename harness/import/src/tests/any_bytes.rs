//! No file makes the import panic, and none takes it long.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::{SCRIPT, base64, gzip, read_with};
use crate::adopt;

/// Beginnings that lead into the readers, and words that they look for.
const WORDS: &[&str] = &[
    "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n  kubelet: x\n  amiSelectorTerms: [{ alias: al2023@latest }]\n  userData: |\n    MIME-Version: 1.0\n",
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: { template: { spec: { taints: [x, {}], requirements: 1 } } }\n",
    "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups:\n- taints: x\n- { labels: [], amiFamily: Bottlerocket, bottlerocket: { settings: [1] } }\n",
    "apiVersion: bootstrap.cluster.x-k8s.io/v1\nkind: NodeadmConfig\nspec:\n  files: [1]\n  kubelet: []\n",
    "apiVersion: eks.cattle.io/v1\nspec: { nodeGroups: [x, {}] }\n",
    "Resources:\n  A:\n    Type: AWS::EC2::LaunchTemplate\n    Properties: { LaunchTemplateData: { UserData: !Sub [\"${A\", x] } }\n",
    "Resources:\n  A:\n    Type: AWS::EC2::Instance\n    Condition: []\n    Properties:\n      UserData: !Select [x, !Join [1]]\n",
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"\"\n\n--\n",
    "#cloud-config\n",
    "#!/bin/bash\n",
    "\u{a0}\u{b}\u{2003}",
    "<powershell>\n& EKSBootstrap -\u{e4} '-",
    "[settings.kubernetes]\n",
    "node-taints = { a = [1] }\n",
    "---\n",
    "\n",
    "\r\n",
    "{\"deployment\": {\"resources\": [{\"urn\": \"u\", \"type\": \"aws:eks/nodeGroup:NodeGroup\", \"inputs\": {\"taints\": 1}}]}}",
    "{\"format_version\": \"1\", \"values\": {\"root_module\": {\"resources\": [{\"address\": \"\", \"type\": \"aws_instance\", \"values\": []}]}}}",
    "{\"version\": 4, \"terraform_version\": \"1\", \"resources\": [{\"type\": \"aws_launch_template\", \"instances\": [{\"attributes\": {\"user_data\": \"_\"}}]}]}",
    "{\"LaunchTemplateVersions\": [1, {\"LaunchTemplateData\": []}]}",
    "\u{feff}",
    "${",
    "}",
    "[",
    "*a",
    "&a",
    "<<: ",
    "- ",
    "!GetAtt ",
];

/// What pieces of scripts follow.
const BEGINS: &[&str] = &[
    "#!/bin/bash\n",
    "/etc/eks/bootstrap.sh ",
    "#cloud-config\nruncmd:\n- ",
    "#cloud-config\nwrite_files:\n- path: /a\n  content: |\n    ",
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\n--x\nContent-Type: text/x-shellscript\n\n",
    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: { name: demo }\n  kubelet:\n    flags:\n    - ",
    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: ",
    "[settings.kubernetes]\napi-server = \"x\"\ncluster-certificate = \"eA==\"\ncluster-name = ",
];
/// Pieces of scripts, with characters that only look like those of a shell.
const SHELL: &[&str] = &[
    "/etc/eks/bootstrap.sh",
    "nodeadm init",
    "kubeadm join",
    " demo",
    " --kubelet-extra-args",
    " --node-labels=a=b",
    " --use-max-pods",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\\\n",
    "\\ \n",
    "\\",
    "'",
    "\"",
    "`",
    "$",
    "$(",
    "${",
    "}",
    "$((",
    "))",
    ")",
    "(",
    "[[ ",
    " ]]",
    "{ ",
    "; }",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "<",
    ">",
    "<<",
    "<<EOF\n",
    "<<'EOF'\n",
    "<<-EOF\n",
    "<<<",
    "EOF\n",
    "2>&1",
    "#",
    "!",
    "=",
    "A=",
    "export A=",
    "if ",
    "then\n",
    "fi\n",
    "for a in ",
    "do\n",
    "done\n",
    "case ",
    "esac\n",
    "function f() {\n",
    "cat > /a",
    "bash -c ",
    "eval ",
    "source ",
    "\u{a0}",
    "\u{2003}",
    "\u{b}",
    "\u{200b}",
    "\u{feff}",
    "\u{201c}",
    "\u{201d}",
    "\u{2013}",
    "\u{e4}",
    "\u{1f600}",
    "\u{e000}",
    "\0",
    "$A",
    "${A",
    "${A:-",
    "%{ if",
    "<A>",
    "{{ a }}",
    "*",
    "~",
    "[",
    "]",
    "^",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), name in "[a-z.]{0,8}") {
        let _ = read_with(&name, &bytes, &[]);
    }

    #[test]
    fn words_of_the_formats_never_panic(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..8), cut in 0usize..400) {
        let text: String = words.concat();
        let end = (0..=cut.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        for text in [text.as_str(), &text[..end]] {
            if let Ok(imported) = read_with("file", text.as_bytes(), &[("A", "b")]) {
                for machine in &imported.machines {
                    let _ = adopt(machine, &BTreeMap::new());
                }
            }
            let _ = read_with("file", base64(text).as_bytes(), &[]);
            let _ = read_with("u.tpl", &gzip(text), &[]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_user_data_can_be_tried(pieces in proptest::collection::vec(proptest::sample::select(SHELL), 0..40)) {
        for begin in BEGINS {
            let text = format!("{begin}{}", pieces.concat());
            let Ok(imported) = read_with("file", text.as_bytes(), &[]) else { continue };
            for machine in &imported.machines {
                let _ = adopt(machine, &BTreeMap::new());
            }
        }
    }
}

#[test]
fn each_word_alone_does_not_panic() {
    for word in WORDS {
        let _ = read_with("file", word.as_bytes(), &[]);
    }
}

#[test]
fn only_nodeadm_decodes_user_data_a_second_time() {
    let twice = |text: &str| read_with("file", base64(&base64(text)).as_bytes(), &[]);
    let error = twice(SCRIPT).unwrap_err().to_string();
    assert!(error.contains("encoded twice in base64"), "{error}");
    let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n";
    assert_eq!(twice(config).unwrap().machines.len(), 1);
}

#[test]
fn bombs_are_errors() {
    let mut aliases = "apiVersion: eksctl.io/v1alpha5\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let list = vec![format!("*a{}", level - 1); 10].join(", ");
        aliases.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    let deep =
        |open: &str, close: &str| format!("apiVersion: {}{}", open.repeat(100_000), close.repeat(100_000));
    let json_deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut nested = SCRIPT.to_owned();
    for _ in 0..8 {
        nested = base64(&nested);
    }
    for (text, expected) in [
        (aliases, "aliases expand to more than"),
        (deep("[", "]"), "recursion limit exceeded"),
        (deep("{a: ", "}"), "more than 128 nested values"),
        (json_deep, "recursion limit exceeded"),
        (nested, "encoded twice in base64"),
    ] {
        let error = read_with("file", text.as_bytes(), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let wide = json!({"LaunchTemplateVersions": vec![json!({"LaunchTemplateData": {}}); 2_000]});
    assert_eq!(
        read_with("file", wide.to_string().as_bytes(), &[])
            .unwrap()
            .machines
            .len(),
        2_000
    );
}

/// Each of these ended the program once.
#[test]
fn characters_of_typography_can_be_tried() {
    for line in [
        "/etc/eks/bootstrap.sh\u{a0}demo",
        "echo \u{201c}A=b\u{201d}",
        "echo, \u{201c}",
    ] {
        let text = format!("#!/bin/bash\n{line}\n/etc/eks/bootstrap.sh demo\n");
        let imported = read_with("file", text.as_bytes(), &[]).unwrap();
        let trial = adopt(&imported.machines[0], &BTreeMap::new());
        assert!(trial.is_ok(), "{line}");
    }
}
