//! Further resources of an account through boto3: policies, roles, clusters, stacks.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nodejoin_core::plan::access_entry::{AccessEntry, AccessEntryFile, AccessEntryType};
use nodejoin_core::plan::aws::{
    AddonPlan, AuthenticationMode, IpFamily, NodegroupPlan, OtherCluster, OtherRole, OutpostPlan, StackPlan,
    Trust,
};
use nodejoin_fake_aws::World;
use serde_json::{Value, json};

/// The start of every program: a function that returns a response, or status, code and message of an error.
const TOLD: &str = r#"
import boto3, json, botocore.exceptions
from botocore.config import Config
from botocore import UNSIGNED
def output(call, **more):
    try:
        return call(**more)
    except botocore.exceptions.ClientError as e:
        error = e.response["Error"]
        return "%s %s: %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], error["Code"], error["Message"])
"#;

async fn output(fakes: &Fakes, program: &str) -> Value {
    let aws = AwsClients::of(fakes).await;
    serde_json::from_str(&aws.python(&format!("{TOLD}\n{program}")).await).unwrap()
}

const SESSION: &str = "arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321";

/// One row per service: without a policy that allows the action, and with one that denies it. Sources of the texts: see
/// `iam.rs`.
#[tokio::test(flavor = "multi_thread")]
async fn each_service_has_its_own_text_for_a_denied_action() {
    let program = r#"
print(json.dumps([
  output(boto3.client("eks").describe_cluster, name="demo"),
  output(boto3.client("eks").list_clusters),
  output(boto3.client("ec2").describe_instances),
  output(boto3.client("ecr").get_authorization_token),
  output(boto3.client("cloudformation").describe_stacks),
  output(boto3.client("sts").assume_role, RoleArn="arn:aws:iam::111122223333:role/other", RoleSessionName="me"),
]))
"#;
    let rows = |implicit: bool| {
        let user = format!("User: {SESSION} is not authorized to perform:");
        let reason = |action: &str| match implicit {
            true => format!(" because no identity-based policy allows the {action} action"),
            false => " with an explicit deny in an identity-based policy".to_owned(),
        };
        let eks = if implicit { "" } else { " with an explicit deny" };
        let sts = if implicit { String::new() } else { reason("") };
        let cluster = "arn:aws:eks:eu-west-1:111122223333:cluster";
        let stack = "arn:aws:cloudformation:eu-west-1:111122223333:stack";
        let (instances, token) = ("ec2:DescribeInstances", "ecr:GetAuthorizationToken");
        let stacks = "cloudformation:DescribeStacks";
        json!([
            format!("403 AccessDeniedException: {user} eks:DescribeCluster on resource: {cluster}/demo{eks}"),
            format!("403 AccessDeniedException: {user} eks:ListClusters on resource: {cluster}/*{eks}"),
            format!(
                "403 UnauthorizedOperation: You are not authorized to perform this operation. {user} {instances}{}",
                reason(instances)
            ),
            format!(
                "400 AccessDeniedException: {user} {token} on resource: *{}",
                reason(token)
            ),
            format!(
                "403 AccessDenied: {user} {stacks} on resource: {stack}/*/*{}",
                reason(stacks)
            ),
            format!(
                "403 AccessDenied: {user} sts:AssumeRole on resource: arn:aws:iam::111122223333:role/other{sts}"
            ),
        ])
    };
    type Policy = fn(&mut World);
    let policies: [(bool, Policy); 2] = [
        (true, |world| {
            world.role.as_mut().unwrap().allow = Some(vec!["s3:*".into()])
        }),
        (false, |world| {
            world.role.as_mut().unwrap().deny = vec!["*".into()]
        }),
    ];
    for (implicit, policy) in policies {
        let fakes = Fakes::start(policy);
        assert_eq!(
            output(&fakes, program).await,
            rows(implicit),
            "implicit: {implicit}"
        );
        fakes.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_allow_only_their_actions() {
    let fakes = Fakes::start(|world| {
        world.role.as_mut().unwrap().allow = Some(vec!["eks:Describe*".into()]);
    });
    let program = r#"
print(json.dumps([
  output(boto3.client("eks").describe_cluster, name="demo")["cluster"]["name"],
  output(boto3.client("eks").list_clusters)[:26],
  output(boto3.client("sts").get_caller_identity)["Arn"],
]))
"#;
    assert_eq!(
        output(&fakes, program).await,
        json!(["demo", "403 AccessDeniedException:", SESSION])
    );
    fakes.end().await;
}

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

/// A session of an assumed role signs, with the role's own policies.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_assumed_roles_sign() {
    let role = |name: &str, trusts| OtherRole {
        name: name.into(),
        trusts,
        allow: Some(vec!["ec2:*".into()]),
        deny: Vec::new(),
    };
    let fakes = Fakes::start(|world| {
        world.aws.roles = vec![role("team/other", Trust::Account), role("locked", Trust::Nobody)];
    });
    let program = r#"
sts = boto3.client("sts")
arn = "arn:aws:iam::111122223333:role/"
sts.assume_role(RoleArn=arn + "team/other", RoleSessionName="me+you@example.com")
s = sts.assume_role(RoleArn=arn + "team/other", RoleSessionName="me", DurationSeconds=900)
c = s["Credentials"]
def client(service):
    return boto3.client(service, aws_access_key_id=c["AccessKeyId"], aws_secret_access_key=c["SecretAccessKey"],
                        aws_session_token=c["SessionToken"])
who = client("sts").get_caller_identity()
print(json.dumps({
  "user": s["AssumedRoleUser"]["Arn"], "who": who["Arn"], "same id": who["UserId"] == s["AssumedRoleUser"]["AssumedRoleId"],
  "ec2": len(client("ec2").describe_instances()["Reservations"]),
  "eks": output(client("eks").list_clusters),
  "refused": [output(sts.assume_role, RoleArn=arn + name, RoleSessionName="me") for name in ("locked", "nobody-made-this")],
  "invalid": [output(sts.assume_role, RoleArn=arn + "team/other", RoleSessionName="a b").split(":")[0],
              output(sts.assume_role, RoleArn=arn + "team/other", RoleSessionName="me", DurationSeconds=43201).split(":")[0]],
}))
"#;
    let session = "arn:aws:sts::111122223333:assumed-role/other/me";
    let refused = |name: &str| {
        format!(
            "403 AccessDenied: User: {SESSION} is not authorized to perform: sts:AssumeRole on resource: \
             arn:aws:iam::111122223333:role/{name}"
        )
    };
    let expected = json!({
        "user": session, "who": session, "same id": true, "ec2": 1,
        "eks": format!("403 AccessDeniedException: User: {session} is not authorized to perform: eks:ListClusters on \
            resource: arn:aws:eks:eu-west-1:111122223333:cluster/*"),
        "refused": [refused("locked"), refused("nobody-made-this")],
        "invalid": ["400 ValidationError", "400 ValidationError"],
    });
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}

/// A service account's token, as the SDKs send it, unsigned.
#[tokio::test(flavor = "multi_thread")]
async fn service_account_tokens_assume_roles() {
    let fakes = Fakes::start(|world| {
        world.aws.roles = vec![OtherRole {
            name: "pods".into(),
            trusts: Trust::ServiceAccounts,
            allow: None,
            deny: Vec::new(),
        }];
    });
    let issuer = "https://oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF";
    let token = |issuer: &str, audience: &str, expires: u64| {
        let claims =
            json!({ "iss": issuer, "aud": [audience], "exp": expires, "sub": "system:serviceaccount:a:b" });
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.c2ln", part(&json!({ "alg": "RS256" })), part(&claims))
    };
    let far = 4_000_000_000;
    let tokens = json!([
        token(issuer, "sts.amazonaws.com", far),
        token("https://example.com", "sts.amazonaws.com", far),
        token(issuer, "kubernetes", far),
        token(issuer, "sts.amazonaws.com", 1_000_000_000),
        "not a token at all"
    ]);
    let program = format!(
        r#"
sts = boto3.client("sts", config=Config(signature_version=UNSIGNED))
tokens = json.loads('{tokens}')
def assume(token, role="pods"):
    return output(sts.assume_role_with_web_identity, RoleArn="arn:aws:iam::111122223333:role/" + role, RoleSessionName="pod",
                WebIdentityToken=token)
s = assume(tokens[0])
c = s["Credentials"]
who = boto3.client("sts", aws_access_key_id=c["AccessKeyId"], aws_secret_access_key=c["SecretAccessKey"],
                   aws_session_token=c["SessionToken"]).get_caller_identity()["Arn"]
print(json.dumps([who, s["SubjectFromWebIdentityToken"], s["Provider"], assume(tokens[0], role="demo-role")]
  + [assume(t).split(":")[0] for t in tokens[1:]]))
"#
    );
    let expected = json!([
        "arn:aws:sts::111122223333:assumed-role/pods/pod",
        "system:serviceaccount:a:b",
        issuer.trim_start_matches("https://"),
        "403 AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity",
        "400 InvalidIdentityToken",
        "400 InvalidIdentityToken",
        "400 ExpiredTokenException",
        "400 InvalidIdentityToken",
    ]);
    assert_eq!(output(&fakes, &program).await, expected);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_wait_for_their_signals() {
    let fakes = Fakes::start(|world| {
        world.aws.stacks = vec![StackPlan {
            name: "nodes".into(),
            status: "CREATE_IN_PROGRESS".into(),
            waits_for: [("NodeGroup".to_owned(), 1)].into(),
            resources: std::collections::BTreeMap::new(),
        }];
    });
    let program = r#"
cfn = boto3.client("cloudformation")
def status():
    return cfn.describe_stacks(StackName="nodes")["Stacks"][0]["StackStatus"]
def signal(**more):
    arguments = dict(StackName="nodes", LogicalResourceId="NodeGroup", UniqueId="i-0b22a22eec53b9321", Status="SUCCESS")
    answer = output(cfn.signal_resource, **{**arguments, **more})
    return answer if isinstance(answer, str) else "accepted"
before = status()
print(json.dumps([before, signal(LogicalResourceId="x"), signal(StackName="x"), signal(UniqueId="x" * 64), status(), signal().split("/")[0],
  len(cfn.describe_stacks()["Stacks"]), output(cfn.describe_stacks, StackName="x")]))
"#;
    let error = "400 ValidationError";
    let expected = json!([
        "CREATE_IN_PROGRESS",
        format!("{error}: Resource x does not exist for stack nodes"),
        format!("{error}: Stack [x] does not exist"),
        "accepted",
        "CREATE_COMPLETE",
        format!("{error}: Stack arn:aws:cloudformation:eu-west-1:111122223333:stack"),
        1,
        format!("{error}: Stack with id x does not exist"),
    ]);
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}

/// China has its own partition, suffix and accounts, which signatures and ARNs contain.
#[tokio::test(flavor = "multi_thread")]
async fn the_aws_cli_works_in_other_partitions() {
    for (region, partition) in [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")] {
        let fakes = Fakes::start(|world| world.region = region.parse().unwrap());
        let aws = AwsClients::of(&fakes).await;
        let here = [("AWS_DEFAULT_REGION", region)];
        let identity = json_of(&aws.cli_with(&["sts", "get-caller-identity"], &here).await);
        let arn = identity["Arn"].as_str().unwrap();
        assert!(
            arn.starts_with(&format!("arn:{partition}:sts::111122223333:assumed-role/")),
            "{arn}"
        );
        let cluster = json_of(
            &aws.cli_with(&["eks", "describe-cluster", "--name", "demo"], &here)
                .await,
        );
        let arn = cluster["cluster"]["arn"].as_str().unwrap();
        assert_eq!(
            arn,
            format!("arn:{partition}:eks:{region}:111122223333:cluster/demo")
        );
        let elsewhere = error(
            &aws.cli(&["sts", "get-caller-identity", "--region", "xx-nowhere-1"])
                .await,
        );
        assert!(!elsewhere.is_empty());
        fakes.end().await;
    }
}
