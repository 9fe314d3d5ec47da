//! Auto Scaling, as `https://autoscaling.REGION.amazonaws.com`: the query protocol.
//!
//! | action | auth | response |
//! | --- | --- | --- |
//! | `DescribeAutoScalingInstances` | SigV4, the action | the members of all groups, or the requested ones |
//! | `DescribeAutoScalingGroups` | SigV4, the action | the groups with their members |
//! | `CompleteLifecycleAction` | SigV4, the action | success if the instance waits for the hook |
//! | `RecordLifecycleActionHeartbeat` | SigV4, the action | success if the instance waits for the hook |
//! | `SetInstanceHealth` | SigV4, the action | the health that the describe actions return |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: members, errors, and the state of an instance that waits for launch hooks. Faked: groups have the instances
//! with their tag, no instance is ever replaced, and a wait never times out.

use std::collections::BTreeSet;

use nodejoin_core::plan::aws::GROUP_TAG;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, AutoscalingOperation as Operation};

use super::ec2::inventory::{self, Ec2Instance};
use super::{ServiceRequest, authorize};
use crate::arn;
use crate::clock;
use crate::http::{QueryParameters, Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::xml::Xml;
use crate::wire::{self, WireFormat};

pub(crate) const WIRE_FORMAT: WireFormat = WireFormat::Query(NAMESPACE);
const NAMESPACE: &str = "http://autoscaling.amazonaws.com/doc/2011-01-01/";

/// The parameters that an action reads.
const fn accepted(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::CompleteLifecycleAction => &[
            "AutoScalingGroupName",
            "InstanceId",
            "LifecycleActionResult",
            "LifecycleActionToken",
            "LifecycleHookName",
        ],
        Operation::RecordLifecycleActionHeartbeat => &[
            "AutoScalingGroupName",
            "InstanceId",
            "LifecycleActionToken",
            "LifecycleHookName",
        ],
        Operation::DescribeAutoScalingGroups => &["AutoScalingGroupNames"],
        Operation::DescribeAutoScalingInstances => &["InstanceIds"],
        Operation::SetInstanceHealth => &["HealthStatus", "InstanceId", "ShouldRespectGracePeriod"],
    }
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::of_action(Service::Autoscaling, request, |operation: Operation| {
        let parameters = request.parameters();
        let part = |name: &str| parameters.get(name).unwrap_or_default().to_owned();
        let subject = match operation {
            Operation::DescribeAutoScalingGroups => parameters.list("AutoScalingGroupNames.member").join(","),
            Operation::DescribeAutoScalingInstances => parameters.list("InstanceIds.member").join(","),
            Operation::SetInstanceHealth => format!("{} {}", part("InstanceId"), part("HealthStatus")),
            Operation::CompleteLifecycleAction => format!(
                "{}/{} {}",
                part("AutoScalingGroupName"),
                part("LifecycleHookName"),
                part("LifecycleActionResult")
            ),
            Operation::RecordLifecycleActionHeartbeat => {
                format!("{}/{}", part("AutoScalingGroupName"), part("LifecycleHookName"))
            }
        };
        Some(subject).filter(|subject| !subject.is_empty())
    })
}

/// Responds to a request.
///
/// # Errors
/// The error that Auto Scaling returns.
pub(crate) fn respond(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let (action, parameters) = (call.request.action(), call.request.parameters());
    if action.is_empty() {
        return Err(ServiceError::missing_action());
    }
    let word = Service::Autoscaling.word();
    let operation = Operation::named(&action).ok_or_else(|| not_emulated::error(word, &action))?;
    let signer = authorize::signature(instance, call, WIRE_FORMAT)?;
    let account = Account { instance, call };
    if let Some(action) = operation.action() {
        signer.permit(
            Service::Autoscaling,
            action,
            &account.resource(operation, &parameters),
        )?;
    }
    not_emulated::check_parameters(word, operation.name(), &parameters, accepted(operation))?;
    let result = format!("{}Result", operation.name());
    let body = match operation {
        Operation::DescribeAutoScalingGroups => account.groups(&parameters, &result),
        Operation::DescribeAutoScalingInstances => account.instances(&parameters, &result),
        Operation::CompleteLifecycleAction => {
            let is_abandoned = is_abandoned(&parameters)?;
            let hook = account.active_hook(&parameters)?;
            instance.group_member.complete(&hook, is_abandoned);
            Xml::new().element(&result, |result| result)
        }
        Operation::RecordLifecycleActionHeartbeat => {
            account.active_hook(&parameters)?;
            Xml::new().element(&result, |result| result)
        }
        Operation::SetInstanceHealth => {
            account.check_member(required(&parameters, "InstanceId")?)?;
            instance.group_member.is_healthy = is_healthy(&parameters)?;
            Xml::new()
        }
    };
    Ok(wire::query(NAMESPACE, operation.name(), body))
}

