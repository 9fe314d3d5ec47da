//! EKS, as `https://eks.REGION.amazonaws.com`: REST JSON.
//!
//! | method, path | auth | response |
//! | --- | --- | --- |
//! | `GET /clusters/NAME` | SigV4, `eks:DescribeCluster` | the scenario's cluster, or a further one |
//! | `GET /clusters` | SigV4, `eks:ListClusters` | ListClusters, in pages |
//! | `GET /clusters/NAME/node-groups` | SigV4, `eks:ListNodegroups` | ListNodegroups, in pages |
//! | `GET /clusters/NAME/node-groups/NAME` | SigV4, `eks:DescribeNodegroup` | DescribeNodegroup |
//! | `GET /clusters/NAME/access-entries` | SigV4, `eks:ListAccessEntries` | in pages; 400 if the mode has no entries |
//! | `GET /clusters/NAME/access-entries/ARN` | SigV4, `eks:DescribeAccessEntry` | DescribeAccessEntry |
//! | `GET /clusters/NAME/addons/NAME` | SigV4, `eks:DescribeAddon` | DescribeAddon |
//! | `GET /clusters/NAME/addons` | SigV4, `eks:ListAddons` | ListAddons, in pages |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: members, null where EKS returns null, typed errors, the status over time. Faked: the plan is the only source;
//! subnets and security groups are those of the instance.

mod access;
mod addon;
mod cluster;
mod list;
mod nodegroup;

use http::Method;
use nodejoin_core::plan::access_entry::AccessEntry;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, EksOperation as Operation};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{ServiceRequest, authorize};
use crate::clock::{RequestTime, StateView};
use crate::http::{Request, Response, ServiceError};
use crate::iam::Signer;
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::{self, WireFormat};
use crate::world::World;

/// The decoded parameters of a path, which form the subject; `None` for a path of another operation.
fn parameters(operation: Operation, path: &str) -> Option<Vec<String>> {
    let (template, path): (Vec<&str>, Vec<&str>) =
        (operation.path().split('/').collect(), path.split('/').collect());
    let pairs = || template.iter().zip(&path);
    let matches =
        template.len() == path.len() && pairs().all(|(part, segment)| part == segment || *part == "{}");
    matches.then(|| {
        let parameters = pairs().filter(|(part, _)| **part == "{}");
        parameters.map(|(_, segment)| decode(segment)).collect()
    })
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    match parse(request) {
        Some((operation, parameters)) => {
            let subject = Some(parameters.join("/")).filter(|subject| !subject.is_empty());
            RequestTarget::known(Service::Eks, operation.name(), subject)
        }
        None => RequestTarget::unknown(Service::Eks, format!("{} {}", request.method, request.path)),
    }
}

fn parse(request: &Request) -> Option<(Operation, Vec<String>)> {
    let path = request.path.trim_matches('/');
    let mut operations = Operation::ALL.iter().filter(|_| request.method == Method::GET);
    operations.find_map(|operation| Some((*operation, parameters(*operation, path)?)))
}

/// Responds to a request.
///
/// # Errors
/// The error that EKS returns.
pub(crate) fn respond(instance: &Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let ServiceRequest {
        request,
        endpoint,
        time,
    } = call;
    let Some((operation, parameters)) = parse(request) else {
        let operation = identify(request).operation;
        return Err(not_emulated::error(Service::Eks.word(), &operation));
    };
    let signer = authorize::signature(instance, call, WireFormat::RestJson)?;
    let eks = AuthorizedRequest {
        instance,
        signer,
        region: &endpoint.region,
        time,
        operation,
    };
    let parameter = |index: usize| parameters.get(index).map(String::as_str).unwrap_or_default();
    let (name, member) = (parameter(0), parameter(1));
    let body = match operation {
        Operation::DescribeAccessEntry => eks.describe_access_entry(name, member)?,
        Operation::DescribeAddon => eks.describe_addon(name, member)?,
        Operation::DescribeCluster => eks.describe_cluster(name)?,
        Operation::DescribeNodegroup => eks.describe_nodegroup(name, member)?,
        Operation::ListAccessEntries => eks.list_access_entries(name, request)?,
        Operation::ListAddons => eks.list_addons(name, request)?,
        Operation::ListClusters => eks.list_clusters(request)?,
        Operation::ListNodegroups => eks.list_nodegroups(name, request)?,
    };
    Ok(wire::rest_json(&body))
}

