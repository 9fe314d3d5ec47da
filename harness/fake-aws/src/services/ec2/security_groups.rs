//! DescribeSecurityGroups, and security groups in other requests and responses.

use super::page::Described;
use super::resource::{self, Ec2Resource, Ec2View, ResourceType};
use crate::ec2_names;
use crate::http::{QueryParameters, ServiceError};
use crate::wire::xml::Xml;

/// Description of a VPC's default security group.
const DESCRIPTION: &str = "default VPC security group";

/// The security group of the instance and of the cluster.
#[derive(Debug)]
pub(super) struct SecurityGroup<'a>(&'a Ec2View<'a>);

#[must_use]
pub(super) fn of<'a>(view: &'a Ec2View<'a>) -> Vec<SecurityGroup<'a>> {
    view.is_home()
        .then_some(SecurityGroup(view))
        .into_iter()
        .collect()
}

/// Writes the response of DescribeSecurityGroups, which selects by name, too.
///
/// # Errors
/// An id, a name, a filter or a page is invalid.
pub(super) fn describe(body: Xml, view: &Ec2View<'_>, parameters: &QueryParameters) -> Described {
    let names = parameters.list("GroupName");
    if let Some(missing) = names.iter().find(|name| **name != ec2_names::SECURITY_GROUP) {
        let message = format!("The security group '{missing}' does not exist");
        return Err(ServiceError::new(400, "InvalidGroup.NotFound", message));
    }
    resource::describe(body, view.world, of(view), parameters)
}

/// Checks that all groups exist.
///
/// # Errors
/// A group does not exist in the region of the request.
pub(super) fn check(view: &Ec2View<'_>, groups: &[&str]) -> Result<(), ServiceError> {
    let own = &view.world.instance.security_group_id;
    match groups.iter().find(|group| !view.is_home() || own != *group) {
        None => Ok(()),
        Some(missing) => {
            let message = format!("The security group '{missing}' does not exist");
            Err(ServiceError::new(400, "InvalidGroup.NotFound", message))
        }
    }
}

/// Writes an entry of a list of security groups.
pub(super) fn write_group(item: Xml, id: &String) -> Xml {
    item.text("groupId", id)
        .text("groupName", ec2_names::SECURITY_GROUP)
}

impl Ec2Resource for SecurityGroup<'_> {
    const TYPE: ResourceType = ResourceType {
        name: "security-group",
        ids: "GroupId",
        set: "securityGroupInfo",
        missing: "InvalidGroup.NotFound",
        missing_message: "The security group '{}' does not exist",
    };

    fn id(&self) -> &str {
        &self.0.world.instance.security_group_id
    }

    fn values(&self, filter: &str) -> Option<Vec<String>> {
        let value = match filter {
            "group-id" | "ip-permission.group-id" => self.id().to_owned(),
            "group-name" => ec2_names::SECURITY_GROUP.to_owned(),
            "vpc-id" => self.0.world.instance.vpc_id.clone(),
            "description" => DESCRIPTION.to_owned(),
            "owner-id" => self.0.world.account.to_string(),
            "ip-permission.protocol" | "egress.ip-permission.protocol" => "-1".to_owned(),
            "egress.ip-permission.cidr" => "0.0.0.0/0".to_owned(),
            _ => return None,
        };
        Some(vec![value])
    }

    fn write(&self, item: Xml) -> Xml {
        let world = self.0.world;
        let rule = |item: Xml| item.text("ipProtocol", "-1");
        item.text("ownerId", &world.account)
            .text("groupId", self.id())
            .text(
                "securityGroupArn",
                self.0.arn(&format!("security-group/{}", self.id())),
            )
            .text("groupName", ec2_names::SECURITY_GROUP)
            .text("groupDescription", DESCRIPTION)
            .text("vpcId", &world.instance.vpc_id)
            .items("ipPermissions", [()], |item, ()| {
                rule(item)
                    .items("groups", [()], |pair, ()| {
                        pair.text("userId", &world.account).text("groupId", self.id())
                    })
                    .element("ipRanges", |set| set)
                    .element("ipv6Ranges", |set| set)
                    .element("prefixListIds", |set| set)
            })
            .items("ipPermissionsEgress", [()], |item, ()| {
                rule(item)
                    .element("groups", |set| set)
                    .items("ipRanges", [()], |range, ()| range.text("cidrIp", "0.0.0.0/0"))
                    .element("ipv6Ranges", |set| set)
                    .element("prefixListIds", |set| set)
            })
    }
}
