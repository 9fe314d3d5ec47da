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