/// A request with a valid signature.
struct AuthorizedRequest<'a> {
    instance: &'a Instance,
    signer: Signer<'a>,
    region: &'a str,
    time: RequestTime,
    operation: Operation,
}

impl AuthorizedRequest<'_> {
    fn describe_cluster(&self, name: &str) -> Result<Value, ServiceError> {
        self.permit(&self.world().cluster_arn_in(self.region, name))?;
        if self.is_own(name) {
            let status = cluster::status(self.world(), self.time.seconds());
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

    fn list_clusters(&self, request: &Request) -> Result<Value, ServiceError> {
        let all = self.world().cluster_arn_in(self.region, "*");
        self.permit(&all)?;
        let world = self.world();
        let own = &world.cluster.name;
        let others = world.aws.clusters.iter();
        let others = others.filter(|other| cluster::is_of(other, world, self.region));
        let mut names: Vec<String> = others.map(|other| other.name.clone()).collect();
        names.extend(self.is_own(own).then(|| own.clone()));
        names.sort();
        list::page("clusters", &names, request)
    }

    fn list_nodegroups(&self, name: &str, request: &Request) -> Result<Value, ServiceError> {
        self.permit(&self.world().cluster_arn_in(self.region, name))?;
        let groups = nodegroup::of(self.world(), self.is_own(name)).ok_or_else(|| no_cluster(name))?;
        let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
        list::page("nodegroups", &names, request)
    }

    fn describe_nodegroup(&self, name: &str, group: &str) -> Result<Value, ServiceError> {
        let arn = nodegroup::arn(self.world(), self.region, name, group);
        self.permit(&arn)?;
        let groups = nodegroup::of(self.world(), self.is_own(name)).ok_or_else(|| no_cluster(name))?;
        let found = groups.iter().find(|found| found.name == group);
        let found = found.ok_or_else(|| not_found(format!("No node group found for name: {group}.")))?;
        let launched = self.instance.launched.into();
        Ok(json!({ "nodegroup": nodegroup::described(self.world(), found, launched) }))
    }

    fn describe_addon(&self, name: &str, addon: &str) -> Result<Value, ServiceError> {
        self.permit(&addon::arn(self.world(), self.region, name, addon))?;
        let addons = self.is_own(name).then(|| &self.world().cluster.eks.addons);
        let mut addons = addons.ok_or_else(|| no_cluster(name))?.iter();
        let found = addons.find(|found| found.name == addon);
        let missing = || not_found(format!("No addon: {addon} found in cluster: {name}"));
        let launched = self.instance.launched.into();
        Ok(json!({ "addon": addon::described(self.world(), found.ok_or_else(missing)?, launched) }))
    }

    fn list_addons(&self, name: &str, request: &Request) -> Result<Value, ServiceError> {
        self.permit(&self.world().cluster_arn_in(self.region, name))?;
        let addons = self.is_own(name).then(|| &self.world().cluster.eks.addons);
        let addons = addons.ok_or_else(|| no_cluster(name))?.iter();
        let names: Vec<String> = addons.map(|addon| addon.name.clone()).collect();
        list::page("addons", &names, request)
    }

    fn list_access_entries(&self, name: &str, request: &Request) -> Result<Value, ServiceError> {
        let cluster = self.world().cluster_arn_in(self.region, name);
        self.permit(&cluster)?;
        let entries = self.access_entries(name)?.iter();
        let arns: Vec<String> = entries.map(|entry| entry.principal_arn.clone()).collect();
        list::page("accessEntries", &arns, request)
    }

    fn describe_access_entry(&self, name: &str, arn: &str) -> Result<Value, ServiceError> {
        let resource = access::arn(self.world(), self.region, arn);
        self.permit(&resource)?;
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

    /// The access entries of a cluster. Further clusters of the account have none.
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

    /// Whether this is the scenario's own cluster, and EKS already returns it.
    fn is_own(&self, name: &str) -> bool {
        let world = self.world();
        name == world.cluster.name
            && self.region == world.region.as_str()
            && self.time.view != StateView::Stale
    }

    /// Checks that the caller may call the operation on this resource.
    fn permit(&self, resource: &str) -> Result<(), ServiceError> {
        match self.operation.action() {
            Some(action) => self.signer.permit(Service::Eks, action, resource),
            None => Ok(()),
        }
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
    // `+` is literal in a path, but a space in a form.
    let form = segment.replace('+', "%2B");
    form_urlencoded::parse(form.as_bytes())
        .next()
        .map(|(name, _)| name.into_owned())
        .unwrap_or_default()
}
