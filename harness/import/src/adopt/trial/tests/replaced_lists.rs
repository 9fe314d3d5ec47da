//! Cloud-configs whose later parts replace lists of earlier ones.

use super::*;

fn configs(first: &str, second: &str) -> String {
    let part = |text: &str| format!("--B\nContent-Type: text/cloud-config\n\n#cloud-config\n{text}\n");
    format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n{}{}--B--\n",
        part(first),
        part(second)
    )
}

#[test]
fn a_call_in_a_replaced_list_names_the_cluster_and_is_a_problem() {
    let script = "write_files:\n- path: /join.sh\n  content: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\nruncmd:\n- /join.sh";
    for (first, second, note) in [
        (
            "runcmd:\n- /etc/eks/bootstrap.sh demo",
            "runcmd:\n- echo ready",
            "note: `runcmd` of part-001 (line 8) has no effect: part-002 has one, too",
        ),
        (
            script,
            "write_files:\n- path: /etc/motd\n  content: hi",
            "note: `write_files` of part-001 (line 8) has no effect: part-002 has one, too",
        ),
    ] {
        let shown = shown(&machine(&configs(first, second)));
        assert_has(&shown, &["adopted: cluster name demo\n", note]);
        assert!(!shown.contains("the part that EKS adds"), "{shown}");
    }
}

#[test]
fn lists_that_cloud_init_appends_have_no_problem() {
    let merged = "merge_how: list(append)+dict(recurse_array)+str()\nruncmd:\n- echo ready";
    let shown = shown(&machine(&configs(
        "runcmd:\n- /etc/eks/bootstrap.sh demo",
        merged,
    )));
    assert_has(&shown, &["adopted: cluster name demo\n", "chosen: AL2"]);
    assert!(!shown.contains("has no effect"), "{shown}");
}
