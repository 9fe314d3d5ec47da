//! Cloud-configs that do not run as their author means.

use super::*;

#[test]
fn a_cloud_config_behind_the_first_line_of_a_script_is_expected_and_lost() {
    let text = "#!/bin/bash\n#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=a=b'\n";
    let report = shown(&machine(text));
    assert_has(
        &report,
        &[
            "adopted: cluster name demo\n",
            "expected: label a=b: has no effect where it stands",
            "note: `#cloud-config` in line 2 is behind `#!/bin/bash`",
        ],
    );
    assert!(!report.contains("not checked"), "{report}");
}

#[test]
fn a_file_that_a_command_cannot_execute_is_named_with_its_line() {
    let text = "#cloud-config\nwrite_files:\n- path: /opt/b.sh\n  content: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n\
                runcmd:\n- /opt/b.sh\n";
    let note = "note: `write_files` gives /opt/b.sh (line 3) the mode 0644, and a command executes it: `Permission denied`";
    assert_has(&shown(&machine(text)), &[note]);
    let right = text.replace("- /opt/b.sh\n", "- bash /opt/b.sh\n");
    assert!(!shown(&machine(&right)).contains("Permission denied"));
}
