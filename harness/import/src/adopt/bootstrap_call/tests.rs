//! Calls, and what is wrong with them.

use super::*;
use crate::adopt::shell;
use crate::source_lines::SourceLines;

fn one(text: &str) -> BootstrapCall {
    let mut calls = calls(&shell::read(text));
    assert_eq!(calls.len(), 1, "{text}");
    calls.remove(0)
}

fn ignored(text: &str) -> Vec<String> {
    one(text).ignored(&shell::read(text), &SourceLines::default())
}

#[test]
fn name_and_flags_are_read_in_any_order() {
    for text in [
        "/etc/eks/bootstrap.sh demo --b64-cluster-ca CA --kubelet-extra-args '--max-pods=3'\n",
        "B64=CA\nsudo /etc/eks/bootstrap.sh --b64-cluster-ca $B64 --kubelet-extra-args \"--max-pods=3\" 'demo'\n",
        "bash -x /etc/eks/bootstrap.sh \\\n  --b64-cluster-ca CA \\\n  --kubelet-extra-args --max-pods=3 demo || exit 1\n",
        "timeout 300 bash -x /etc/eks/bootstrap.sh demo --b64-cluster-ca CA --kubelet-extra-args --max-pods=3 || exit 1\n",
        "exec env A=b nice -n 5 /etc/eks/bootstrap.sh demo --b64-cluster-ca CA --kubelet-extra-args --max-pods=3\n",
        "ARGS=(demo --b64-cluster-ca CA)\nARGS+=(--kubelet-extra-args '--max-pods=3')\n/etc/eks/bootstrap.sh \"${ARGS[@]}\"\n",
        "ARGS='demo --b64-cluster-ca CA'\nMORE='--kubelet-extra-args --max-pods=3'\n/etc/eks/bootstrap.sh $ARGS $MORE\n",
        "MORE='--b64-cluster-ca CA'\nARGS=(demo $MORE)\n/etc/eks/bootstrap.sh ${ARGS[@]} --kubelet-extra-args --max-pods=3\n",
        "CALL=(/etc/eks/bootstrap.sh demo --b64-cluster-ca CA --kubelet-extra-args '--max-pods=3')\nretry \"${CALL[@]}\"\n",
    ] {
        let call = one(text);
        assert_eq!(call.cluster.as_deref(), Some("demo"), "{text}");
        assert_eq!(call.values["--b64-cluster-ca"], "CA");
        assert_eq!(call.values["--kubelet-extra-args"], "--max-pods=3");
    }
}

#[test]
fn exported_variables_are_defaults_of_flags() {
    let text = "export KUBELET_EXTRA_ARGS='--v=2'\nUSE_MAX_PODS=false\n/etc/eks/bootstrap.sh demo\n";
    let call = one(text);
    assert_eq!(call.values["--kubelet-extra-args"], "--v=2");
    assert_eq!(call.values.len(), 1);
    assert!(call.flags.is_empty());
}

#[test]
fn commands_that_only_name_the_script_are_no_calls() {
    for text in [
        "sed -i s/a/b/ /etc/eks/bootstrap.sh\n",
        "chmod +x /etc/eks/bootstrap.sh\n",
        "command -v /etc/eks/bootstrap.sh\n",
        "bash -n /etc/eks/bootstrap.sh demo\n",
        "# /etc/eks/bootstrap.sh x\n",
    ] {
        assert_eq!(calls(&shell::read(text)), [], "{text}");
    }
}

#[test]
fn a_flag_with_an_equals_sign_is_not_read() {
    let call = one("/etc/eks/bootstrap.sh demo --kubelet-extra-args='--v=2'\n");
    assert_eq!((call.cluster.as_deref(), call.values.len()), (Some("demo"), 0));
}

#[test]
fn misspelt_and_repeated_flags_are_explained() {
    let ignored = |flags: &str| ignored(&format!("/etc/eks/bootstrap.sh demo {flags}\n")).join("; ");
    assert!(ignored("--api-server-endpoint x").contains("did you mean `--apiserver-endpoint`?"));
    assert!(
        ignored("--node-labels a=b").contains("belong into `--kubelet-extra-args '--node-labels=VALUE'`")
    );
    let twice = "--kubelet-extra-args --v=2 --kubelet-extra-args --v=3";
    assert!(
        ignored(twice).contains("gets `--kubelet-extra-args` several times"),
        "{}",
        ignored(twice)
    );
    assert_eq!(ignored("--kubelet-extra-args --v=2"), "");
    let quoted = ignored("--kubelet-extra-args '--node-labels=a=$(curl -s x)'");
    assert!(quoted.starts_with("no shell evaluates `$(curl ...)`"), "{quoted}");
    assert_eq!(
        ignored("--kubelet-extra-args \"--node-labels=a=$(curl -s x)\""),
        ""
    );
}

