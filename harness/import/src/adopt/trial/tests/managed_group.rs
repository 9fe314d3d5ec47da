//! User data of managed node groups, to which EKS adds its part.

use super::*;

#[test]
fn a_managed_group_gets_the_part_of_eks() {
    let mut machine = machine("");
    machine.user_data = None;
    machine.managed = Some(ManagedNodeGroup {
        name: Some("blue".to_owned()),
        ..ManagedNodeGroup::default()
    });
    let text = shown(&machine);
    assert!(
        text.contains("expected: label eks.amazonaws.com/nodegroup=blue\n"),
        "{text}"
    );
    assert!(
        text.contains("\nimage: al2023\n") && !text.contains("overlay:"),
        "{text}"
    );
}

#[test]
fn the_name_of_a_managed_group_that_the_file_does_not_name_is_a_stand_in() {
    let mut machine = machine("");
    machine.user_data = None;
    let mut text = |name: Option<&str>| {
        machine.managed = Some(ManagedNodeGroup {
            name: name.map(str::to_owned),
            ..ManagedNodeGroup::default()
        });
        shown(&machine)
    };
    let line = "chosen: node group name workers, a stand-in: the file states none\n";
    assert_has(
        &text(None),
        &[line, "expected: label eks.amazonaws.com/nodegroup=workers\n"],
    );
    for named in [text(Some("blue")), text(Some("workers"))] {
        assert!(!named.contains("node group name"), "{named}");
    }
}

#[test]
fn a_message_without_a_word_about_a_kubelet_is_for_a_managed_node_group() {
    let echo = machine(&message("echo hello"));
    assert_has(
        &shown(&echo),
        &[
            "the part that EKS adds",
            "chosen: AL2023: the default of EKS",
            "note: only in a managed node group",
        ],
    );
    let mut al2 = echo;
    al2.traits.ami_family = Some(AmiFamily::Al2);
    assert_has(
        &shown(&al2),
        &[
            "the part that EKS adds",
            "chosen: AL2 with the bootstrap script of 2022",
        ],
    );
    // A program from elsewhere may start one.
    for other in [
        "aws s3 cp s3://b/start . && bash start",
        "/opt/acme/start.sh prod",
    ] {
        let report = shown(&machine(&message(other)));
        assert!(!report.contains("the part that EKS adds"), "{report}");
    }
}

#[test]
fn a_managed_node_group_without_a_type_has_the_pods_of_the_type_that_runs() {
    let report = shown(&machine(&message("sed -i s/a/b/ /etc/eks/bootstrap.sh")));
    assert_has(&report, &["expected: capacity for 29 pods"]);
}

#[test]
fn what_eks_gives_to_a_node_after_the_join_is_not_expected() {
    let mut machine =
        machine("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=tier=web'\n");
    machine.traits.later_labels = [("team", "core"), ("tier", "web")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let shown = shown(&machine);
    assert_has(
        &shown,
        &[
            "expected: label tier=web",
            "not checked: label team=core: EKS gives it to the Node after the join",
        ],
    );
    assert!(!shown.contains("not checked: label tier"), "{shown}");
}

const MESSAGE: &str =
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: ";

#[test]
fn a_message_for_a_managed_node_group_gets_the_part_of_eks() {
    let added = "chosen: the part that EKS adds to the user data of a managed node group";
    let edits =
        format!("{MESSAGE}text/x-shellscript\n\n#!/bin/bash\nsed -i s/a/b/ /etc/eks/bootstrap.sh\n--B--\n");
    assert_has(
        &shown(&machine(&edits)),
        &[added, "AL2 with the bootstrap script"],
    );
    let config =
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { config: { maxPods: 20 } } }";
    let partial = format!("{MESSAGE}application/node.eks.aws\n\n{config}\n--B--\n");
    assert_has(&shown(&machine(&partial)), &[added, "AL2023", "pods: 20"]);
    // The same texts belong to an AMI of its own, or call the script themselves.
    let mut of_ami = machine(&edits);
    of_ami.traits.ami_id = Some("ami-0123456789abcdef0".to_owned());
    let calls = edits.replace("--B--", "/etc/eks/bootstrap.sh demo\n--B--");
    for other in [of_ami, machine(&calls)] {
        let text = shown(&other);
        assert!(!text.contains(added), "{text}");
    }
}

