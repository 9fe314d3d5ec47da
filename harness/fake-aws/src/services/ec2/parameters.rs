//! The parameters that each action reads. A request with another one is refused, because its response would not be the
//! one of AWS.

use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, Ec2Operation as Operation};

use crate::http::{QueryParameters, ServiceError};
use crate::not_emulated;

/// Parameters of every request; those of signatures start with `X-Amz-`.
const COMMON: [&str; 3] = ["Action", "DryRun", "Version"];
const SIGNATURE: &str = "X-Amz-";

/// The parameters of an action besides the common ones, without the numbers of lists; `None` for an action that accepts
/// all, because its response does not depend on them.
const fn accepted(operation: Operation) -> Option<&'static [&'static str]> {
    Some(match operation {
        Operation::AssociateAddress => &[
            "AllocationId",
            "AllowReassociation",
            "InstanceId",
            "NetworkInterfaceId",
            "PublicIp",
        ],
        Operation::CreateTags | Operation::DeleteTags => &["ResourceId", "Tag"],
        Operation::DescribeAddresses => &["AllocationId", "Filter", "PublicIp"],
        Operation::DescribeAvailabilityZones => &["AllAvailabilityZones", "Filter", "ZoneId", "ZoneName"],
        Operation::DescribeInstanceTopology => &["InstanceId", "MaxResults", "NextToken"],
        Operation::DescribeInstanceTypes => &["Filter", "InstanceType", "MaxResults", "NextToken"],
        Operation::DescribeInstances => &["Filter", "InstanceId", "MaxResults", "NextToken"],
        Operation::DescribeNetworkInterfaces => &["Filter", "MaxResults", "NetworkInterfaceId", "NextToken"],
        Operation::DescribeSecurityGroups => &["Filter", "GroupId", "GroupName", "MaxResults", "NextToken"],
        Operation::DescribeSubnets => &["Filter", "MaxResults", "NextToken", "SubnetId"],
        Operation::DescribeTags => &["Filter", "MaxResults", "NextToken"],
        Operation::DescribeVolumes => &["Filter", "MaxResults", "NextToken", "VolumeId"],
        Operation::DescribeVpcs => &["Filter", "MaxResults", "NextToken", "VpcId"],
        Operation::ModifyInstanceAttribute => return None,
    })
}

/// Checks that the action reads every parameter of the request.
///
/// # Errors
/// A parameter is not emulated.
pub(super) fn check(operation: Operation, parameters: &QueryParameters) -> Result<(), ServiceError> {
    let Some(accepted) = accepted(operation) else {
        return Ok(());
    };
    let names = parameters.0.iter();
    let mut names = names.map(|(key, _)| key.split('.').next().unwrap_or_default());
    let is_read =
        |name: &str| COMMON.contains(&name) || accepted.contains(&name) || name.starts_with(SIGNATURE);
    match names.find(|name| !is_read(name)) {
        None => Ok(()),
        Some(name) => Err(not_emulated::parameter(
            Service::Ec2.word(),
            operation.name(),
            name,
        )),
    }
}

/// The response to a request that the caller may make, if the request asks for no more.
///
/// # Errors
/// The request is a dry run.
pub(super) fn check_dry_run(parameters: &QueryParameters) -> Result<(), ServiceError> {
    let message = "Request would have succeeded, but DryRun flag is set.";
    match parameters.get("DryRun") {
        Some("true") => Err(ServiceError::new(412, "DryRunOperation", message)),
        _ => Ok(()),
    }
}
