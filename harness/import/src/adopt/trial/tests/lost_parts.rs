//! MIME messages of which cloud-init or nodeadm reads nothing, or not all.

use super::*;

const HEADER: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n";
const CONFIG: &str = "Content-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  \
                      cluster: { name: demo, apiServerEndpoint: \"https://a.gr7.eu-west-1.eks.amazonaws.com\", certificateAuthority: Y2E=, \
                      cidr: 10.100.0.0/16 }\n  kubelet: { flags: [--node-labels=a=b] }\n";
const SCRIPT: &str = "Content-Type: text/x-shellscript\n\n#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args \
                      '--node-labels=a=b'\n";

fn message_of(part: &str) -> String {
    format!("{HEADER}\n--//\n{part}\n--//--\n")
}

/// The problems in the report about user data.
fn problems(text: &str) -> Vec<String> {
    let trial = adopt(&machine(text), &BTreeMap::new()).unwrap();
    let of_problems = trial
        .report
        .into_iter()
        .filter(|line| line.kind == AdoptionKind::Problem);
    // The certificate is a short one.
    of_problems
        .map(|line| line.text)
        .filter(|text| !text.contains("is not the whole base64"))
        .collect()
}

#[test]
fn a_message_that_its_readers_take_has_no_problem() {
    for part in [CONFIG, SCRIPT] {
        let right = message_of(part);
        for text in [
            right.clone(),
            right.replace('\n', "\r\n"),
            right.replace("\"//\"", "\"//\"; charset=\"utf-8\""),
            right
                .replace("\"//\"", "\"==BOUNDARY==\"")
                .replace("--//", "--==BOUNDARY=="),
            right.replace("\"//\"", "X").replace("--//", "--X"),
            right.replace("mixed; ", "mixed;\n\t"),
            right.replacen("--//\n", "preamble\n--//\n", 1),
            right.replacen(
                "\n\n",
                "\nContent-Transfer-Encoding: 7bit\nMIME-Version: 1.0\n\n",
                2,
            ),
        ] {
            assert_eq!(problems(&text), [""; 0], "{text}");
        }
    }
    let printable = SCRIPT.replacen("\n\n", "\nContent-Transfer-Encoding: quoted-printable\n\n", 1);
    assert_eq!(problems(&message_of(&printable.replace('=', "=3D"))), [""; 0]);
    // nodeadm needs no version, and cloud-init neither quotes nor an empty line behind the header nor an end.
    assert_eq!(
        problems(&message_of(CONFIG).replace("MIME-Version: 1.0\n", "")),
        [""; 0]
    );
    let of_script = message_of(SCRIPT);
    for text in [
        of_script.replace("\"//\"", "//"),
        of_script.replacen("\n\n", "\n", 1),
        of_script.replace("--//--\n", ""),
        of_script.replacen("\n\n#!", "\n#!", 1),
        // A NodeConfig in a file.
        of_script.replacen("\n\n#!", "\n#!", 1).replace(
            "bash\n",
            "bash\ncat >/x <<E\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nE\n",
        ),
    ] {
        assert_eq!(problems(&text), [""; 0], "{text}");
    }
}

#[test]
fn a_message_without_a_part_that_is_read_has_a_problem() {
    for part in [CONFIG, SCRIPT] {
        let right = message_of(part);
        for (text, expected) in [
            (
                right.replace("--//", "--BOUNDARY"),
                "line 4 begins a part, and the boundary of the message is `--//`: no part of the message begins before it, so nothing \
                 reads what follows; write `--//` there, and `--//--` behind the last part",
            ),
            (
                right
                    .replace("\"//\"", "\"==BOUNDARY==\"")
                    .replace("--//", "--BOUNDARY"),
                "line 4 begins a part, and the boundary of the message is `--==BOUNDARY==`",
            ),
            (
                right.replace("--//", " --//"),
                "line 4 is indented, and a boundary begins its line: no part",
            ),
            (
                right.replace("MIME-", "\n\nMIME-"),
                "line 1 is empty, which ends the header of the MIME message before it begins in line 3: cloud-init takes",
            ),
        ] {
            let found = problems(&text);
            assert!(
                found.len() == 1 && found[0].starts_with(expected),
                "{text}{found:?}"
            );
            let shown = shown(&machine(&text));
            assert_has(&shown, &["adopted: cluster name demo\n", "expected: label a=b"]);
            assert!(!shown.contains("the part that EKS adds"), "{shown}");
        }
    }
    let without_version = message_of(SCRIPT).replace("MIME-Version: 1.0\n", "");
    let expected = "the MIME message that begins in line 1 has no `MIME-Version:` in its first 4096 bytes: cloud-init does not";
    assert!(problems(&without_version)[0].starts_with(expected));
    let no_boundary = message_of(SCRIPT).replace("--//", "//");
    assert_eq!(
        problems(&no_boundary),
        [
            "no line is the boundary `--//` of the MIME message: neither cloud-init nor nodeadm finds a part of it, and nothing of it \
             runs"
        ]
    );
}

