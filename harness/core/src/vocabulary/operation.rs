//! The operations of the services of the fake AWS, with the IAM action that each needs.
//!
//! The fake matches exhaustively on each enum, so that an operation without a response does not compile; scenarios may
//! name exactly these operations.

use super::service::Service;

/// The operations of one service.
pub trait ApiOperation: Copy + 'static {
    const ALL: &'static [Self];

    /// The name in AWS' words.
    fn name(self) -> &'static str;

    /// Finds an operation by its exact name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|operation| operation.name() == name)
    }
}

/// Declares the operations of a service: variant, name, IAM action.
macro_rules! operations {
    ($($(#[doc = $about:literal])+ enum $Operation:ident { $($Variant:ident = $name:literal, $action:expr;)+ })+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum $Operation { $($Variant),+ }

            impl $Operation {
                /// In the order of the variants.
                pub const NAMES: &'static [&'static str] = &[$($name),+];

                /// The IAM action that the caller needs.
                #[must_use]
                pub const fn action(self) -> Option<&'static str> {
                    match self { $(Self::$Variant => $action),+ }
                }
            }

            impl ApiOperation for $Operation {
                const ALL: &'static [Self] = &[$(Self::$Variant),+];

                fn name(self) -> &'static str {
                    match self { $(Self::$Variant => $name),+ }
                }
            }
        )+
    };
}

