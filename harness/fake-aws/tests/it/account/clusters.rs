//! Clusters of an account through boto3, with their node groups, add-ons and access entries.

use super::output;
use crate::support::Fakes;
use nodejoin_core::plan::access_entry::{AccessEntry, AccessEntryFile, AccessEntryType};
use nodejoin_core::plan::aws::{
    AddonPlan, AuthenticationMode, IpFamily, NodegroupPlan, OtherCluster, OutpostPlan,
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn clusters_are_found_by_name_and_region() {
    let cluster = |name: &str, region: Option<&str>, status: &str| OtherCluster {
        name: name.into(),
        region: region.map(Into::into),
        status: status.into(),
        version: Some("1.29".into()),
    };
    let fakes = Fakes::start(|world| {
        world.aws.clusters = vec![
            cluster("second", None, "UPDATING"),
            cluster("third", None, "ACTIVE"),
            cluster("demo", Some("us-east-1"), "CREATING"),
        ];
    });
    let program = r#"
here, there = boto3.client("eks"), boto3.client("eks", region_name="us-east-1")
def seen(client, name):
    c = client.describe_cluster(name=name)["cluster"]
    return [c["arn"], c["version"], c["status"], c.get("endpoint", "").split(".")[2:] or None]
print(json.dumps({
  "here": here.list_clusters()["clusters"], "there": there.list_clusters()["clusters"],
  "nowhere": boto3.client("eks", region_name="eu-north-1").list_clusters()["clusters"],
  "pages": [p["clusters"] for p in here.get_paginator("list_clusters").paginate(PaginationConfig={"PageSize": 2})],
  "demo": seen(here, "demo"), "second": seen(here, "second"), "other demo": seen(there, "demo"),
  "wrong": [output(here.list_clusters, nextToken="x")],
}))
"#;
    let host = |region: &str| json!([region, "eks", "amazonaws", "com"]);
    let arn = |region: &str, name: &str| format!("arn:aws:eks:{region}:111122223333:cluster/{name}");
    let expected = json!({
        "here": ["demo", "second", "third"], "there": ["demo"], "nowhere": [],
        "pages": [["demo", "second"], ["third"]],
        "demo": [arn("eu-west-1", "demo"), "1.20", "ACTIVE", host("eu-west-1")],
        "second": [arn("eu-west-1", "second"), "1.29", "UPDATING", host("eu-west-1")],
        "other demo": [arn("us-east-1", "demo"), "1.29", "CREATING", null],
        "wrong": ["400 InvalidParameterException: Invalid token"],
    });
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_groups_are_listed_and_described() {
    let fakes = Fakes::start(|world| {
        world.instance.life_cycle = nodejoin_core::plan::LifeCycle::Spot;
        world.cluster.eks.nodegroups = vec![NodegroupPlan {
            taints: Vec::new(),
            name: "workers".into(),
            status: "UPDATING".into(),
            labels: [("team".to_owned(), "ironman".to_owned())].into(),
        }];
    });
    let program = r#"
eks = boto3.client("eks")
g = eks.describe_nodegroup(clusterName="demo", nodegroupName="workers")["nodegroup"]
print(json.dumps({
  "names": eks.list_nodegroups(clusterName="demo")["nodegroups"],
  "group": [g["nodegroupName"], g["clusterName"], g["status"], g["capacityType"], g["labels"], g["nodeRole"], g["instanceTypes"]],
  "arn": g["nodegroupArn"].rsplit("/", 1)[0],
  "missing": [output(eks.describe_nodegroup, clusterName="demo", nodegroupName="x"), output(eks.list_nodegroups, clusterName="x")],
}))
"#;
    let not_found = "404 ResourceNotFoundException";
    let expected = json!({
        "names": ["workers"],
        "group": ["workers", "demo", "UPDATING", "SPOT", { "team": "ironman" },
            "arn:aws:iam::111122223333:role/eks/demo-role", ["m5.large"]],
        "arn": "arn:aws:eks:eu-west-1:111122223333:nodegroup/demo/workers",
        "missing": [format!("{not_found}: No node group found for name: x."), format!("{not_found}: No cluster found for name: x.")],
    });
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addons_are_listed_and_described() {
    let fakes = Fakes::start(|world| {
        let addon = |name: &str| AddonPlan {
            name: name.into(),
            version: "v1.18.3-eksbuild.1".into(),
            status: "DEGRADED".into(),
            configuration: Some("{}".into()),
        };
        world.cluster.eks.addons = vec![addon("vpc-cni"), addon("coredns")];
    });
    let program = r#"
eks = boto3.client("eks")
a = eks.describe_addon(clusterName="demo", addonName="vpc-cni")["addon"]
print(json.dumps({
  "addon": [a["addonName"], a["clusterName"], a["addonVersion"], a["status"], a["configurationValues"], a["health"]],
  "arn": a["addonArn"].rsplit("/", 1)[0],
  "list": [p["addons"] for p in eks.get_paginator("list_addons").paginate(clusterName="demo", PaginationConfig={"PageSize": 1})],
  "missing": [output(eks.describe_addon, clusterName="demo", addonName="x"), output(eks.describe_addon, clusterName="x", addonName="x"),
              output(eks.list_addons, clusterName="x")],
}))
"#;
    let not_found = "404 ResourceNotFoundException";
    let expected = json!({
        "addon": ["vpc-cni", "demo", "v1.18.3-eksbuild.1", "DEGRADED", "{}", { "issues": [] }],
        "arn": "arn:aws:eks:eu-west-1:111122223333:addon/demo/vpc-cni",
        "list": [["vpc-cni"], ["coredns"]],
        "missing": [format!("{not_found}: No addon: x found in cluster: demo"), format!("{not_found}: No cluster found for name: x."),
                    format!("{not_found}: No cluster found for name: x.")],
    });
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}

/// boto3's model of EKS has the types; the error text is in upbound/configuration-aws-eks#122.
#[tokio::test(flavor = "multi_thread")]
async fn access_entries_are_listed_and_described_if_the_mode_has_them() {
    let program = r#"
eks = boto3.client("eks")
role = "arn:aws:iam::111122223333:role/eks/demo-role"
def entry():
    e = eks.describe_access_entry(clusterName="demo", principalArn=role)["accessEntry"]
    return [e["type"], e["username"], e["kubernetesGroups"], e["principalArn"], e["createdAt"].year > 2000, e["accessEntryArn"].rsplit("/", 1)[0]]
print(json.dumps({
  "mode": eks.describe_cluster(name="demo")["cluster"]["accessConfig"]["authenticationMode"],
  "list": output(lambda: eks.list_access_entries(clusterName="demo")["accessEntries"]),
  "entry": output(entry),
  "other": output(lambda: eks.describe_access_entry(clusterName="demo", principalArn=role + "x")),
  "cluster": output(lambda: eks.list_access_entries(clusterName="none")),
}))
"#;
    let start = |mode| {
        Fakes::start(|world| {
            let cluster = &mut world.cluster;
            cluster.authentication_mode = mode;
            let file = AccessEntryFile {
                role: Some("eks/demo-role".into()),
                entry_type: AccessEntryType::Ec2Linux,
                ..Default::default()
            };
            cluster.access_entries = vec![AccessEntry::of(file, &world.account, &world.region)];
        })
    };
    let role = "arn:aws:iam::111122223333:role/eks/demo-role";
    let fakes = start(AuthenticationMode::Api);
    let not_found = "404 ResourceNotFoundException";
    let expected = json!({
        "mode": "API",
        "list": [role],
        "entry": ["EC2_LINUX", "system:node:{{EC2PrivateDNSName}}", ["system:nodes"], role, true,
            "arn:aws:eks:eu-west-1:111122223333:access-entry/demo/role/111122223333/eks/demo-role"],
        "other": format!("{not_found}: The specified principalArn could not be found. You can view your available access entries \
            with 'list-access-entries'."),
        "cluster": format!("{not_found}: No cluster found for name: none."),
    });
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
    let fakes = start(AuthenticationMode::ConfigMap);
    let refused = "400 InvalidRequestException: The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] \
        to perform this operation.";
    let results = output(&fakes, program).await;
    assert_eq!(
        (&results["mode"], &results["list"], &results["entry"]),
        (&json!("CONFIG_MAP"), &json!(refused), &json!(refused))
    );
    fakes.end().await;
}

/// The seven columns that AL2's bootstrap.sh reads, for unusual clusters.
#[tokio::test(flavor = "multi_thread")]
async fn ipv6_outpost_and_hybrid_clusters_are_described() {
    let fakes = Fakes::start(|world| {
        world.cluster.authentication_mode = AuthenticationMode::ApiAndConfigMap;
        let eks = &mut world.cluster.eks;
        eks.ip_family = IpFamily::Ipv6;
        eks.service_ipv6_cidr = Some("fd30:1c53:5f8a::/108".into());
        eks.outpost = Some(OutpostPlan {
            arn: "arn:aws:outposts:eu-west-1:111122223333:outpost/op-0".into(),
            cluster_id: "a1b2".into(),
        });
        eks.remote_node_networks = vec!["10.1.0.0/16".into()];
        eks.tags = [("team".to_owned(), "a".to_owned())].into();
    });
    let program = r#"
c = boto3.client("eks").describe_cluster(name="demo")["cluster"]
n = c["kubernetesNetworkConfig"]
print(json.dumps([n["ipFamily"], n["serviceIpv6Cidr"], n.get("serviceIpv4Cidr"), c["id"], c["outpostConfig"]["outpostArns"],
  c["accessConfig"]["authenticationMode"], c["remoteNetworkConfig"]["remoteNodeNetworks"], c["tags"], c["createdAt"].year > 2000]))
"#;
    let expected = json!([
        "ipv6", "fd30:1c53:5f8a::/108", null, "a1b2", ["arn:aws:outposts:eu-west-1:111122223333:outpost/op-0"],
        "API_AND_CONFIG_MAP", [{ "cidrs": ["10.1.0.0/16"] }], { "team": "a" }, true
    ]);
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}