#[test]
fn a_message_that_only_cloud_init_reads_has_a_problem() {
    let right = message_of(CONFIG);
    for (text, expected) in [
        (
            right.replace("\"//\"", "//"),
            "nodeadm cannot parse the `Content-Type` in line 2, and reads no NodeConfig of the message",
        ),
        (
            right.replacen("\n\n", "\n", 1),
            "no empty line ends the header of the MIME message before line 3: nodeadm",
        ),
        (
            right.replace(
                "--//--",
                &format!("--//\n{}--//--", SCRIPT.replacen("\n\n", "\n", 1)),
            ),
            "no empty line ends the header of a part before line 15: nodeadm",
        ),
        (
            right.replace("--//--\n", ""),
            "no boundary with `--` at its end closes the last part of the MIME message: nodeadm",
        ),
    ] {
        let found = problems(&text);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{text}{found:?}"
        );
    }
    let open = problems(&right.replace("--//--\n", "--OTHER--\n"));
    assert!(
        open.iter()
            .any(|problem| problem.ends_with("; write `--//--` as the last line")),
        "{open:?}"
    );
}

#[test]
fn signs_behind_the_end_of_a_message_are_one_problem() {
    for (part, consequence) in [
        (CONFIG, "nodeadm finds no end and rejects the whole message"),
        (
            SCRIPT,
            "it belongs to the last part, whose script runs it as its last command, which fails",
        ),
    ] {
        let text = message_of(part).replace("--//--", "--//--\\");
        let line = text.lines().count();
        assert_eq!(
            problems(&text),
            [format!(
                "line {line} is not the end of the MIME message, as signs stand behind `--//--`: {consequence}; remove them"
            )]
        );
        assert_has(&shown(&machine(&text)), &["expected: label a=b\n"]);
    }
}

#[test]
fn a_part_without_an_interpreter_does_not_run_on_al2023() {
    let text = message_of(&format!(
        "{CONFIG}\n--//\nContent-Type: text/x-shellscript\n\necho hi\n"
    ));
    assert_eq!(
        problems(&text),
        [
            "part-002 does not begin with `#!`: AL2023 cannot execute it (`Exec format error`), and nothing in it runs; begin it with \
             `#!/bin/bash`"
        ]
    );
    for right in [
        text.replace("echo hi", "#!/bin/sh\necho hi"),
        text.replace("echo hi\n", ""),
        text.replace("x-shellscript", "x-include-url"),
    ] {
        assert_eq!(problems(&right), [""; 0], "{right}");
    }
}

#[test]
fn the_call_in_a_part_of_another_type_is_the_one_of_the_message() {
    let call = "/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=a=b'";
    let script = format!("Content-Type: text/cloud-config\n\n#!/bin/bash\n{call}\n");
    let commands = format!("Content-Type: text/x-shellscript\n\n#cloud-config\nruncmd:\n- {call}\n");
    let words = commands.replace(
        call,
        "[/etc/eks/bootstrap.sh, demo, --kubelet-extra-args, --node-labels=a=b]",
    );
    for (part, problem) in [
        (
            script,
            "part-001 has the type `text/cloud-config` and begins with `#!/bin/bash` (line 7): cloud-init reads it as a cloud-config",
        ),
        (
            commands,
            "part-001 has the type `text/x-shellscript` and begins with `#cloud-config` (line 7): cloud-init before 20.2",
        ),
        (
            words,
            "part-001 has the type `text/x-shellscript` and begins with `#cloud-config` (line 7): cloud-init before 20.2",
        ),
    ] {
        let text = message_of(&part);
        let found = problems(&text);
        assert!(found.len() == 1 && found[0].starts_with(problem), "{found:?}");
        let shown = shown(&machine(&text));
        assert_has(&shown, &["adopted: cluster name demo\n", "expected: label a=b\n"]);
        for other in ["the part that EKS adds", "does not begin with `#!`"] {
            assert!(!shown.contains(other), "{shown}");
        }
    }
}

