//! Scenarios and reports of whole machines.

mod authority;
mod calls;
mod cloud_configs;
mod cluster;
mod cluster_names;
mod endpoints;
mod kubelet_arguments;
mod lost_parts;
mod managed_group;
mod node_config;
mod replaced_lists;
mod script;
mod whole_texts;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::aws::AuthenticationMode;

use super::*;
use crate::machine::{AmiFamily, ClusterTraits, ManagedNodeGroup, Traits};
use crate::template_stack::{TemplateResource, TemplateStack};

const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nTUlJQy9qQ0NBZWFnQXdJQkFnSUJBREFOQmdrcWhraUc5dzBCQVFzRkFE\n-----END CERTIFICATE-----\n";

fn machine(text: &str) -> Machine {
    Machine {
        name: "web".to_owned(),
        user_data: Some(text.as_bytes().to_vec()),
        file: Some(text.into()),
        ..Machine::default()
    }
}

fn shown(machine: &Machine) -> String {
    let trial = match adopt(machine, &BTreeMap::new()) {
        Ok(trial) => trial,
        Err(error) => return format!("{error}\n  hint: {}\n", error.hint()),
    };
    let report: Vec<String> = trial
        .report
        .iter()
        .map(|line| format!("{}: {}\n", line.kind, line.text))
        .collect();
    let overlays: Vec<String> = trial
        .ami_files
        .iter()
        .map(|files| files.folder().to_owned())
        .collect();
    format!(
        "{}\n{}",
        report.concat(),
        trial.scenario(&overlays, Some("web.user-data"), &AddedKeys::default())
    )
}

fn message(script: &str) -> String {
    format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\n\n\
         #!/bin/bash\n{script}\n--//--\n"
    )
}

fn assert_has(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "missing: {piece}\n{text}");
    }
}

#[test]
fn a_script_of_terraform_is_adopted_as_a_whole() {
    let authority = STANDARD.encode(AUTHORITY);
    let text = format!(
        "#!/bin/bash\nset -e\nB64_CLUSTER_CA={authority}\nAPI_SERVER_URL=https://0123456789ABCDEF0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com\n\
         /etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=team=web,id=$(x) --max-pods=20 --register-with-taints=a=b:NoSchedule,c:NoExecute' \
         --b64-cluster-ca $B64_CLUSTER_CA --apiserver-endpoint $API_SERVER_URL --ip-family ipv4 --service-ipv4-cidr 172.20.0.0/16 --dns-cluster-ip 10.0.0.10\n"
    );
    let mut machine = machine(&text);
    machine.traits = Traits {
        ami_id: Some("ami-0123456789abcdef0".to_owned()),
        instance_type: Some("m6i.large".to_owned()),
        role: Some("arn:aws:iam::123456789012:role/eks/node".to_owned()),
        account: Some("123456789012".to_owned()),
        hop_limit: Some(1),
        http_tokens: Some(Tokens::Required),
        tags: [("Name".to_owned(), "web".to_owned())].into(),
        cluster: ClusterTraits {
            version: Some("1.33".to_owned()),
            authentication_mode: Some(AuthenticationMode::Api),
            ..ClusterTraits::default()
        },
        ..Traits::default()
    };
    assert_has(
        &shown(&machine),
        &[
            "chosen: AL2 with its last bootstrap script, of 2026: the user data calls /etc/eks/bootstrap.sh; `--service-ipv4-cidr` is in the script of AMIs since v20250610, and not in that of 2022\n",
            "adopted: cluster name demo\n",
            "adopted: region us-east-1\n",
            "adopted: account 123456789012\n",
            "adopted: service CIDR 172.20.0.0/16\n",
            "adopted: role eks/node\n",
            "replaced: the certificate authority of the cluster",
            "expected: label team=web\n",
            "expected: taint a=b:NoSchedule when the node registers\n",
            "expected: taint c:NoExecute when the node registers\n",
            "expected: capacity for 20 pods\n",
            "not checked: the label `id=$(x)`\n",
            "note: the cluster DNS 10.0.0.10 is neither",
            "\naccount: \"123456789012\"\nregion: us-east-1\n",
            "\n  endpoint: \"https://0123456789ABCDEF0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com\"\n",
            "\n  access_entries:\n    - { role: eks/node, type: EC2_LINUX }\n",
            "\n  metadata:\n    tokens: required\n    hop_limit: 1\n",
            "\nuser_data:\n  file: web.user-data\n  replace: cluster\n",
        ],
    );
}

