//! The parameters that each action reads. A request with another one is refused, because its response would not be the
//! one of AWS.

use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, Ec2Operation as Operation};

use super::attributes;
use crate::http::{QueryParameters, ServiceError};
use crate::not_emulated;

/// A parameter of every action.
const DRY_RUN: &str = "DryRun";

/// The parameters of an action besides the common ones, without the numbers of lists.
const fn accepted(operation: Operation) -> &'static [&'static str] {
    match operation {
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
        Operation::DescribeInstanceStatus => &[
            "Filter",
            "IncludeAllInstances",
            "InstanceId",
            "MaxResults",
            "NextToken",
        ],
        Operation::DescribeInstanceTopology => &["InstanceId", "MaxResults", "NextToken"],
        Operation::DescribeInstanceTypes => &["Filter", "InstanceType", "MaxResults", "NextToken"],
        Operation::DescribeInstances => &["Filter", "InstanceId", "MaxResults", "NextToken"],
        Operation::DescribeNetworkInterfaces => &["Filter", "MaxResults", "NetworkInterfaceId", "NextToken"],
        Operation::DescribeSecurityGroups => &["Filter", "GroupId", "GroupName", "MaxResults", "NextToken"],
        Operation::DescribeSubnets => &["Filter", "MaxResults", "NextToken", "SubnetId"],
        Operation::DescribeTags => &["Filter", "MaxResults", "NextToken"],
        Operation::DescribeVolumes => &["Filter", "MaxResults", "NextToken", "VolumeId"],
        Operation::DescribeVpcs => &["Filter", "MaxResults", "NextToken", "VpcId"],
        Operation::ModifyInstanceAttribute => attributes::ACCEPTED,
        Operation::CreateNetworkInterface => &[
            "ClientToken",
            "Description",
            "PrivateIpAddress",
            "PrivateIpAddresses",
            "SecondaryPrivateIpAddressCount",
            "SecurityGroupId",
            "SubnetId",
            "TagSpecification",
        ],
        Operation::AttachNetworkInterface => &[
            "DeviceIndex",
            "InstanceId",
            "NetworkCardIndex",
            "NetworkInterfaceId",
        ],
        Operation::DetachNetworkInterface => &["AttachmentId", "Force"],
        Operation::DeleteNetworkInterface => &["NetworkInterfaceId"],
        Operation::AssignPrivateIpAddresses => &[
            "AllowReassignment",
            "NetworkInterfaceId",
            "PrivateIpAddress",
            "SecondaryPrivateIpAddressCount",
        ],
        Operation::ModifyNetworkInterfaceAttribute => &[
            "Attachment",
            "Description",
            "NetworkInterfaceId",
            "SecurityGroupId",
            "SourceDestCheck",
        ],
    }
}

/// Checks that the action reads every parameter of the request.
///
/// # Errors
/// A parameter is not emulated.
pub(super) fn check(operation: Operation, parameters: &QueryParameters) -> Result<(), ServiceError> {
    let accepted = [accepted(operation), &[DRY_RUN]].concat();
    not_emulated::check_parameters(Service::Ec2.word(), operation.name(), parameters, &accepted)
}

/// The response to a request that the caller may make, if the request asks for no more.
///
/// # Errors
/// The request is a dry run.
pub(super) fn check_dry_run(parameters: &QueryParameters) -> Result<(), ServiceError> {
    let message = "Request would have succeeded, but DryRun flag is set.";
    match parameters.get(DRY_RUN) {
        Some("true") => Err(ServiceError::new(412, "DryRunOperation", message)),
        _ => Ok(()),
    }
}