operations! {
    /// Operations of EKS.
    enum EksOperation {
        DescribeAccessEntry = "DescribeAccessEntry", Some("eks:DescribeAccessEntry");
        DescribeAddon = "DescribeAddon", Some("eks:DescribeAddon");
        DescribeCluster = "DescribeCluster", Some("eks:DescribeCluster");
        DescribeNodegroup = "DescribeNodegroup", Some("eks:DescribeNodegroup");
        ListAccessEntries = "ListAccessEntries", Some("eks:ListAccessEntries");
        ListAddons = "ListAddons", Some("eks:ListAddons");
        ListClusters = "ListClusters", Some("eks:ListClusters");
        ListNodegroups = "ListNodegroups", Some("eks:ListNodegroups");
    }

    /// Operations of STS.
    enum StsOperation {
        AssumeRole = "AssumeRole", Some("sts:AssumeRole");
        AssumeRoleWithWebIdentity = "AssumeRoleWithWebIdentity", None;
        GetCallerIdentity = "GetCallerIdentity", None;
    }

    /// Operations of EC2.
    enum Ec2Operation {
        AssignPrivateIpAddresses = "AssignPrivateIpAddresses", Some("ec2:AssignPrivateIpAddresses");
        AssociateAddress = "AssociateAddress", Some("ec2:AssociateAddress");
        AttachNetworkInterface = "AttachNetworkInterface", Some("ec2:AttachNetworkInterface");
        CreateNetworkInterface = "CreateNetworkInterface", Some("ec2:CreateNetworkInterface");
        CreateTags = "CreateTags", Some("ec2:CreateTags");
        DeleteNetworkInterface = "DeleteNetworkInterface", Some("ec2:DeleteNetworkInterface");
        DeleteTags = "DeleteTags", Some("ec2:DeleteTags");
        DescribeAddresses = "DescribeAddresses", Some("ec2:DescribeAddresses");
        DescribeAvailabilityZones = "DescribeAvailabilityZones", Some("ec2:DescribeAvailabilityZones");
        DescribeInstanceStatus = "DescribeInstanceStatus", Some("ec2:DescribeInstanceStatus");
        DescribeInstanceTopology = "DescribeInstanceTopology", Some("ec2:DescribeInstanceTopology");
        DescribeInstanceTypes = "DescribeInstanceTypes", Some("ec2:DescribeInstanceTypes");
        DescribeInstances = "DescribeInstances", Some("ec2:DescribeInstances");
        DescribeNetworkInterfaces = "DescribeNetworkInterfaces", Some("ec2:DescribeNetworkInterfaces");
        DescribeSecurityGroups = "DescribeSecurityGroups", Some("ec2:DescribeSecurityGroups");
        DescribeSubnets = "DescribeSubnets", Some("ec2:DescribeSubnets");
        DescribeTags = "DescribeTags", Some("ec2:DescribeTags");
        DescribeVolumes = "DescribeVolumes", Some("ec2:DescribeVolumes");
        DescribeVpcs = "DescribeVpcs", Some("ec2:DescribeVpcs");
        DetachNetworkInterface = "DetachNetworkInterface", Some("ec2:DetachNetworkInterface");
        ModifyInstanceAttribute = "ModifyInstanceAttribute", Some("ec2:ModifyInstanceAttribute");
        ModifyNetworkInterfaceAttribute = "ModifyNetworkInterfaceAttribute", Some("ec2:ModifyNetworkInterfaceAttribute");
    }

    /// Operations of ECR's API.
    enum EcrOperation {
        BatchGetImage = "BatchGetImage", Some("ecr:BatchGetImage");
        DescribeImages = "DescribeImages", Some("ecr:DescribeImages");
        DescribeRepositories = "DescribeRepositories", Some("ecr:DescribeRepositories");
        GetAuthorizationToken = "GetAuthorizationToken", Some("ecr:GetAuthorizationToken");
    }

    /// Kinds of requests to the image registry.
    enum RegistryOperation {
        Blob = "blob", Some("ecr:GetDownloadUrlForLayer");
        Manifest = "manifest", Some("ecr:BatchGetImage");
        Tags = "tags", None;
        Version = "version", None;
    }

    /// Operations of CloudFormation.
    enum CloudformationOperation {
        DescribeStackResource = "DescribeStackResource", Some("cloudformation:DescribeStackResource");
        DescribeStacks = "DescribeStacks", Some("cloudformation:DescribeStacks");
        SignalResource = "SignalResource", Some("cloudformation:SignalResource");
    }

    /// Operations of Systems Manager.
    enum SsmOperation {
        GetParameter = "GetParameter", Some("ssm:GetParameter");
        GetParameters = "GetParameters", Some("ssm:GetParameters");
        GetParametersByPath = "GetParametersByPath", Some("ssm:GetParametersByPath");
    }

    /// Operations of Secrets Manager.
    enum SecretsmanagerOperation {
        DeleteSecret = "DeleteSecret", Some("secretsmanager:DeleteSecret");
        GetSecretValue = "GetSecretValue", Some("secretsmanager:GetSecretValue");
    }

    /// Operations of S3.
    enum S3Operation {
        GetBucketLocation = "GetBucketLocation", Some("s3:GetBucketLocation");
        GetObject = "GetObject", Some("s3:GetObject");
        HeadBucket = "HeadBucket", Some("s3:ListBucket");
        HeadObject = "HeadObject", Some("s3:GetObject");
        ListBuckets = "ListBuckets", Some("s3:ListAllMyBuckets");
        ListObjects = "ListObjects", Some("s3:ListBucket");
        ListObjectsV2 = "ListObjectsV2", Some("s3:ListBucket");
    }

    /// Operations of Auto Scaling.
    enum AutoscalingOperation {
        CompleteLifecycleAction = "CompleteLifecycleAction", Some("autoscaling:CompleteLifecycleAction");
        DescribeAutoScalingGroups = "DescribeAutoScalingGroups", Some("autoscaling:DescribeAutoScalingGroups");
        DescribeAutoScalingInstances = "DescribeAutoScalingInstances", Some("autoscaling:DescribeAutoScalingInstances");
        RecordLifecycleActionHeartbeat = "RecordLifecycleActionHeartbeat", Some("autoscaling:RecordLifecycleActionHeartbeat");
        SetInstanceHealth = "SetInstanceHealth", Some("autoscaling:SetInstanceHealth");
    }

    /// Operations of CloudWatch Logs.
    enum LogsOperation {
        CreateLogGroup = "CreateLogGroup", Some("logs:CreateLogGroup");
        CreateLogStream = "CreateLogStream", Some("logs:CreateLogStream");
        DescribeLogGroups = "DescribeLogGroups", Some("logs:DescribeLogGroups");
        DescribeLogStreams = "DescribeLogStreams", Some("logs:DescribeLogStreams");
        GetLogEvents = "GetLogEvents", Some("logs:GetLogEvents");
        PutLogEvents = "PutLogEvents", Some("logs:PutLogEvents");
        PutRetentionPolicy = "PutRetentionPolicy", Some("logs:PutRetentionPolicy");
    }

    /// Operations of CloudWatch.
    enum MonitoringOperation {
        PutMetricData = "PutMetricData", Some("cloudwatch:PutMetricData");
    }

    /// Operations of EKS Auth.
    enum EksAuthOperation {
        AssumeRoleForPodIdentity = "AssumeRoleForPodIdentity", Some("eks-auth:AssumeRoleForPodIdentity");
    }
}