/// The instances of the account, as one request sees them.
struct Account<'a> {
    instance: &'a Instance,
    call: ServiceRequest<'a>,
}

/// An instance with the name of its group.
struct Member<'a> {
    group: String,
    ec2: Ec2Instance<'a>,
    lifecycle: &'static str,
    is_healthy: bool,
}

impl Member<'_> {
    /// Writes the members that groups and instances share.
    fn write(&self, item: Xml, health: &str) -> Xml {
        item.text("InstanceId", &self.ec2.plan.id)
            .text("InstanceType", &self.ec2.plan.instance_type)
            .text("AvailabilityZone", &self.ec2.plan.availability_zone)
            .text("LifecycleState", self.lifecycle)
            .text("HealthStatus", health)
            .text("ProtectedFromScaleIn", false)
    }

    fn health(&self) -> &'static str {
        if self.is_healthy { "Healthy" } else { "Unhealthy" }
    }
}

impl Account<'_> {
    /// The members of all groups: the instances with the tag of a group.
    fn members(&self) -> Vec<Member<'_>> {
        let own = &self.instance.world.instance.id;
        let state = &self.instance.group_member;
        let all = inventory::of_region(self.instance, &self.call.endpoint.region, self.call.time);
        let members = all.into_iter().filter_map(|ec2| {
            let group = ec2.plan.tags.get(GROUP_TAG)?.clone();
            let mut peers = self.instance.peers.iter();
            let (lifecycle, is_healthy) = match peers.find(|peer| peer.plan.id == ec2.plan.id) {
                _ if ec2.plan.id == *own => (state.lifecycle_state(), state.is_healthy),
                Some(peer) => (peer.lifecycle, peer.is_healthy),
                None => ("InService", true),
            };
            Some(Member {
                group,
                lifecycle,
                is_healthy,
                ec2,
            })
        });
        members.filter(|member| member.ec2.has_network()).collect()
    }

    fn instances(&self, parameters: &QueryParameters, result: &str) -> Xml {
        let ids = parameters.list("InstanceIds.member");
        let mut found = self.members();
        found.retain(|member| ids.is_empty() || ids.contains(&member.ec2.plan.id.as_str()));
        Xml::new().element(result, |result| {
            result.members("AutoScalingInstances", &found, |item, member| {
                let item = item.text("AutoScalingGroupName", &member.group);
                member.write(item, &member.health().to_ascii_uppercase())
            })
        })
    }

    fn groups(&self, parameters: &QueryParameters, result: &str) -> Xml {
        let names = parameters.list("AutoScalingGroupNames.member");
        let members = self.members();
        let groups: BTreeSet<&str> = members.iter().map(|member| member.group.as_str()).collect();
        let found = groups
            .into_iter()
            .filter(|group| names.is_empty() || names.contains(group));
        Xml::new().element(result, |result| {
            result.members("AutoScalingGroups", found, |item, group| {
                let of_group: Vec<&Member<'_>> =
                    members.iter().filter(|member| member.group == group).collect();
                self.write_group(item, group, &of_group)
            })
        })
    }

    fn write_group(&self, item: Xml, group: &str, members: &[&Member<'_>]) -> Xml {
        let world = &self.instance.world;
        let plan = world.aws.autoscaling.as_ref().filter(|plan| plan.group == group);
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let zones: BTreeSet<&str> = members
            .iter()
            .map(|member| member.ec2.plan.availability_zone.as_str())
            .collect();
        let subnets: BTreeSet<&str> = members
            .iter()
            .map(|member| member.ec2.plan.subnet_id.as_str())
            .collect();
        let subnets: Vec<&str> = subnets.into_iter().collect();
        item.text("AutoScalingGroupName", group)
            .text("AutoScalingGroupARN", self.group_arn(group))
            .text("MinSize", plan.map_or(count, |plan| plan.min_size))
            .text("MaxSize", plan.map_or(count, |plan| plan.max_size))
            .text(
                "DesiredCapacity",
                plan.map_or(count, |plan| plan.desired_capacity),
            )
            .text("DefaultCooldown", 300)
            .members("AvailabilityZones", zones, Xml::bare)
            .element("LoadBalancerNames", |none| none)
            .element("TargetGroupARNs", |none| none)
            .text("HealthCheckType", "EC2")
            .text("HealthCheckGracePeriod", 300)
            .members("Instances", members, |item, member| {
                member.write(item, member.health())
            })
            .text("CreatedTime", clock::milliseconds(self.instance.launched.into()))
            .element("SuspendedProcesses", |none| none)
            .text("VPCZoneIdentifier", subnets.join(","))
            .element("EnabledMetrics", |none| none)
            .element("Tags", |none| none)
            .members("TerminationPolicies", ["Default"], Xml::bare)
            .text("NewInstancesProtectedFromScaleIn", false)
    }

    /// ARN of a group. It contains an id that Auto Scaling generates.
    fn group_arn(&self, group: &str) -> String {
        let (world, region) = (&self.instance.world, &self.call.endpoint.region);
        let (partition, account) = (world.region.partition(), &world.account);
        let id = arn::derived_uuid(group);
        format!(
            "arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:{id}:autoScalingGroupName/{group}"
        )
    }

    /// The resource that policies check.
    fn resource(&self, operation: Operation, parameters: &QueryParameters) -> String {
        let group = match operation {
            Operation::DescribeAutoScalingGroups | Operation::DescribeAutoScalingInstances => None,
            Operation::CompleteLifecycleAction | Operation::RecordLifecycleActionHeartbeat => {
                parameters.get("AutoScalingGroupName").map(str::to_owned)
            }
            Operation::SetInstanceHealth => {
                let id = parameters.get("InstanceId").unwrap_or_default();
                let mut members = self.members().into_iter();
                let member = members.find(|member| member.ec2.plan.id.as_str() == id);
                member.map(|member| member.group)
            }
        };
        group.map_or_else(|| "*".to_owned(), |group| self.group_arn(&group))
    }

    /// Checks that an instance is a member of a group, and the scenario's own.
    fn check_member(&self, id: &str) -> Result<(), ServiceError> {
        let members = self.members();
        if members.iter().all(|member| member.ec2.plan.id.as_str() != id) {
            let message = format!("Instance Id not found - No managed instance found for instance ID: {id}");
            return Err(validation_error(message));
        }
        if self.instance.world.instance.id.as_str() == id {
            return Ok(());
        }
        Err(not_emulated::other_instance(id))
    }

    /// The hook of a request, for which the instance waits.
    fn active_hook(&self, parameters: &QueryParameters) -> Result<String, ServiceError> {
        let hook = required(parameters, "LifecycleHookName")?;
        let group = required(parameters, "AutoScalingGroupName")?;
        let (id, token) = (
            parameters.get("InstanceId"),
            parameters.get("LifecycleActionToken"),
        );
        // No client receives a token: only notifications of Auto Scaling have it.
        if let Some(token) = token {
            let message = format!("No active Lifecycle Action found with token {token}");
            return Err(validation_error(message));
        }
        let id = id.unwrap_or_default();
        let own = &self.instance.world.instance.id;
        let members = self.members();
        let is_member = members
            .iter()
            .any(|member| member.group == group && member.ec2.plan.id == *own && own.as_str() == id);
        if is_member && self.instance.group_member.waits_for(hook) {
            return Ok(hook.to_owned());
        }
        let message = format!("No active Lifecycle Action found with instance ID {id}");
        Err(validation_error(message))
    }
}

fn required<'a>(parameters: &'a QueryParameters, name: &str) -> Result<&'a str, ServiceError> {
    let value = parameters.get(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| validation_error(wire::null_member(name)))
}

/// Whether a lifecycle action ends the launch.
fn is_abandoned(parameters: &QueryParameters) -> Result<bool, ServiceError> {
    match required(parameters, "LifecycleActionResult")? {
        "CONTINUE" => Ok(false),
        "ABANDON" => Ok(true),
        _ => Err(validation_error(
            "Lifecycle Action Result must be either CONTINUE or ABANDON.".to_owned(),
        )),
    }
}

fn is_healthy(parameters: &QueryParameters) -> Result<bool, ServiceError> {
    match required(parameters, "HealthStatus")? {
        "Healthy" => Ok(true),
        "Unhealthy" => Ok(false),
        _ => Err(validation_error(
            "Health status must be either Healthy or Unhealthy.".to_owned(),
        )),
    }
}

fn validation_error(message: String) -> ServiceError {
    ServiceError::new(400, "ValidationError", message)
}
