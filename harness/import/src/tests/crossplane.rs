//! Manifests of Crossplane's provider for AWS.

use nodejoin_core::plan::Tokens;

use super::{SCRIPT, base64, machine, read, refused, user_data};
use crate::{FileFormat, StartedBy};

fn template(version: &str, options: &str, more: &str) -> String {
    format!(
        "apiVersion: ec2.aws.upbound.io/{version}\nkind: LaunchTemplate\nmetadata:\n  name: nodes\nspec:\n  forProvider:\n    \
         region: eu-west-1\n    instanceType: m5.large\n    metadataOptions:\n{options}{more}    userData: {}\n",
        base64(SCRIPT)
    )
}

const GROUP: &str = "---
apiVersion: eks.aws.upbound.io/v1beta2
kind: NodeGroup
metadata:
  name: workers
spec:
  forProvider:
    clusterNameRef: { name: main }
    labels: { team: web }
    taint: [{ key: dedicated, value: gpu, effect: NO_SCHEDULE }]
    launchTemplate: { idRef: { name: nodes }, version: $Latest }
---
apiVersion: eks.aws.upbound.io/v1beta2
kind: Cluster
metadata:
  name: main
  annotations: { crossplane.io/external-name: production }
spec:
  forProvider:
    version: \"1.33\"
    kubernetesNetworkConfig: { serviceIpv4Cidr: 172.20.0.0/16 }
";

#[test]
fn blocks_are_maps_or_lists() {
    let image = "    imageId: ami-0123456789abcdef0\n";
    for options in [
        "      httpTokens: required\n      httpPutResponseHopLimit: 1\n",
        "    - httpTokens: required\n      httpPutResponseHopLimit: 1\n",
    ] {
        let text = template("v1beta2", options, image);
        assert_eq!(read(&text).format, FileFormat::Crossplane);
        let machine = machine(&text);
        assert_eq!(machine.name, "LaunchTemplate/nodes");
        assert_eq!((user_data(&machine).as_str(), machine.line), (SCRIPT, Some(13)));
        let traits = &machine.traits;
        assert_eq!(
            (traits.http_tokens, traits.hop_limit),
            (Some(Tokens::Required), Some(1))
        );
        assert_eq!(traits.ami_id.as_deref(), Some("ami-0123456789abcdef0"));
        assert_eq!(traits.region.as_deref(), Some("eu-west-1"));
        assert_eq!(machine.managed, None);
    }
}

#[test]
fn references_by_name_connect_group_template_and_cluster() {
    let machine = machine(&format!(
        "{}{GROUP}",
        template("v1beta1", "    - httpTokens: optional\n", "")
    ));
    assert_eq!(machine.started_by, StartedBy::NodeGroup);
    assert_eq!(machine.managed.unwrap().name.as_deref(), Some("workers"));
    let traits = machine.traits;
    assert_eq!(traits.labels["team"], "web");
    assert_eq!(traits.taints[0].key, "dedicated");
    assert_eq!(traits.http_tokens, Some(Tokens::Optional));
    assert_eq!(traits.cluster.name.as_deref(), Some("production"));
    assert_eq!(traits.cluster.version.as_deref(), Some("1.33"));
    assert_eq!(traits.cluster.dns_ip.as_deref(), Some("172.20.0.10"));
}

#[test]
fn a_composition_is_rendered_first() {
    let text =
        "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: { name: x }\nspec: {}\n";
    let error = refused("composition.yaml", text);
    assert!(error.contains("crossplane render"), "{error}");
}

#[test]
fn manifests_without_machines_say_what_is_missing() {
    let text = "apiVersion: ec2.aws.upbound.io/v1beta1\nkind: VPC\nmetadata: { name: x }\nspec: { forProvider: { region: eu-west-1 } }\n";
    let error = refused("vpc.yaml", text);
    assert!(
        error.contains("manifests of Crossplane") && error.contains("LaunchTemplate"),
        "{error}"
    );
}

/// An Auto Scaling group with these fields, and labels and a controller as `crossplane render` writes them.
fn scaling(fields: &str) -> String {
    format!(
        "---\napiVersion: autoscaling.aws.upbound.io/v1beta3\nkind: AutoscalingGroup\nmetadata:\n  name: asg\n{}spec:\n  forProvider:\n    \
         maxSize: 1\n    minSize: 1\n    region: eu-west-1\n{fields}",
        controlled("a")
    )
}

