//! Arguments of the kubelet that systemd splits, and calls that do not reach the bootstrap script.

use super::*;

const CALL: &str = "/etc/eks/bootstrap.sh demo";

fn script(commands: &str) -> String {
    shown(&machine(&format!("#!/bin/bash\nset -ex\n{commands}\n")))
}

#[test]
fn quotes_in_arguments_are_not_part_of_labels_and_taints() {
    for arguments in [
        "'--node-labels=\"role=web\",\"env=prod\" --register-with-taints=\"a=b:NoSchedule\"'",
        "'--node-labels=role=\"web\",env=\"prod\" --register-with-taints=a=\"b\":NoSchedule'",
        "'--node-labels=\"role=web,env=prod\" \"--register-with-taints=a=b:NoSchedule\"'",
    ] {
        let report = script(&format!("{CALL} --kubelet-extra-args {arguments}"));
        assert_has(
            &report,
            &[
                "expected: label env=prod\n",
                "expected: label role=web\n",
                "expected: taint a=b:NoSchedule when the node registers\n",
            ],
        );
        for absent in ["not checked", "note: "] {
            assert!(!report.contains(absent), "{arguments}: {report}");
        }
    }
}

#[test]
fn single_quotes_in_arguments_end_the_line_of_the_drop_in() {
    let report = script(&format!(
        "{CALL} --kubelet-extra-args \"--node-labels='role=web','env=prod'\""
    ));
    assert_has(
        &report,
        &[
            "expected: label env=prod\n",
            "expected: label role=web\n",
            "note: the value of `--kubelet-extra-args` (line 3) has single quotes",
        ],
    );
    let cut = script(&format!(
        "{CALL} --kubelet-extra-args \"'--node-labels=a=b --max-pods=20'\""
    ));
    assert_has(
        &cut,
        &[
            "expected: label a=b\n",
            "expected: capacity for 20 pods: has no effect where it stands",
            "systemd ignores `--max-pods=20` behind the next blank",
        ],
    );
    let lines = script(&format!(
        "{CALL} --kubelet-extra-args '--node-labels=a=b\n  --max-pods=20'"
    ));
    assert_has(
        &lines,
        &[
            "expected: label a=b: has no effect where it stands",
            "expected: capacity for 20 pods: has no effect where it stands",
            "note: the value of `--kubelet-extra-args` (line 3) has a line break",
        ],
    );
    for whole in [
        format!("{CALL} --kubelet-extra-args '--node-labels=a=b \\\n  --max-pods=20'"),
        format!("apt-get update\n{CALL} --kubelet-extra-args '--node-labels=a=b\n  --max-pods=20'"),
    ] {
        let report = script(&whole);
        assert_has(
            &report,
            &["expected: label a=b\n", "expected: capacity for 20 pods\n"],
        );
        assert!(!report.contains("line break"), "{report}");
    }
}

#[test]
fn a_variable_can_be_the_whole_call() {
    let report = script(&format!("CMD=\"{CALL} --use-max-pods false\"\n$CMD"));
    assert_has(&report, &["adopted: cluster name demo\n"]);
    let quoted = script(&format!(
        "CMD=\"{CALL} --kubelet-extra-args '--node-labels=role=web --max-pods=20'\"\n$CMD"
    ));
    assert_has(
        &quoted,
        &[
            "adopted: cluster name demo\n",
            "expected: label role=web: has no effect where it stands",
            "expected: capacity for 20 pods: has no effect where it stands",
            "a single quote in the value of `--kubelet-extra-args` (line 4) has no end",
            "use an array",
        ],
    );
}

#[test]
fn calls_that_get_no_cluster_are_named() {
    assert_has(
        &script("/etc/eks/boostrap.sh demo"),
        &["note: no EKS AMI has `/etc/eks/boostrap.sh` (line 3), and nothing in the user data writes it"],
    );
    assert_has(
        &script("/etc/eks/bootstrap.sh $CLUSTER"),
        &["note: nothing in the user data sets `$CLUSTER` (line 3), and cloud-init does not pass it"],
    );
    assert_has(
        &script(&format!("{CALL} --use-max-pods 110 --container-runtime docker")),
        &[
            "note: bootstrap.sh takes `--use-max-pods 110` (line 3) for `false`",
            "note: bootstrap.sh refuses `--container-runtime docker` (line 3) and exits",
        ],
    );
}
