//! Scripts: what they call, what is to be filled in, and what has no effect.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

#[test]
fn an_error_in_a_script_does_not_hide_its_call_of_the_bootstrap_script() {
    let report = shown(&machine(&message("URL=${endpoint)\n/etc/eks/bootstrap.sh prod")));
    assert!(!report.contains("the part that EKS adds"), "{report}");
    assert_has(&report, &["adopted: cluster name prod"]);
}

#[test]
fn values_fill_in_places_and_missing_ones_stop() {
    let machine = machine("#!/bin/bash\n/etc/eks/bootstrap.sh <cluster-name>\n");
    let error = adopt(&machine, &BTreeMap::new()).unwrap_err();
    assert!(matches!(error, AdoptError::Placeholders { .. }), "{error}");
    let set = BTreeMap::from([("cluster-name".to_owned(), "demo".to_owned())]);
    let trial = adopt(&machine, &set).unwrap();
    assert!(
        trial
            .scenario(&[], None, &AddedKeys::default())
            .contains("cluster:\n  name: demo\n")
    );
}

#[test]
fn a_part_without_an_interpreter_runs_on_al2_only() {
    let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n\
                echo hi\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n/etc/eks/bootstrap.sh demo\n\n--B--\n";
    let note = "note: part-001 does not begin with `#!`: Amazon Linux 2 runs it with a shell, and AL2023 stops at it\n";
    let mut parts = machine(text);
    assert_has(&shown(&parts), &[note]);
    parts.traits.ami_family = Some(AmiFamily::Al2023);
    assert!(!shown(&parts).contains("Amazon Linux 2 runs it"));
}

#[test]
fn arguments_that_no_bootstrap_script_reads_are_noted() {
    let text = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kube-reserved cpu=250m --dns-cluster-ip=10.100.0.10\n",
    ));
    for expected in [
        "note: bootstrap.sh of the EKS AMIs has no flag `--kube-reserved` (line 2): it has no effect; arguments of the kubelet belong \
         into `--kubelet-extra-args '--kube-reserved=VALUE'`\n",
        "note: bootstrap.sh reads no `--dns-cluster-ip=VALUE` (line 2): it has no effect; write `--dns-cluster-ip VALUE`\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let known = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --use-max-pods false\n",
    ));
    assert!(!known.contains("has no flag"), "{known}");
}

#[test]
fn flags_that_never_reach_the_kubelet_are_expected_and_missed() {
    let call = "/etc/eks/bootstrap.sh demo";
    let lost = ": has no effect where it stands (see the notes); the check fails without it\n";
    for (text, expected) in [
        (
            format!("{call} --kublet-extra-args '--node-labels=tier=web --max-pods=7'"),
            &["label tier=web", "capacity for 7 pods"][..],
        ),
        (
            format!("{call} --kubelet-extra-args --node-labels=a=b --register-with-taints=c=d:NoSchedule"),
            &["taint c=d:NoSchedule when the node registers"],
        ),
        (
            format!("{call} --kubelet-extra-args --node-labels=a=b --kubelet-extra-args --v=2"),
            &["label a=b"],
        ),
        (
            format!("KUBELET_EXTRA_ARGS=--node-labels=e=f\n{call}"),
            &["label e=f"],
        ),
    ] {
        let report = shown(&machine(&format!("#!/bin/bash\n{text}\n")));
        let pieces: Vec<String> = expected.iter().map(|what| format!("{what}{lost}")).collect();
        assert_has(&report, &pieces.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!report.contains("not checked"), "{report}");
    }
    let elsewhere = shown(&machine(&format!(
        "#!/bin/bash\nsed -i 's/--v=2/--max-pods=20/' {call}\n{call}\n"
    )));
    assert_has(
        &elsewhere,
        &["not checked: `--max-pods=20`: the user data writes it into a file, and only a run"],
    );
    // One of two calls passes its flags.
    let two = shown(&machine(&format!(
        "#!/bin/bash\n{call} --kublet-extra-args --max-pods=7\n{call} --kublet-extra-args --max-pods=7\n"
    )));
    assert_has(&two, &["not checked: `--max-pods=7` has no effect"]);
}