impl EksOperation {
    /// The path of its GET requests; `{}` stands for one segment.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::DescribeAccessEntry => "clusters/{}/access-entries/{}",
            Self::DescribeAddon => "clusters/{}/addons/{}",
            Self::DescribeCluster => "clusters/{}",
            Self::DescribeNodegroup => "clusters/{}/node-groups/{}",
            Self::ListAccessEntries => "clusters/{}/access-entries",
            Self::ListAddons => "clusters/{}/addons",
            Self::ListClusters => "clusters",
            Self::ListNodegroups => "clusters/{}/node-groups",
        }
    }
}

impl Service {
    /// The names of its operations; empty for the metadata service, which has paths instead.
    #[must_use]
    pub const fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Imds => &[],
            Self::Eks => EksOperation::NAMES,
            Self::Sts => StsOperation::NAMES,
            Self::Ec2 => Ec2Operation::NAMES,
            Self::Ecr => EcrOperation::NAMES,
            Self::Registry => RegistryOperation::NAMES,
            Self::Cloudformation => CloudformationOperation::NAMES,
            Self::Ssm => SsmOperation::NAMES,
            Self::Secretsmanager => SecretsmanagerOperation::NAMES,
            Self::S3 => S3Operation::NAMES,
            Self::Autoscaling => AutoscalingOperation::NAMES,
            Self::Logs => LogsOperation::NAMES,
            Self::Monitoring => MonitoringOperation::NAMES,
            Self::EksAuth => EksAuthOperation::NAMES,
        }
    }
}

/// The IAM actions that the fake AWS checks.
#[must_use]
pub fn iam_actions() -> Vec<&'static str> {
    fn of<O: ApiOperation>(action: fn(O) -> Option<&'static str>) -> impl Iterator<Item = &'static str> {
        O::ALL.iter().filter_map(move |operation| action(*operation))
    }
    let actions = of(EksOperation::action)
        .chain(of(StsOperation::action))
        .chain(of(Ec2Operation::action))
        .chain(of(EcrOperation::action))
        .chain(of(RegistryOperation::action))
        .chain(of(CloudformationOperation::action))
        .chain(of(SsmOperation::action))
        .chain(of(SecretsmanagerOperation::action))
        .chain(of(S3Operation::action))
        .chain(of(AutoscalingOperation::action))
        .chain(of(LogsOperation::action))
        .chain(of(MonitoringOperation::action))
        .chain(of(EksAuthOperation::action));
    actions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_names_a_service_and_an_operation() {
        let actions = iam_actions();
        assert!(actions.contains(&"ecr:BatchGetImage") && actions.contains(&"eks:DescribeCluster"));
        for action in actions {
            assert!(
                action
                    .split_once(':')
                    .is_some_and(|(service, name)| !service.is_empty() && !name.is_empty())
            );
        }
    }
}
