//! Calls of the bootstrap script by other programs, and calls of kubeadm with a configuration.

use super::*;

const FILE: &str = "/etc/kubernetes/join.yaml";
const JOIN: &str = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    \
                    apiServerEndpoint: api.k8s.internal:6443\n    token: abcdef.0123456789abcdef\nnodeRegistration:\n  \
                    kubeletExtraArgs:\n    node-labels: \"pool=a,disk=ssd\"\n  taints:\n  \
                    - {key: dedicated, value: a, effect: NoSchedule}\n";

fn user_data(text: &str) -> String {
    let trial = adopt(&machine(text), &BTreeMap::new()).unwrap();
    String::from_utf8(trial.user_data.unwrap()).unwrap()
}

/// A script that writes this file and calls kubeadm with it.
fn joining(configuration: &str) -> String {
    format!("#!/bin/bash\ncat <<EOF > {FILE}\n{configuration}EOF\nkubeadm join --config {FILE}\n")
}

#[test]
fn programs_that_run_the_script_and_arrays_pass_its_arguments() {
    let call = "/etc/eks/bootstrap.sh";
    let arguments = "demo --kubelet-extra-args \"--node-labels=a=b\"";
    for text in [
        format!("timeout 300 bash -x {call} {arguments} || shutdown -h now"),
        format!("timeout 300 bash -c '{call} {arguments}'"),
        format!("eval '{call} {arguments}'"),
        format!("ARGS=({arguments})\n{call} \"${{ARGS[@]}}\""),
        format!("ARGS='demo --kubelet-extra-args --node-labels=a=b'\n{call} $ARGS"),
    ] {
        let report = shown(&machine(&format!("#!/bin/bash\n{text}\n")));
        assert_has(
            &report,
            &["adopted: cluster name demo\n", "expected: label a=b\n"],
        );
        assert!(!report.contains("not checked"), "{report}");
    }
    let by_function = format!("#!/bin/bash\njoin_cluster() {{ {call} \"$@\"; }}\njoin_cluster {arguments}\n");
    assert_has(
        &shown(&machine(&by_function)),
        &[
            "not checked: `--node-labels=a=b`: a call of bootstrap.sh has arguments that are known in a run only",
        ],
    );
}

#[test]
fn values_of_a_call_in_python_that_only_a_run_shows_are_not_expected() {
    let report = |list: &str| {
        let text =
            format!("#!/usr/bin/env python3\nimport subprocess\nsubprocess.run([{list}], check=True)\n");
        shown(&machine(&text))
    };
    let filled_in =
        report("\"/etc/eks/bootstrap.sh\", name, '--kubelet-extra-args', f\"--node-labels=a=b,pool={pool}\"");
    let joined = report(
        "\"/etc/eks/bootstrap.sh\", \"demo\", \"--kubelet-extra-args\", \"--node-labels=a=b,pool=\" + pool",
    );
    for report in [filled_in, joined] {
        assert_has(&report, &["expected: label a=b\n"]);
        assert!(!report.contains("expected: label pool"), "{report}");
    }
}

#[test]
fn flags_behind_a_carriage_return_are_expected_and_missed() {
    let text = |first: &str| {
        format!(
            "#!/bin/bash{first}\n/etc/eks/bootstrap.sh demo \\\r\n  --kubelet-extra-args \"--node-labels=a=b\"\r\n"
        )
    };
    assert_has(
        &shown(&machine(&text(""))),
        &[
            "adopted: cluster name demo\n",
            "expected: label a=b: has no effect where it stands",
            "note: the call of bootstrap.sh ends at line 2, because a carriage return follows its backslash",
        ],
    );
    // cloud-init converts the whole script.
    let crlf = shown(&machine(&text("\r")));
    assert_has(&crlf, &["expected: label a=b\n"]);
    assert!(!crlf.contains("carriage return"), "{crlf}");
}

#[test]
fn a_configuration_of_kubeadm_is_read() {
    let indented: String = JOIN.lines().map(|line| format!("    {line}\n")).collect();
    let written = format!(
        "#cloud-config\nwrite_files:\n- path: {FILE}\n  content: |\n{indented}runcmd:\n- kubeadm join --config {FILE}\n"
    );
    let quoted = JOIN.replace('"', "");
    let printed = format!("#!/bin/bash\necho \"---\n{quoted}\" > {FILE}\nkubeadm join --config {FILE}\n");
    let list = JOIN.replace("    node-labels: ", "  - name: node-labels\n    value: ");
    for text in [joining(JOIN), written, printed, joining(&list)] {
        let report = shown(&machine(&text));
        assert_has(
            &report,
            &[
                "replaced: the endpoint `api.k8s.internal:6443`",
                "expected: label disk=ssd\n",
                "expected: label pool=a\n",
                "expected: taint dedicated=a:NoSchedule when the node registers\n",
            ],
        );
        assert!(!report.contains("not checked"), "{report}");
        let text = user_data(&text);
        assert!(
            text.contains("apiServerEndpoint: {{ cluster.api_server }}\n"),
            "{text}"
        );
    }
}

#[test]
fn what_only_a_run_shows_of_a_configuration_of_kubeadm_is_not_checked() {
    let open = JOIN
        .replace("pool=a,", "pool=$POOL,")
        .replace("value: a", "value: $VALUE");
    let open = joining(&open).replacen('\n', "\nPOOL=$(pool)\nVALUE=$(value)\n", 1);
    let report = shown(&machine(&open));
    assert_has(
        &report,
        &[
            "expected: label disk=ssd\n",
            "not checked: the label `pool=$POOL`\n",
            "not checked: a taint of the JoinConfiguration\n",
        ],
    );
    assert!(!report.contains("expected: taint"), "{report}");
    let both = format!("{JOIN}---\n{}", JOIN.replace("pool=a", "pool=b"));
    let both = shown(&machine(&joining(&both)));
    assert_has(
        &both,
        &["not checked: labels and taints of several JoinConfigurations of kubeadm\n"],
    );
    assert!(!both.contains("expected: label"), "{both}");
}

#[test]
fn a_configuration_that_kubeadm_does_not_read_states_nothing() {
    let other = joining(JOIN).replace("--config /etc/kubernetes/join.yaml", "a.example.com:6443");
    let report = shown(&machine(&other));
    assert_has(&report, &["replaced: the endpoint `a.example.com:6443`"]);
    assert!(!report.contains("expected: label"), "{report}");
    let without = JOIN.replace("kubeadm.k8s.io/", "example.com/");
    assert!(!shown(&machine(&joining(&without))).contains("expected: label"));
}