#[test]
fn a_flag_without_a_blank_before_it_is_explained() {
    let text = "/etc/eks/bootstrap.sh demo--kubelet-extra-args '--v=2'\n";
    assert_eq!(one(text).cluster.as_deref(), Some("demo"));
    assert!(ignored(text)[0].starts_with("a blank is missing before `--kubelet-extra-args`"));
}

#[test]
fn flags_behind_a_line_without_its_backslash_are_cut_off() {
    for (text, why) in [
        (
            "/etc/eks/bootstrap.sh demo\n  --kubelet-extra-args '--max-pods=3'\n",
            "ends at line 1 of the script, which does not end with a backslash",
        ),
        (
            "/etc/eks/bootstrap.sh demo \\ \n  --kubelet-extra-args '--max-pods=3'\n",
            "ends at line 1 of the script, because a blank follows its backslash",
        ),
        (
            "/etc/eks/bootstrap.sh demo\n--use-max-pods false \\\n--kubelet-extra-args '--max-pods=3'\n",
            "the shell runs `--use-max-pods` (line 2 of the script) as a command",
        ),
        (
            "/etc/eks/bootstrap.sh demo\n\n--use-max-pods false\n# x\n--kubelet-extra-args '--max-pods=3'\n",
            "end that line with `\\`, and remove line 4 of the script",
        ),
        (
            "/etc/eks/bootstrap.sh demo \\\n  # --v \\\n  --kubelet-extra-args '--max-pods=3'\n",
            "ends at the comment in line 2 of the script, which no backslash continues",
        ),
        (
            "/etc/eks/bootstrap.sh demo \\\n\n  --kubelet-extra-args '--max-pods=3'\n",
            "ends at line 2 of the script, which is empty",
        ),
        (
            "/etc/eks/bootstrap.sh demo # x \\\n  --kubelet-extra-args '--max-pods=3'\n",
            "ends at line 1 of the script, because its backslash belongs to a comment",
        ),
        (
            "#!/bin/bash\n/etc/eks/bootstrap.sh demo \\\r\n  --kubelet-extra-args '--max-pods=3'\r\n",
            "ends at line 2 of the script, because a carriage return follows its backslash",
        ),
    ] {
        assert_eq!(one(text).lost_flags(), ["--max-pods=3"], "{text}");
        let notes = ignored(text);
        assert!(notes.last().unwrap().contains(why), "{text}{notes:?}");
    }
    for text in [
        "/etc/eks/bootstrap.sh demo \\\n  --kubelet-extra-args '--max-pods=3'\n",
        "/etc/eks/bootstrap.sh demo \\\r\n  --kubelet-extra-args '--max-pods=3'\r\n",
        "/etc/eks/bootstrap.sh demo\necho x\n--kubelet-extra-args '--max-pods=3'\n",
        "/etc/eks/bootstrap.sh demo\nX=1\n--kubelet-extra-args '--max-pods=3'\n",
        "/etc/eks/bootstrap.sh demo --kubelet-extra-args '\n  --max-pods=3\n  --v=2'\n",
        // Boundaries of a MIME message.
        "/etc/eks/bootstrap.sh demo\n\n--//--\n",
        "/etc/eks/bootstrap.sh demo\n--BOUNDARY\nContent-Type: text/x-shellscript\n",
        "/etc/eks/bootstrap.sh demo\n--node-labels--\n",
    ] {
        assert_eq!(one(text).cut, [], "{text}");
    }
}

#[test]
fn an_unknown_flag_before_the_name_is_taken_for_it() {
    let text =
        "/etc/eks/bootstrap.sh --cluster-name demo --kubelet-extra-arg '--node-labels=a=b --max-pods=3'\n";
    assert_eq!(one(text).cluster.as_deref(), Some("demo"));
    assert_eq!(
        ignored(text),
        [
            "bootstrap.sh of the EKS AMIs has no flag `--cluster-name` (line 1 of the script) and takes it for the name of the \
             cluster, because it stands before the name: write the name without a flag, `bootstrap.sh demo`",
            "bootstrap.sh of the EKS AMIs has no flag `--kubelet-extra-arg` (line 1 of the script): did you mean \
             `--kubelet-extra-args`?"
        ]
    );
    let misspelt = ignored("/etc/eks/bootstrap.sh --kublet-extra-args --v=2 demo\n");
    assert!(
        misspelt[0].contains("and takes it for the name of the cluster"),
        "{misspelt:?}"
    );
    // The value of an unknown flag is not a flag of the script.
    let call = one("/etc/eks/bootstrap.sh demo --unknown --use-max-pods false\n");
    assert_eq!(call.values["--use-max-pods"], "false");
}