/// nodeadm reads fields by their exact names, and ends without the name of the cluster.
#[test]
fn a_cluster_in_a_misspelt_spec_is_the_one_that_is_meant() {
    let text = message_of(&CONFIG.replace("spec:", "Spec:"));
    assert_eq!(
        problems(&text),
        ["nodeadm has no field `Spec` (line 9) and ignores it; did you mean `spec`?"]
    );
    let shown = shown(&machine(&text));
    assert_has(
        &shown,
        &[
            "adopted: cluster name demo\n",
            "adopted: endpoint https://a.gr7.eu-west-1.eks.amazonaws.com\n",
            "adopted: service CIDR 10.100.0.0/16\n",
            "expected: label a=b: has no effect where it stands",
            "image: al2023\n",
        ],
    );
    assert!(!shown.contains("the part that EKS adds"), "{shown}");
}

/// Python ends the header before the mark, so the message is one part of plain text.
#[test]
fn a_mark_before_the_header_is_one_note() {
    let text = format!("\u{feff}{}", message_of(SCRIPT));
    let imported = crate::tests::read_with("user-data", text.as_bytes(), &[]).unwrap();
    let shown = shown(&imported.machines[0]);
    assert_has(
        &shown,
        &["note: the user data begins with a UTF-8 byte order mark"],
    );
    assert!(!shown.contains("reads the file as a MIME message"), "{shown}");
}

/// nodeadm reads the parts of the outer message (v20260304: `ParseMultipart`).
#[test]
fn a_node_config_in_an_inner_message_is_expected_and_missing() {
    let inner = format!("{}\n--IN\n{CONFIG}\n--IN--\n", HEADER.replace("//", "IN"));
    let other = CONFIG.replace("a=b", "c=d");
    for (header, line) in [("", 11), ("Content-Type: text/x-shellscript\n\n", 13)] {
        let message = message_of(&format!("{header}{inner}"));
        let with_other = message_of(&format!("{header}{inner}\n--//\n{other}"));
        for text in [message, with_other] {
            assert_eq!(
                problems(&text),
                [format!(
                    "the NodeConfig in line {line} is in a MIME message that is a part itself: nodeadm reads only the parts of the outer \
                     message and does not find it; move its part to the outer message"
                )]
            );
            let shown = shown(&machine(&text));
            assert_has(
                &shown,
                &[
                    "adopted: cluster name demo\n",
                    "expected: label a=b: has no effect where it stands",
                    "image: al2023\n",
                ],
            );
            assert_eq!(
                shown.contains("expected: label c=d\n"),
                text.contains("c=d"),
                "{shown}"
            );
        }
    }
    // cloud-init runs the scripts of an inner message.
    let of_scripts = inner.replace(CONFIG, "Content-Type: text/x-shellscript\n\n#!/bin/sh\necho\n");
    let text = message_of(&format!("{other}\n--//\n{of_scripts}"));
    assert_eq!(problems(&text), [""; 0], "{text}");
}

#[test]
fn a_lost_node_config_with_a_cluster_is_not_one_of_a_managed_group() {
    let script = "Content-Type: text/x-shellscript\n\n#!/bin/bash\necho first\n";
    let closed = message_of(script) + &format!("\n--//\n{CONFIG}\n--//--\n");
    let shown = shown(&machine(&closed));
    assert_has(
        &shown,
        &[
            "adopted: cluster name demo\n",
            "expected: label a=b: has no effect where it stands",
            "note: line 12 and what follows it are behind the end of the MIME message",
            "image: al2023\n",
        ],
    );
    assert!(!shown.contains("the part that EKS adds"), "{shown}");
}
