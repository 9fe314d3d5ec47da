//! EKS, as `https://eks.REGION.amazonaws.com` answers: REST JSON.
//!
//! | method, path | auth | answer |
//! | --- | --- | --- |
//! | `GET /clusters/NAME` | SigV4, `eks:DescribeCluster` | DescribeCluster: the scenario's cluster, its status by the time since the node's start; or another of the account |
//! | `GET /clusters` | SigV4, `eks:ListClusters` | ListClusters, in pages |
//! | `GET /clusters/NAME/node-groups` | SigV4, `eks:ListNodegroups` | ListNodegroups, in pages |
//! | `GET /clusters/NAME/node-groups/NAME` | SigV4, `eks:DescribeNodegroup` | DescribeNodegroup |
//! | `GET /clusters/NAME/access-entries` | SigV4, `eks:ListAccessEntries` | ListAccessEntries, in pages; 400 where the authentication mode has none |
//! | `GET /clusters/NAME/access-entries/ARN` | SigV4, `eks:DescribeAccessEntry` | DescribeAccessEntry |
//! | anything else | - | 404 `UnknownOperationException` |
//!
//! Real: members, null where EKS has null, typed errors, the status in time. Faked: nothing stands behind it but the plan; subnets
//! and security groups are the instance's own.

mod access;
pub mod cluster;
mod list;
mod nodegroup;

use http::Method;
use nodejoin_core::plan::access_entry::AccessEntry;
use nodejoin_core::plan::fault::Service;
use serde_json::json;
use url::form_urlencoded;

use super::authorize;
use crate::clock::{Moment, Twist};
use crate::exchange::{Answer, Request, ServiceError};
use crate::iam::Caller;
use crate::router::Endpoint;
use crate::wire::{self, Shape};
use crate::world::{Instance, Target, World};

pub use cluster::status;

/// What a request asks for.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let known = |operation: &str, subject| Target::known(Service::Eks, operation, subject);
    let segments: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    match (request.method.clone(), segments.as_slice()) {
        (Method::GET, ["clusters", name]) => known("DescribeCluster", Some(decode(name))),
        (Method::GET, ["clusters"]) => known("ListClusters", None),
        (Method::GET, ["clusters", name, "node-groups"]) => known("ListNodegroups", Some(decode(name))),
        (Method::GET, ["clusters", name, "node-groups", group]) => known(
            "DescribeNodegroup",
            Some(format!("{}/{}", decode(name), decode(group))),
        ),
        (Method::GET, ["clusters", name, "access-entries"]) => known("ListAccessEntries", Some(decode(name))),
        (Method::GET, ["clusters", name, "access-entries", arn]) => known(
            "DescribeAccessEntry",
            Some(format!("{}/{}", decode(name), decode(arn))),
        ),
        (method, _) => Target::unknown(Service::Eks, format!("{method} {}", request.path)),
    }
}

/// Answers a request.
///
/// # Errors
/// What EKS answers instead.
pub fn answer(
    instance: &Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    if !target.known {
        return Err(ServiceError::new(
            404,
            "UnknownOperationException",
            "The requested operation is not recognized by the service.",
        ));
    }
    let caller = authorize::signature(instance, request, endpoint, Shape::RestJson, moment)?;
    let ask = Ask {
        instance,
        caller,
        region: &endpoint.region,
        moment,
    };
    let subject = target.subject.as_deref().unwrap_or_default();
    let (name, group) = subject.split_once('/').unwrap_or((subject, ""));
    let body = match target.operation.as_str() {
        "DescribeCluster" => ask.describe_cluster(subject)?,
        "ListClusters" => ask.list_clusters(request)?,
        "ListNodegroups" => ask.list_nodegroups(name, request)?,
        "ListAccessEntries" => ask.list_access_entries(name, request)?,
        "DescribeAccessEntry" => ask.describe_access_entry(name, group)?,
        _ => ask.describe_nodegroup(name, group)?,
    };
    Ok(wire::rest_json(&body))
}

/// A request whose signature holds.
struct Ask<'a> {
    instance: &'a Instance,
    caller: Caller<'a>,
    region: &'a str,
    moment: Moment,
}