fn controlled(owner: &str) -> String {
    format!(
        "  labels: {{ team: {owner} }}\n  ownerReferences: [{{ kind: XNodes, name: {owner}, uid: \"\", controller: true }}]\n"
    )
}

#[test]
fn a_group_whose_launch_template_is_not_in_the_file_is_named() {
    let image = "    imageId: ami-0123456789abcdef0\n";
    let template = template("v1beta1", "    - httpTokens: optional\n", image);
    let node_group = |reference: &str| {
        format!(
            "---\napiVersion: eks.aws.upbound.io/v1beta1\nkind: NodeGroup\nmetadata: {{ name: ng }}\nspec:\n  forProvider:\n    \
             clusterName: demo\n    launchTemplate: {{ {reference}, version: \"1\" }}\n"
        )
    };
    let both = "give both manifests in one file, or the output of ";
    for (group, name, place, hint) in [
        (
            node_group("id: lt-0abc"),
            "NodeGroup/ng",
            "node group `NodeGroup/ng` is in launch template `lt-0abc`",
            "--launch-template-id lt-0abc`",
        ),
        (
            node_group("name: shared"),
            "NodeGroup/ng",
            "node group `NodeGroup/ng` is in launch template `shared`",
            "--launch-template-name shared`",
        ),
        (
            node_group("idRef: { name: shared }"),
            "NodeGroup/ng",
            "node group `NodeGroup/ng` is in the LaunchTemplate `shared`, which the file does not have",
            both,
        ),
        (
            scaling("    launchTemplate: { idSelector: { matchLabels: { team: other } } }\n"),
            "AutoscalingGroup/asg",
            "Auto Scaling group `AutoscalingGroup/asg` is in the LaunchTemplate that its selector selects",
            both,
        ),
        (
            scaling(
                "    mixedInstancesPolicy:\n      launchTemplate:\n        launchTemplateSpecification: { launchTemplateIdRef: { name: shared } }\n",
            ),
            "AutoscalingGroup/asg",
            "is in the LaunchTemplate `shared`, which the file does not have",
            both,
        ),
        (
            scaling("    launchConfigurationSelector: { matchControllerRef: true }\n"),
            "AutoscalingGroup/asg",
            "is in the LaunchConfiguration that its selector selects",
            "`aws autoscaling describe-launch-configurations`",
        ),
        (
            scaling("    launchConfiguration: old\n"),
            "AutoscalingGroup/asg",
            "is in launch configuration `old`",
            "--launch-configuration-names old`",
        ),
    ] {
        let found = read(&format!("{template}{group}"));
        assert_eq!(found.machines.len(), 1, "{group}");
        let [unread] = &found.unread[..] else {
            panic!("{group} {found:?}");
        };
        assert_eq!(unread.name, name);
        let (problem, shown) = (unread.error.to_string(), unread.error.hint());
        assert!(problem.contains(place), "{problem}");
        assert!(shown.contains(hint), "{shown}");
        let alone = refused("group.yaml", &group);
        assert!(alone.contains(place), "{alone}");
    }
}

#[test]
fn selectors_and_resolved_ids_connect_a_group_and_its_template() {
    let image = "    imageId: ami-0123456789abcdef0\n";
    let plain = template("v1beta1", "    - httpTokens: optional\n", image);
    let template = plain.replace("  name: nodes\n", &format!("  name: nodes\n{}", controlled("a")));
    let tag = "    tag: [{ key: group, value: web, propagateAtLaunch: true }]\n";
    for selector in [
        "{ matchLabels: { team: a } }",
        "{ matchControllerRef: true }",
        "{ matchControllerRef: true, matchLabels: { team: a } }",
    ] {
        let group = scaling(&format!(
            "    launchTemplate: {{ idSelector: {selector} }}\n{tag}"
        ));
        let found = read(&format!("{template}{group}"));
        assert_eq!((found.machines.len(), found.unread.len()), (1, 0), "{selector}");
        assert_eq!(found.machines[0].traits.tags["group"], "web", "{selector}");
    }
    // As the API server shows them, with the id that AWS gives the template.
    let live = plain.replace(
        "  name: nodes\n",
        "  name: nodes\n  annotations: { crossplane.io/external-name: lt-0abc }\n",
    );
    let group = scaling(&format!(
        "    launchTemplate: {{ id: lt-0abc, idRef: {{ name: nodes }} }}\n{tag}"
    ));
    let found = read(&format!("{live}{group}"));
    assert_eq!((found.machines.len(), found.unread.len()), (1, 0));
    assert_eq!(found.machines[0].traits.tags["group"], "web");
}