#[test]
fn a_call_without_the_name_of_a_cluster_is_named() {
    assert_eq!(
        ignored("/etc/eks/bootstrap.sh --kubelet-extra-args '--node-labels=a=b'\n"),
        [
            "the call of bootstrap.sh names no cluster (line 1 of the script): the script exits without the name; write it behind the \
          path, `/etc/eks/bootstrap.sh NAME`"
        ]
    );
    for arguments in [
        "--use-max-pods false demo",
        "--use-max-pods false $CLUSTER",
        "--use-max-pods false \"$@\"",
        "\"${ARGS[@]}\" --use-max-pods false",
        "--cluster-name demo --use-max-pods false",
        "-x --use-max-pods false",
        "--help",
        "",
    ] {
        let notes = ignored(&format!("/etc/eks/bootstrap.sh {arguments}\n")).concat();
        assert!(!notes.contains("names no cluster"), "{arguments}: {notes}");
    }
}

#[test]
fn what_only_a_run_shows_raises_no_note() {
    for text in [
        "append() { local -n a=$1; shift; a+=(\"$@\"); }\nARGS=(--use-max-pods false)\nappend ARGS demo\nCALL \"${ARGS[@]}\"\n",
        "add() { ARGS+=(\"$@\"); }\nARGS=(--use-max-pods false)\nadd demo\nCALL \"${ARGS[@]}\"\n",
        "ARGS=(--use-max-pods false)\nsource /etc/more-args.sh\nCALL \"${ARGS[@]}\"\n",
        "ARGS=(--use-max-pods false)\neval 'ARGS+=(demo)'\nCALL \"${ARGS[@]}\"\n",
        "ARGS=(--use-max-pods false)\nprintf -v ARGS[2] demo\nCALL \"${ARGS[@]}\"\n",
        "ARGS=(CALL --use-max-pods false)\nARGS+=(demo)\nretry \"${ARGS[@]}\"\n",
        "add() { OPTS=\"$OPTS $1\"; }\nOPTS='--use-max-pods false'\nadd demo\nCALL $OPTS\n",
        "OPTS='--use-max-pods false --dns-cluster-ip 10.100.0.10'\nCALL demo $OPTS\n",
        "EXTRA='--use-max-pods false'\nARGS=(demo)\nARGS+=($EXTRA)\nCALL \"${ARGS[@]}\"\n",
        "A='demo --use-max-pods false'\nCALL $A\n",
    ] {
        let text = text.replace("CALL", BOOTSTRAP);
        assert_eq!(ignored(&text), [""; 0], "{text}");
    }
    let known = "ARGS=(--use-max-pods false)\nCALL \"${ARGS[@]}\"\n".replace("CALL", BOOTSTRAP);
    assert!(ignored(&known)[0].contains("names no cluster"));
    let split = "OPTS='--kubelet-extra-args --v=2 --max-pods=3'\nCALL demo $OPTS\n";
    let split = split.replace("CALL", BOOTSTRAP);
    assert!(ignored(&split)[0].contains("has no flag `--max-pods`"));
}

#[test]
fn kubeadm_joins_by_an_endpoint() {
    let script = shell::read("aws eks list-clusters\nkubeadm join a:6443 --token x\n");
    assert_eq!(kubeadm_join(&script).as_deref(), Some("a:6443"));
}

#[test]
fn a_command_in_the_folder_of_the_script_calls_it() {
    for text in [
        "cd /etc/eks\n./bootstrap.sh demo\n",
        "cd /etc/eks/ && bash -x bootstrap.sh demo\n",
        "(pushd /etc/eks; sudo ./bootstrap.sh demo)\n",
    ] {
        assert_eq!(one(text).cluster.as_deref(), Some("demo"), "{text}");
    }
    for text in [
        "./bootstrap.sh demo\n",
        "cd /opt\n./bootstrap.sh demo\n",
        "cd /etc/eks\ncd /opt\n./bootstrap.sh demo\n",
        "pushd /etc/eks\npopd\n./bootstrap.sh demo\n",
    ] {
        assert_eq!(calls(&shell::read(text)), [], "{text}");
    }
}

#[test]
fn typographic_characters_are_named_with_those_that_are_meant() {
    for (arguments, note) in [
        (
            "--kubelet-extra-args “--v=2”",
            "has a typographic quote, `“` (line 1 of the script): the shell takes it for a letter of a word; write `\"`",
        ),
        ("--kubelet-extra-args ‘--v=2’", "write `'`"),
        ("–use-max-pods false", "has a dash, `–` (line 1 of the script)"),
        (
            "--use-max-pods\u{a0}false",
            "has a no-break space, U+00A0 (line 1 of the script): the shell takes it for a letter of a word; write a blank",
        ),
        (
            "--use-max-pods \u{200b}false",
            "U+200B (line 1 of the script): the shell takes it for a letter of a word; remove it",
        ),
    ] {
        let notes = ignored(&format!("/etc/eks/bootstrap.sh demo {arguments}\n")).join("; ");
        assert!(notes.contains(note), "{arguments}: {notes}");
    }
    let letters = "/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=team=ä'\n";
    assert_eq!(ignored(letters), [""; 0]);
}
