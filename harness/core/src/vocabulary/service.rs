//! The services of the fake AWS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::EnumCount;

/// The services of the fake AWS.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, EnumCount,
)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// Instance metadata service.
    Imds,
    /// Elastic Kubernetes Service.
    Eks,
    /// Security Token Service.
    Sts,
    /// Elastic Compute Cloud.
    Ec2,
    /// Elastic Container Registry's API.
    Ecr,
    /// Image registry of the account.
    Registry,
    /// CloudFormation.
    Cloudformation,
    /// Systems Manager: parameters.
    Ssm,
    /// Secrets Manager.
    Secretsmanager,
    /// Simple Storage Service.
    S3,
    /// Auto Scaling.
    Autoscaling,
    /// CloudWatch Logs.
    Logs,
    /// CloudWatch: metrics.
    Monitoring,
    /// EKS Auth: the roles of pods.
    #[serde(rename = "eks-auth")]
    EksAuth,
}

impl Service {
    pub const ALL: [Self; Self::COUNT] = [
        Self::Imds,
        Self::Eks,
        Self::Sts,
        Self::Ec2,
        Self::Ecr,
        Self::Registry,
        Self::Cloudformation,
        Self::Ssm,
        Self::Secretsmanager,
        Self::S3,
        Self::Autoscaling,
        Self::Logs,
        Self::Monitoring,
        Self::EksAuth,
    ];

    /// The name in scenarios and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Imds => "imds",
            Self::Eks => "eks",
            Self::Sts => "sts",
            Self::Ec2 => "ec2",
            Self::Ecr => "ecr",
            Self::Registry => "registry",
            Self::Cloudformation => "cloudformation",
            Self::Ssm => "ssm",
            Self::Secretsmanager => "secretsmanager",
            Self::S3 => "s3",
            Self::Autoscaling => "autoscaling",
            Self::Logs => "logs",
            Self::Monitoring => "monitoring",
            Self::EksAuth => "eks-auth",
        }
    }

    /// Finds a service by its name in scenarios, or by its name in the AWS CLI.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_command = |service: Self| service == Self::Monitoring && name == "cloudwatch";
        let mut all = Self::ALL.into_iter();
        all.find(|service| service.word() == name || is_command(*service))
    }
}