#[test]
fn a_message_that_writes_files_of_the_kubelet_is_for_a_managed_group() {
    let message = |script: &str| {
        format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n\
             #!/bin/bash\n# before bootstrap.sh runs\n{script}\n--B--\n"
        )
    };
    let of_eks = "the part that EKS adds to the user data of a managed node group";
    let drop_in = shown(&machine(&message(
        "tee /etc/systemd/system/kubelet.service.d/proxy.conf </dev/null",
    )));
    assert!(drop_in.contains(of_eks), "{drop_in}");
    for script in ["systemctl enable --now kubelet", "exec /usr/bin/kubelet --v=2"] {
        let started = shown(&machine(&message(script)));
        assert!(!started.contains(of_eks), "{script}: {started}");
    }
}

#[test]
fn keys_of_the_command_line_leave_the_part_of_eks() {
    let mut machine = machine(&message("sed -i s/a/b/ /etc/x"));
    for keys in [
        "instance: { type: m5.xlarge, metadata: { tokens: optional } }",
        "cluster: { name: prod }",
        "region: eu-west-1",
    ] {
        AddedKeys::read(keys).unwrap().unwrap().adopt_into(&mut machine);
        assert_has(&shown(&machine), &["the part that EKS adds"]);
    }
    assert_has(
        &shown(&machine),
        &["capacity for 58 pods", "adopted: cluster name prod"],
    );
}

#[test]
fn values_of_a_cluster_that_no_file_states_are_not_adopted() {
    let report = shown(&machine(&message("sed -i s/a/b/ /etc/x")));
    assert_has(
        &report,
        &[
            "chosen: cluster name nodejoin, a stand-in: the file states none",
            "chosen: region us-west-2, a stand-in",
        ],
    );
    assert!(!report.contains("adopted: endpoint"), "{report}");
}

#[test]
fn values_that_a_reader_writes_into_the_user_data_are_stand_ins() {
    let endpoint = ClusterTraits::stand_in().endpoint.unwrap();
    let mut managed = machine(&message(&format!(
        "echo {endpoint} nodejoin us-west-2 >/etc/endpoint"
    )));
    managed.managed = Some(ManagedNodeGroup::default());
    // A file of another tool, whose reader writes the user data.
    managed.file = None;
    assert_has(
        &shown(&managed),
        &[
            &format!("chosen: endpoint {endpoint}, a stand-in: the file states none\n"),
            "chosen: cluster name nodejoin, a stand-in: the file states none\n",
        ],
    );
}

#[test]
fn an_endpoint_of_the_file_is_none_although_readers_make_it_up() {
    let endpoint = ClusterTraits::stand_in().endpoint.unwrap();
    let text = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint {endpoint}\n");
    let mut node = machine(&text);
    let adopted = [
        &format!("adopted: endpoint {endpoint}\n") as &str,
        "adopted: region us-west-2\n",
        "adopted: cluster name demo\n",
    ];
    assert_has(&shown(&node), &adopted);
    node.file = None;
    assert!(!shown(&node).contains(adopted[0]));
}

#[test]
fn a_second_call_of_the_bootstrap_script_is_named() {
    let mut own = machine(&message("/etc/eks/bootstrap.sh demo"));
    own.managed = Some(ManagedNodeGroup::default());
    own.traits.ami_family = Some(AmiFamily::Al2);
    let note = "note: the user data calls /etc/eks/bootstrap.sh, and EKS' own part calls it again: ";
    assert_has(&shown(&own), &[note]);
    own.user_data = Some(message("echo").into_bytes());
    assert!(!shown(&own).contains(note));
}

#[test]
fn no_instance_without_a_metadata_service_is_tried() {
    let mut machine = machine(&message("/etc/eks/bootstrap.sh demo"));
    machine.traits.http_endpoint = Some(false);
    assert_has(
        &shown(&machine),
        &[
            "no instance of `web` joins: its metadata options disable the metadata service",
            "hint: set `HttpEndpoint` (in Terraform `http_endpoint`) to enabled",
        ],
    );
    machine.traits.http_endpoint = Some(true);
    assert!(!shown(&machine).contains("no instance of"));
}