impl Ask<'_> {
    fn describe_cluster(&self, name: &str) -> Result<serde_json::Value, ServiceError> {
        self.permit(
            "eks:DescribeCluster",
            &self.world().cluster_arn_in(self.region, name),
        )?;
        if self.is_own(name) {
            let status = cluster::status(self.world(), self.moment.seconds());
            let own = cluster::own(self.world(), status, self.instance.launched.into());
            return Ok(json!({ "cluster": own }));
        }
        let others = &self.world().aws.clusters;
        let other = others
            .iter()
            .find(|other| other.name == name && cluster::is_of(other, self.world(), self.region));
        let other = other.ok_or_else(|| no_cluster(name))?;
        let launched = self.instance.launched.into();
        Ok(json!({ "cluster": cluster::other(self.world(), other, self.region, launched) }))
    }

    fn list_clusters(&self, request: &Request) -> Result<serde_json::Value, ServiceError> {
        let all = self.world().cluster_arn_in(self.region, "*");
        // The one action here that is asked of no resource in particular.
        self.permit("eks:ListClusters", &all)?;
        let world = self.world();
        let own = &world.cluster.name;
        let others = world.aws.clusters.iter();
        let others = others.filter(|other| cluster::is_of(other, world, self.region));
        let mut names: Vec<String> = others.map(|other| other.name.clone()).collect();
        names.extend(self.is_own(own).then(|| own.clone()));
        names.sort();
        list::page("clusters", &names, request)
    }

    fn list_nodegroups(&self, name: &str, request: &Request) -> Result<serde_json::Value, ServiceError> {
        self.permit(
            "eks:ListNodegroups",
            &self.world().cluster_arn_in(self.region, name),
        )?;
        let groups = nodegroup::of(self.world(), self.is_own(name)).ok_or_else(|| no_cluster(name))?;
        let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
        list::page("nodegroups", &names, request)
    }

    fn describe_nodegroup(&self, name: &str, group: &str) -> Result<serde_json::Value, ServiceError> {
        let arn = nodegroup::arn(self.world(), self.region, name, group);
        self.permit("eks:DescribeNodegroup", &arn)?;
        let groups = nodegroup::of(self.world(), self.is_own(name)).ok_or_else(|| no_cluster(name))?;
        let found = groups.iter().find(|found| found.name == group);
        let found = found.ok_or_else(|| not_found(format!("No node group found for name: {group}.")))?;
        let launched = self.instance.launched.into();
        Ok(json!({ "nodegroup": nodegroup::described(self.world(), found, launched) }))
    }

    fn list_access_entries(&self, name: &str, request: &Request) -> Result<serde_json::Value, ServiceError> {
        let cluster = self.world().cluster_arn_in(self.region, name);
        self.permit("eks:ListAccessEntries", &cluster)?;
        let entries = self.access_entries(name)?.iter();
        let arns: Vec<String> = entries.map(|entry| entry.principal_arn.clone()).collect();
        list::page("accessEntries", &arns, request)
    }

    fn describe_access_entry(&self, name: &str, arn: &str) -> Result<serde_json::Value, ServiceError> {
        let resource = access::arn(self.world(), self.region, arn);
        self.permit("eks:DescribeAccessEntry", &resource)?;
        let mut entries = self.access_entries(name)?.iter();
        let found = entries.find(|entry| entry.principal_arn == arn);
        let found = found.ok_or_else(|| {
            not_found(
                "The specified principalArn could not be found. You can view your available access entries with \
                 'list-access-entries'."
                    .to_owned(),
            )
        })?;
        let launched = self.instance.launched.into();
        Ok(json!({ "accessEntry": access::described(self.world(), found, launched) }))
    }

    /// Other clusters of the account have none.
    fn access_entries(&self, name: &str) -> Result<&[AccessEntry], ServiceError> {
        if self.is_own(name) {
            access::of(self.world())
        } else {
            Err(no_cluster(name))
        }
    }

    fn world(&self) -> &World {
        &self.instance.world
    }

    /// Whether it is the scenario's own cluster, and the news of it has come around.
    fn is_own(&self, name: &str) -> bool {
        let world = self.world();
        name == world.cluster.name
            && self.region == world.region.as_str()
            && self.moment.twist != Twist::Stale
    }

    fn permit(&self, action: &str, resource: &str) -> Result<(), ServiceError> {
        self.caller.permit(Service::Eks, action, resource)
    }
}

fn no_cluster(name: &str) -> ServiceError {
    not_found(format!("No cluster found for name: {name}."))
}

fn not_found(message: String) -> ServiceError {
    ServiceError {
        null_members: &["clusterName", "nodegroupName", "fargateProfileName", "addonName"],
        ..ServiceError::new(404, "ResourceNotFoundException", message)
    }
}

fn decode(segment: &str) -> String {
    // In a path `+` is itself, in a form it is a space.
    let form = segment.replace('+', "%2B");
    form_urlencoded::parse(form.as_bytes())
        .next()
        .map(|(name, _)| name.into_owned())
        .unwrap_or_default()
}
