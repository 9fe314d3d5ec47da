//! Manifests of AWS Controllers for Kubernetes, and of Crossplane's first provider.

use nodejoin_core::plan::Tokens;

use super::{SCRIPT, base64, machine, read, refused, user_data};
use crate::{FileFormat, StartedBy};

fn template(more: &str) -> String {
    format!(
        "apiVersion: ec2.services.k8s.aws/v1alpha1\nkind: LaunchTemplate\nmetadata:\n  name: nodes\n  annotations: {{ services.k8s.aws/region: eu-west-1 }}\nspec:\n  name: workers\n  data:\n    \
         instanceType: m5.large\n    metadataOptions: {{ httpTokens: required, httpPutResponseHopLimit: 1 }}\n    \
         tagSpecifications: [{{ resourceType: instance, tags: [{{ key: team, value: web }}] }}]\n    \
         userData: {}\n{more}",
        base64(SCRIPT)
    )
}

const GROUP: &str = "---
apiVersion: eks.services.k8s.aws/v1alpha1
kind: Nodegroup
metadata:
  name: group
spec:
  name: group-a
  clusterRef: { from: { name: main } }
  labels: { teamID: web }
  taints: [{ key: dedicated, value: gpu, effect: NO_SCHEDULE }]
  launchTemplate: { name: workers, version: \"1\" }
---
apiVersion: eks.services.k8s.aws/v1alpha1
kind: Cluster
metadata:
  name: main
spec:
  name: production
  version: \"1.33\"
  kubernetesNetworkConfig: { serviceIPv4CIDR: 172.20.0.0/16 }
";

#[test]
fn a_launch_template_has_the_fields_of_the_api() {
    let text = template("    imageID: ami-0123456789abcdef0\n");
    assert_eq!(read(&text).format, FileFormat::Ack);
    let machine = machine(&text);
    assert_eq!(machine.name, "LaunchTemplate/nodes");
    assert_eq!((user_data(&machine).as_str(), machine.line), (SCRIPT, Some(12)));
    assert_eq!(machine.managed, None);
    let traits = &machine.traits;
    assert_eq!(traits.ami_id.as_deref(), Some("ami-0123456789abcdef0"));
    assert_eq!(
        (traits.http_tokens, traits.hop_limit),
        (Some(Tokens::Required), Some(1))
    );
    assert_eq!(traits.tags["team"], "web");
    assert_eq!(traits.region.as_deref(), Some("eu-west-1"));
}

#[test]
fn a_node_group_uses_the_template_of_its_name() {
    let machine = machine(&format!("{}{GROUP}", template("")));
    assert_eq!(machine.started_by, StartedBy::NodeGroup);
    assert_eq!(machine.managed.unwrap().name.as_deref(), Some("group-a"));
    let traits = machine.traits;
    assert_eq!(traits.labels["teamID"], "web");
    assert_eq!(traits.taints[0].key, "dedicated");
    assert_eq!(traits.cluster.name.as_deref(), Some("production"));
    assert_eq!(traits.cluster.dns_ip.as_deref(), Some("172.20.0.10"));
}

#[test]
fn the_first_provider_of_crossplane_has_the_same_fields() {
    let text = format!(
        "apiVersion: ec2.aws.crossplane.io/v1alpha1\nkind: LaunchTemplate\nmetadata: {{ name: nodes }}\nspec:\n  forProvider:\n    \
         launchTemplateName: workers\n    launchTemplateData: {{ imageID: ami-0123456789abcdef0, userData: {} }}\n",
        base64(SCRIPT)
    );
    let machine = machine(&text);
    assert_eq!(user_data(&machine), SCRIPT);
    assert_eq!(machine.traits.ami_id.as_deref(), Some("ami-0123456789abcdef0"));
}

#[test]
fn manifests_without_machines_say_what_is_missing() {
    let text = "apiVersion: ec2.services.k8s.aws/v1alpha1\nkind: VPC\nmetadata: { name: x }\nspec: { cidrBlocks: [10.0.0.0/16] }\n";
    let error = refused("vpc.yaml", text);
    assert!(
        error.contains("no manifest of it starts machines") && error.contains("LaunchTemplate"),
        "{error}"
    );
}

#[test]
fn user_data_that_is_not_encoded_has_a_remedy_for_manifests() {
    let text = "apiVersion: ec2.services.k8s.aws/v1alpha1\nkind: LaunchTemplate\nmetadata: { name: x }\nspec:\n  name: x\n  data:\n    userData: |\n      #!/bin/bash\n      /etc/eks/bootstrap.sh demo\n";
    let error = refused("x.yaml", text);
    assert!(
        error.contains("base64 -w 0") && !error.contains("Fn::"),
        "{error}"
    );
}

#[test]
fn names_that_a_shell_fills_in_are_not_adopted() {
    let text = template("").replace("name: workers", "name: $TEMPLATE");
    let error = refused("x.yaml", &text);
    assert!(
        error.contains("not filled in: `$TEMPLATE` (line 7)") && error.contains("`--set TEMPLATE=VALUE`"),
        "{error}"
    );
}

#[test]
fn an_auto_scaling_group_uses_the_template_with_its_id() {
    let group = |id: &str| {
        format!(
            "status: {{ id: lt-0abc }}\n---\napiVersion: autoscaling.services.k8s.aws/v1alpha1\nkind: AutoScalingGroup\nmetadata: {{ name: g }}\n\
             spec: {{ name: g, launchTemplate: {{ launchTemplateID: {id} }} }}\n"
        )
    };
    let own = read(&format!("{}{}", template(""), group("lt-0abc")));
    assert_eq!((own.machines.len(), own.unread.len()), (1, 0), "{own:?}");
    assert_eq!(own.machines[0].started_by, StartedBy::ScalingGroups);
    let other = read(&format!("{}{}", template(""), group("lt-0def")));
    let unread = &other.unread[0];
    assert_eq!(unread.name, "AutoScalingGroup/g");
    assert!(
        unread
            .error
            .to_string()
            .ends_with("is in launch template `lt-0def`")
    );
}
