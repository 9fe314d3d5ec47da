//! Names of the cluster that a call of the bootstrap script gets by other programs and functions.

use super::*;

const CALL: &str = "/etc/eks/bootstrap.sh";
const UNKNOWN_NAME: &str =
    "chosen: cluster name: that of the scenario, as only a run shows the one that the user data names";
const EKS_PART: &str = "the part that EKS adds";

fn script(text: &str) -> String {
    shown(&machine(&format!("#!/bin/bash\n{text}\n")))
}

#[test]
fn a_name_is_adopted_wherever_it_stands_behind_the_script() {
    for text in [
        format!(
            "retry() {{ local n=$1; shift; for i in $(seq $n); do \"$@\" && return 0; done; }}\nretry 5 {CALL} demo"
        ),
        format!("/opt/acme/retry.sh 5 {CALL} demo"),
        format!("retry 5 '{CALL} demo --use-max-pods false'"),
        "cd /etc/eks\n./bootstrap.sh demo".to_owned(),
        "cd /etc/eks && sudo ./bootstrap.sh demo".to_owned(),
        format!(
            "cat > /etc/systemd/system/join.service <<'EOF'\n[Service]\nExecStart={CALL} demo\nEOF\nsystemctl start join"
        ),
        format!(
            "cat > /etc/systemd/system/join.service <<EOF\n[Service]\nExecStart=/bin/bash -c '{CALL} demo'\nEOF"
        ),
        format!("boot() {{ {CALL} \"$1\" --use-max-pods false; }}\nboot demo"),
        format!("function boot {{\n  local name=$1\n  {CALL} $name\n}}\nretry 5 boot demo"),
        format!("boot() {{ {CALL} \"$@\"; }}\nboot demo --use-max-pods false"),
        format!("set -- demo --use-max-pods false\n{CALL} \"$@\""),
        format!("{CALL} $(echo demo) --use-max-pods false"),
        format!("NAME=$(printf '%s' demo)\n{CALL} \"$NAME\""),
        format!("su - root -c \"{CALL} demo\""),
        format!("systemd-run --unit=join --no-block {CALL} demo"),
        format!("cloud-init-per once join {CALL} demo"),
        format!("strace -f {CALL} demo"),
        format!("/opt/acme/hold {CALL} demo"),
        format!("echo \"@reboot root {CALL} demo\" > /etc/cron.d/join"),
        format!(
            "NAME=$(name)\nCA=$(aws eks describe-cluster --name demo --output text)\n{CALL} $NAME --b64-cluster-ca $CA"
        ),
    ] {
        let report = script(&text);
        assert_has(&report, &["adopted: cluster name demo\n"]);
        assert!(!report.contains(UNKNOWN_NAME), "{report}");
    }
    for text in [
        "#cloud-config\nbootcmd:\n- cloud-init-per once join /etc/eks/bootstrap.sh demo\n",
        "#cloud-config\nbootcmd:\n- [/etc/eks/bootstrap.sh, demo]\n",
        "#!/usr/bin/env python3\nimport subprocess\nsubprocess.run([\"/etc/eks/bootstrap.sh\", \"demo\"], check=True)\n",
        "#!/usr/bin/env python3\nimport os\nos.system('/etc/eks/bootstrap.sh demo --use-max-pods false')\n",
    ] {
        let report = shown(&machine(text));
        assert_has(&report, &["adopted: cluster name demo\n"]);
        assert!(!report.contains("nothing in this user data starts"), "{report}");
    }
}

#[test]
fn a_word_in_the_arguments_of_another_program_is_not_a_name() {
    for text in [
        format!("cp {CALL} backup"),
        format!("sed -i s/a/b/ {CALL} x"),
        format!("edit() {{ sed -i \"s/$2/$3/\" \"$1\"; }}\nedit {CALL} a b"),
        format!("echo running {CALL} now"),
        format!("log() {{ echo \"$@\"; }}\nlog \"{CALL} failed\""),
        format!("run_log() {{ echo \"would run: $*\"; }}\nrun_log {CALL} demo"),
        format!("retry() {{ local n=$1; shift; logger \"$@\"; }}\nretry 5 {CALL} demo"),
        format!("exec_later() {{ echo \"$1\"; }}\nexec_later '{CALL} demo'"),
        format!("cat <<EOF\nThis runs {CALL} twice\nEOF"),
        format!("# retry 5 {CALL} demo"),
    ] {
        let report = script(&text);
        assert!(!report.contains("adopted: cluster name"), "{report}");
    }
    let python = "#!/usr/bin/env python3\nopen(\"/etc/eks/bootstrap.sh\", \"w\")\n";
    let report = shown(&machine(python));
    assert!(!report.contains("adopted: cluster name"), "{report}");
}

#[test]
fn a_direct_call_takes_precedence() {
    let report = script(&format!(
        "trace {CALL} other\n{CALL} demo --kubelet-extra-args '--node-labels=a=b'"
    ));
    assert_has(
        &report,
        &["adopted: cluster name demo\n", "expected: label a=b\n"],
    );
}

#[test]
fn what_another_program_passes_to_the_script_is_expected() {
    let report = script(&format!(
        "retry 5 {CALL} demo --kubelet-extra-args '--node-labels=a=b'"
    ));
    assert_has(
        &report,
        &[
            "the user data calls /etc/eks/bootstrap.sh",
            "expected: label a=b\n",
        ],
    );
}

#[test]
fn a_name_that_only_a_run_shows_is_named_with_the_option_that_gives_it() {
    for text in [
        format!("CLUSTER=$(name)\n{CALL} $CLUSTER"),
        format!("CLUSTER=$(name)\nretry 5 {CALL} $CLUSTER"),
        "aws eks describe-cluster --name $(name)".to_owned(),
    ] {
        let report = script(&text);
        assert_has(&report, &[UNKNOWN_NAME, "`--with 'cluster: { name: ... }'`"]);
    }
    for text in [
        format!("{CALL} {{{{ cluster.name }}}}"),
        format!("# {CALL} $CLUSTER"),
        "kubeadm join a.example.com:6443 --token x".to_owned(),
    ] {
        let report = script(&text);
        assert!(!report.contains(UNKNOWN_NAME), "{report}");
    }
}

#[test]
fn a_message_that_calls_the_script_by_another_program_is_not_for_a_managed_group() {
    for text in [
        format!(
            "cat > /etc/systemd/system/join.service <<E\n[Service]\nExecStart={CALL} demo\nE\nsystemctl start join"
        ),
        format!("retry 5 {CALL} demo"),
    ] {
        let report = shown(&machine(&message(&text)));
        assert_has(&report, &["adopted: cluster name demo\n"]);
        assert!(!report.contains(EKS_PART), "{report}");
    }
    let early = message("")
        .replace("text/x-shellscript", "text/cloud-config")
        .replace(
            "#!/bin/bash\n",
            "#cloud-config\nbootcmd:\n- cloud-init-per once join /etc/eks/bootstrap.sh demo",
        );
    let report = shown(&machine(&early));
    assert!(!report.contains(EKS_PART), "{report}");
    // A message that changes the script is.
    let report = shown(&machine(&message(&format!("sed -i s/a/b/ {CALL}"))));
    assert_has(&report, &[EKS_PART]);
}