#[test]
fn lines_without_an_effect_are_noted() {
    let behind = format!(
        "{}--B\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n",
        message("true")
    );
    assert_has(&shown(&machine(&behind)), &["behind the end of the MIME message"]);
    let cut = shown(&machine(
        "#!/bin/bash\naws s3 cp \\ \n  a b\n/etc/eks/bootstrap.sh demo --b64-cluster-ca CERTIFICATE \\ \n  --use-max-pods false\n"
            .replace("CERTIFICATE", &"A".repeat(99))
            .as_str(),
    ));
    assert_has(
        &cut,
        &[
            "a blank follows the backslash at the end of `aws s3 cp` in line 2",
            "the call of bootstrap.sh ends at line 4, because a blank follows its backslash",
        ],
    );
    assert_eq!(cut.matches("a blank follows").count(), 2, "{cut}");
    let long = format!("#!/bin/bash\naws s3 cp {} \\ \n  b\n", "A".repeat(99));
    let long = shown(&machine(&long));
    assert_has(&long, &[&format!("`aws s3 cp {}...` in line 2", "A".repeat(60))]);
    let cut_flags = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo \\\n  --use-max-pods false \\ \n  --kubelet-extra-args '--node-labels=a=b --max-pods=20'\n",
    ));
    assert_has(
        &cut_flags,
        &[
            "expected: label a=b: has no effect where it stands",
            "expected: capacity for 20 pods: has no effect",
        ],
    );
    let without = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n  --kubelet-extra-args '--node-labels=a=b --max-pods=20'\n",
    ));
    assert_has(
        &without,
        &[
            "expected: label a=b: has no effect where it stands",
            "expected: capacity for 20 pods: has no effect",
            "note: the call of bootstrap.sh ends at line 2, which does not end with a backslash: the shell runs `--kubelet-extra-args` \
             (line 3) as a command (`--kubelet-extra-args: command not found`)",
        ],
    );
    assert!(!without.contains("not checked"), "{without}");
    let in_document = format!(
        "#!/bin/bash\ncat >/run.sh <<E\n{}E\nbash /run.sh\n",
        "/etc/eks/bootstrap.sh demo\n  --kubelet-extra-args '--max-pods=20'\n"
    );
    let in_document = shown(&machine(&in_document));
    assert!(!in_document.contains("command not found"), "{in_document}");
    let behind_blank = message("true").replacen("--//\n", "--//\n\n", 1);
    assert_has(
        &shown(&machine(&behind_blank)),
        &["which ends the header of its part"],
    );
    let misspelt = message("true").replacen("--//\n", "--/\n", 1);
    assert_has(
        &shown(&machine(&misspelt)),
        &["the boundary of the message is `--//`"],
    );
    assert_has(&shown(&machine(&message("mkfs $${DEV}"))), &["line 8 has `$${`"]);
    let clean = shown(&machine(&message(
        "/etc/eks/bootstrap.sh demo \\\n  --use-max-pods false",
    )));
    assert!(
        !clean.contains("behind the end") && !clean.contains("backslash"),
        "{clean}"
    );
}

/// Groups of eksctl have compressed user data.
#[test]
fn a_command_in_place_of_the_bootstrap_script_is_read() {
    let of_group = |kind: &str, family: &str, command: &str| {
        let text = format!(
            "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{ name: demo, region: eu-west-1 }}\n{kind}:\n\
             - name: ng\n  amiFamily: {family}\n  labels: {{ pool: blue }}\n  ami: ami-0123456789abcdef0\n  overrideBootstrapCommand: |\n    \
             #!/bin/bash\n    {command}\n"
        );
        let set = BTreeMap::new();
        let imported = crate::import(&crate::Import {
            name: "cluster.yaml",
            bytes: text.as_bytes(),
            folder: None,
            cluster: &ClusterTraits::default(),
            set: &set,
        });
        shown(&imported.unwrap().machines[0])
    };
    let trial = |command: &str| of_group("nodeGroups", "AmazonLinux2", command);
    // EKS labels nodes of managed groups, whatever the command does.
    let managed = of_group("managedNodeGroups", "Ubuntu2204", "/etc/eks/bootstrap.sh demo");
    assert_has(
        &managed,
        &["not checked: label pool=blue: EKS gives it to the Node after the join"],
    );
    assert!(!managed.contains("expected: label"), "{managed}");
    let passed = "/etc/eks/bootstrap.sh demo --kubelet-extra-args \"--node-labels=$NODE_LABELS\"";
    let managed = of_group("managedNodeGroups", "Ubuntu2204", passed);
    assert_has(&managed, &["expected: label pool=blue"]);
    let open = trial("/etc/eks/bootstrap.sh <your-cluster-name>");
    assert_has(&open, &["<your-cluster-name>"]);
    let report = trial(
        "/etc/eks/bootstrap.sh demo --use-max-pods=false --kubelet-extra-args '--node-labels=team=web'",
    );
    assert_has(
        &report,
        &[
            "expected: label team=web",
            "bootstrap.sh reads no `--use-max-pods=VALUE`",
            "chosen: endpoint https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com, a stand-in",
            "adopted: cluster name demo",
            "adopted: region eu-west-1",
        ],
    );
}

