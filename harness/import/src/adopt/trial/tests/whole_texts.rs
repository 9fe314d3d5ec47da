//! Mistakes that only a whole script, or all NodeConfigs together, show, and disks that a trial lacks.

use super::*;

#[test]
fn a_node_config_without_a_cluster_is_named_where_eks_adds_none() {
    let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 110\n";
    assert_has(
        &shown(&machine(config)),
        &[
            "note: no NodeConfig of the user data has `spec.cluster.name`, `spec.cluster.apiServerEndpoint`, \
             `spec.cluster.certificateAuthority`, `spec.cluster.cidr`: nodeadm ends with `Name is missing in cluster configuration`",
        ],
    );
    let message = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: application/node.eks.aws\n\n{config}--B--\n"
    );
    let written = format!("#!/bin/bash\ncat > /etc/eks/nodeadm.d/a.yaml <<'EOF'\n{config}EOF\n");
    for text in [message, written] {
        let shown = shown(&machine(&text));
        assert!(!shown.contains("no NodeConfig"), "{shown}");
    }
}

#[test]
fn a_wrong_network_and_a_missing_grace_period_are_named_with_their_lines() {
    let config = node_config(
        "kubelet: { config: { evictionSoft: { memory.available: 500Mi } } }",
        "",
    );
    let config = config.replace("10.100.0.0/16", "10.100.0.0/33");
    assert_has(
        &shown(&machine(&config)),
        &[
            "note: `spec.cluster.cidr` (line 5) is `10.100.0.0/33`, and a network such as",
            "note: `spec.kubelet.config.evictionSoft` has `memory.available` (line 4), and `evictionSoftGracePeriod` does not",
        ],
    );
}

#[test]
fn a_value_of_the_kubelet_or_of_containerd_that_is_rejected_is_named_with_its_line() {
    let config = node_config(
        "containerd: { config: \"a = b\" }\n  kubelet: { config: { kubeReserved: { memory: 100MB } } }",
        "",
    );
    assert_has(
        &shown(&machine(&config)),
        &[
            "note: nodeadm ends before it starts the kubelet: `spec.containerd.config` (line 4) is not valid TOML: ",
            "note: the kubelet rejects its configuration: `spec.kubelet.config.kubeReserved.memory` (line 5) is `100MB`, and a quantity",
        ],
    );
}

#[test]
fn a_dns_address_that_is_none_is_named_and_not_expected() {
    let text = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --dns-cluster-ip 10.100.0.0/16\n";
    let shown = shown(&machine(text));
    assert_has(
        &shown,
        &[
            "note: the cluster DNS `10.100.0.0/16` (line 2) is not an IP address: the kubelet ignores it",
            "such as `10.100.0.10`\n",
        ],
    );
    assert!(
        !shown.contains("expected: cluster DNS") && !shown.contains("clusterDNS"),
        "{shown}"
    );
}

#[test]
fn a_script_that_its_shell_does_not_read_is_named() {
    let call = "/etc/eks/bootstrap.sh demo --kubelet-extra-args";
    for (text, note) in [
        (
            format!("{call} '--node-labels=a=b\n"),
            "note: the single quote in line 2 has no end",
        ),
        (
            format!("if true; then\n{call} '--node-labels=a=b'\n"),
            "note: `if` in line 2 has no `fi`",
        ),
        (
            format!("exit 0\n{call} '--node-labels=a=b'\n"),
            "note: `exit` in line 2 ends the script: the call of bootstrap.sh in line 3 does not run\n",
        ),
    ] {
        let shown = shown(&machine(&format!("#!/bin/bash\n{text}")));
        assert_has(&shown, &[note, "expected: label a=b"]);
        assert!(!shown.contains("drop-in"), "the call does not run: {shown}");
    }
}

#[test]
fn another_name_of_the_cluster_is_named() {
    let text = "#!/bin/bash\nif a; then /etc/eks/bootstrap.sh one; else /etc/eks/bootstrap.sh two; fi\n";
    assert_has(
        &shown(&machine(text)),
        &[
            "adopted: cluster name one\n",
            "note: calls of bootstrap.sh name several clusters, one, two: ",
        ],
    );
}

#[test]
fn a_disk_that_the_type_of_the_trial_lacks_is_named() {
    let mut machine = machine("#!/bin/bash\nmkfs.ext4 /dev/nvme1n1\n/etc/eks/bootstrap.sh demo\n");
    let note = "note: the user data names /dev/nvme1n1 (line 2), and m5.large, the type of the trial";
    assert_has(&shown(&machine), &[note]);
    machine.traits.instance_type = Some("m5d.large".to_owned());
    assert!(!shown(&machine).contains("/dev/nvme1n1"));
}