/// A NodeConfig with more keys of `spec`, and of `spec.cluster` in braces.
fn node_config(spec: &str, cluster: &str) -> String {
    format!(
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  {spec}\n  cluster: {{ name: demo, apiServerEndpoint: https://test-cluster, certificateAuthority: Y2VydGlmaWNhdGU=, cidr: 10.100.0.0/16{cluster} }}\n"
    )
}

#[test]
fn requests_without_a_token_meet_a_choice_that_is_named() {
    let text = |header: &str| {
        format!(
            "#!/bin/bash\nz=$(curl -s {header} http://169.254.169.254/latest/meta-data/placement/availability-zone)\n/etc/eks/bootstrap.sh demo\n"
        )
    };
    let chosen = "chosen: metadata tokens required";
    assert!(shown(&machine(&text(""))).contains(chosen));
    assert!(!shown(&machine(&text("-H \"X-aws-ec2-metadata-token: $t\""))).contains(chosen));
    let of_eks = "which the launch templates of EKS require";
    assert!(shown(&machine(&text(""))).contains(of_eks));
    let kubeadm = text("").replace(
        "/etc/eks/bootstrap.sh demo",
        "kubeadm join a.example.com:6443 --token x",
    );
    let kubeadm = shown(&machine(&kubeadm));
    assert_has(
        &kubeadm,
        &["metadata tokens required, because the file does not state whether its AMI requires them"],
    );
    assert!(!kubeadm.contains(of_eks), "{kubeadm}");
}

#[test]
fn the_stack_of_a_machine_is_part_of_its_scenario() {
    let mut machine = machine("#!/bin/bash\n/opt/aws/bin/cfn-init --stack nodes --resource Config\n");
    machine.stack = Some(TemplateStack {
        name: "nodes".to_owned(),
        resources: vec![
            TemplateResource {
                id: "Config".to_owned(),
                kind: "AWS::EC2::Instance".to_owned(),
                metadata: Some(
                    serde_json::json!({ "a": [{ "b": "c: d" }, 1, null, true], "empty": {}, "AWS::CloudFormation::Init": {
                "join": { "commands": { "x": { "command": ["/etc/eks/bootstrap.sh", "demo", "--b64-cluster-ca", STANDARD.encode(AUTHORITY)] } } },
            } }),
                ),
            },
            TemplateResource {
                id: "Group".to_owned(),
                kind: "AWS::AutoScaling::AutoScalingGroup".to_owned(),
                metadata: None,
            },
        ],
        signalled: vec!["Group".to_owned()],
    });
    let text = shown(&machine);
    assert_has(
        &text,
        &[
            "adopted: the metadata of `Config` in the stack `nodes`\n",
            "aws:\n  stacks:\n    - { name: nodes, waits_for: { Group: 1 }, resources: { Config: { type: \"AWS::EC2::Instance\", ",
            "Group: { type: \"AWS::AutoScaling::AutoScalingGroup\" } }",
            "a: [{ b: \"c: d\" }, 1, null, true]",
            "empty: {  }",
            "command: [/etc/eks/bootstrap.sh, demo, \"--b64-cluster-ca\", \"{{ cluster.certificate_authority }}\"]",
            "adopted: cluster name demo\n",
            "replaced: the certificate authority of the cluster",
        ],
    );
}

#[test]
fn an_instance_type_that_no_file_states_is_named() {
    let mut machine = machine("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n");
    assert_has(
        &shown(&machine),
        &["chosen: instance type m5.large, as the file states none"],
    );
    machine.traits.instance_type = Some("c5.large".to_owned());
    assert!(!shown(&machine).contains("chosen: instance type"));
}

#[test]
fn a_script_that_asks_for_its_lifecycle_state_is_in_service() {
    let path = "meta-data/autoscaling/target-lifecycle-state";
    let text = format!(
        "#!/bin/bash\ncurl http://169.254.169.254/latest/{path} | grep InService && /etc/eks/bootstrap.sh demo\n"
    );
    assert_has(
        &shown(&machine(&text)),
        &["lifecycle_state: InService", "is InService, as of"],
    );
}

#[test]
fn volumes_besides_the_root_volume_are_of_the_instance() {
    let mut machine = machine("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n");
    let volumes = [("/dev/sdb", 100), ("/dev/nvme7n1", 5)];
    machine.traits.volumes = volumes.map(|(device, gib)| (device.to_owned(), gib)).into();
    assert_has(
        &shown(&machine),
        &[
            "adopted: volume /dev/sdb of 100 GiB",
            "note: EC2 refuses a volume with the name /dev/nvme7n1",
            "volumes:\n    - { device: /dev/sdb, gib: 100 }\n",
        ],
    );
}