#[test]
fn a_value_to_fill_in_is_found_in_an_encoded_file() {
    let script = STANDARD.encode("#!/bin/bash\n/etc/eks/bootstrap.sh <your-cluster-name>\n");
    let text = format!(
        "#cloud-config\nwrite_files:\n- {{ path: /x.sh, encoding: b64, content: {script} }}\nruncmd: [/x.sh]\n"
    );
    assert_has(&shown(&machine(&text)), &["<your-cluster-name>"]);
}

#[test]
fn a_script_that_starts_no_kubelet_is_noted() {
    let note = "nothing in this user data starts a kubelet";
    let has_note = |text: &str| shown(&machine(text)).contains(note);
    assert!(has_note("#!/bin/bash\nyum install -y fuse\n"));
    for text in [
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n",
        "#!/bin/bash\nsystemctl start kubelet\n",
        "#!/bin/bash\ncurl https://example.com/join | bash\n",
        "#include\nhttps://example.com/user-data\n",
    ] {
        assert!(!has_note(text), "{text}");
    }
}

#[test]
fn a_region_that_no_file_states_is_named() {
    let region = |text: &str| {
        let shown = shown(&machine(text));
        shown
            .lines()
            .find(|line| line.contains("region "))
            .map(str::to_owned)
    };
    let chosen = region("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n").unwrap_or_default();
    assert!(
        chosen.contains("chosen") && chosen.contains("region eu-west-1, as the file states none"),
        "{chosen}"
    );
    let stated =
        region("#!/bin/bash\naws --region us-east-2 sts get-caller-identity\n/etc/eks/bootstrap.sh demo\n");
    assert!(stated.unwrap_or_default().contains("region us-east-2"));
    let hosts =
        region("#!/bin/bash\nexport NO_PROXY=.us-east-1.eks.amazonaws.com\n/etc/eks/bootstrap.sh demo\n");
    assert!(hosts.unwrap_or_default().contains("adopted: region us-east-1"));
}

#[test]
fn a_region_that_the_user_sets_is_that_of_the_run() {
    let machine = machine("#!/bin/bash\n/etc/eks/bootstrap.sh ${cluster_name} ${aws_region}\n");
    let set = [("cluster_name", "demo"), ("aws_region", "us-gov-west-1")];
    let set = set
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let trial = adopt(&machine, &set).unwrap();
    let is_region = |line: &&AdoptionLine| line.text == "region us-gov-west-1";
    let found = trial.report.iter().find(is_region).map(|line| line.kind);
    assert_eq!(found, Some(AdoptionKind::Adopted), "{:#?}", trial.report);
}

#[test]
fn a_mark_that_editors_do_not_show_is_named() {
    let marked = shown(&machine("\u{feff}#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"));
    assert_has(
        &marked,
        &["note: the user data begins with a UTF-8 byte order mark"],
    );
}

#[test]
fn a_cloud_config_that_is_no_yaml_is_named_with_its_line() {
    let text = "#cloud-config\nwrite_files:\n- path: /etc/a.conf\n  content: a\n - path: /etc/b.conf\nruncmd:\n  - /etc/eks/bootstrap.sh demo\n";
    let shown = shown(&machine(text));
    assert_has(&shown, &["note: cloud-init cannot use the cloud-config in "]);
    assert!(!shown.contains("nothing in this user data starts"), "{shown}");
}

/// The script takes the first word that is none of its flags.
#[test]
fn a_flag_that_becomes_the_name_of_the_cluster_is_named() {
    let call = |arguments: &str| {
        shown(&machine(&format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh {arguments}\n"
        )))
    };
    assert_has(
        &call("--kubelet-extra-args --node-labels=team=web --max-pods=20 prod"),
        &[
            "note: bootstrap.sh takes `--max-pods=20` (line 2) for the name of the cluster, because it stands before the name: quote the \
           arguments of the kubelet as one value, `--kubelet-extra-args '--node-labels=team=web --max-pods=20'`\n",
        ],
    );
    assert_has(
        &call("--dns-cluster-ip=10.100.0.10 prod"),
        &[
            "`--dns-cluster-ip=10.100.0.10` (line 2) for the name of the cluster, because it stands before the name: write `--dns-cluster-ip VALUE`\n",
        ],
    );
    assert!(!call("prod --max-pods=20").contains("for the name of the cluster"));
}

#[test]
fn a_misspelt_key_of_a_cloud_config_is_named_once() {
    let text =
        "#cloud-config\nwrite_file:\n- { path: /a, content: b }\nruncmd:\n- /etc/eks/bootstrap.sh demo\n";
    let shown = shown(&machine(text));
    assert_has(
        &shown,
        &["note: cloud-init has no key `write_file` (line 2) and ignores it; did you mean `write_files`?\n"],
    );
    assert!(!shown.contains("not checked: `write_file`"), "{shown}");
}

#[test]
fn the_last_of_several_numbers_of_pods_is_expected() {
    let lost = " has no effect: of several, the kubelet takes the last one, which is `--max-pods=30`\n";
    let call = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --use-max-pods false --kubelet-extra-args '--max-pods=20 --node-labels=a=b --max-pods=30'\n";
    let config = node_config("kubelet: { flags: [--max-pods=20, --v=2, --max-pods=30] }", "");
    for (text, line) in [(call, 2), (&config, 4)] {
        let shown = shown(&machine(text));
        let lost = format!("note: `--max-pods=20` (line {line}){lost}");
        assert_has(&shown, &["expected: capacity for 30 pods\n", &lost]);
        assert!(!shown.contains("not checked"), "{shown}");
    }
    let open =
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args \"--max-pods=20 --max-pods=$(pods)\"\n";
    let open = shown(&machine(open));
    assert_has(
        &open,
        &[
            "not checked: `--max-pods=...`",
            "note: `--max-pods=20` (line 2) has no effect",
        ],
    );
    assert!(!open.contains("capacity for"), "{open}");
}

#[test]
fn flags_at_which_a_kubelet_exits_are_named_with_their_line() {
    let script = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo \\\n  --kubelet-extra-args '--node-label=a=b --register-with-taints=c=d:NoSchedule \
         --register-with-taints=e=f:NoSchedule'\n",
    ));
    assert_has(
        &script,
        &[
            "note: the kubelet has no flag `--node-label` (line 3) and exits at it; did you mean `--node-labels`?\n",
            "note: the taints `c=d:NoSchedule` (line 3) have no effect",
            "expected: taint c=d:NoSchedule when the node registers: has no effect where it stands",
            "expected: taint e=f:NoSchedule when the node registers\n",
        ],
    );
    assert!(!script.contains("not checked"), "{script}");
    let config = shown(&machine(&node_config(
        "kubelet:\n    flags:\n    - --node-labels a=b\n    - max-pods=20\n    - --max-pod=3",
        "",
    )));
    assert_has(
        &config,
        &[
            "expected: label a=b\n",
            "expected: capacity for 20 pods: has no effect where it stands",
            "note: the kubelet takes `max-pods=20` (line ",
            "note: the kubelet has no flag `--max-pod` (line ",
        ],
    );
    assert!(!config.contains("not checked"), "{config}");
}

/// The modules of cloud-init are independent: it still runs the commands.
#[test]
fn commands_beside_a_file_that_cloud_init_cannot_write_are_expected() {
    let text = |files: &str| {
        format!(
            "#cloud-config\nwrite_files: {files}\nruncmd:\n- /etc/eks/bootstrap.sh demo --kubelet-extra-args --node-labels=a=b\n"
        )
    };
    for files in [
        "[{ content: hi }]",
        "[{ path: /a, encoding: b46 }]",
        "[{ path: /a, content: hi, encoding: b64 }]",
        "{ path: /a }",
        "[]\nwrite_files: []",
    ] {
        assert_has(
            &shown(&machine(&text(files))),
            &[
                "note: cloud-init cannot use all of the cloud-config in part-001: line 2: ",
                "expected: label a=b",
            ],
        );
    }
    let valid = shown(&machine(&text("[]")));
    assert!(!valid.contains("cannot use"), "{valid}");
}

#[test]
fn what_a_part_of_an_unknown_type_contains_is_expected_and_its_type_is_named() {
    let call = "/etc/eks/bootstrap.sh demo --kubelet-extra-args --node-labels=a=b";
    for (mime, content) in [
        ("text/x-shellscipt", format!("#!/bin/bash\n{call}\n")),
        ("text/cloud-confg", format!("#cloud-config\nruncmd:\n- {call}\n")),
    ] {
        let text = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: {mime}\n\n{content}\n--B--\n"
        );
        let note = format!("note: part-001 has the type `{mime}` (line 5), which cloud-init does not handle");
        assert_has(
            &shown(&machine(&text)),
            &[
                &note,
                "AL2 with the bootstrap script of 2022",
                "expected: label a=b",
            ],
        );
    }
}
