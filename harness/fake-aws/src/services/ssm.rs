//! Systems Manager, as `https://ssm.REGION.amazonaws.com`: JSON 1.1, parameters only.
//!
//! | `X-Amz-Target` | auth | response |
//! | --- | --- | --- |
//! | `AmazonSSM.GetParameter` | SigV4, `ssm:GetParameter` | a parameter |
//! | `AmazonSSM.GetParameters` | SigV4, `ssm:GetParameters` | parameters, and the names that do not exist |
//! | `AmazonSSM.GetParametersByPath` | SigV4, `ssm:GetParametersByPath` | the parameters below a path, in pages |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: shapes, errors, pages, and ciphertext without decryption. Faked: each parameter has one version and no labels.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::stored::{ParameterPlan, ParameterType};
use nodejoin_core::vocabulary::operation::{ApiOperation as _, SsmOperation as Operation};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ServiceRequest, authorize};
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::{self, WireFormat};

/// Limit of the parameters in a response, and of the names in a request.
const MAX_PARAMETERS: usize = 10;
/// The version of each parameter.
const VERSION: u32 = 1;

pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::of_target(Service::Ssm, request, |operation: Operation| {
        let body = request.json();
        match operation {
            Operation::GetParameter => body["Name"].as_str().map(str::to_owned),
            Operation::GetParameters => Some(names(&body).join(",")),
            Operation::GetParametersByPath => body["Path"].as_str().map(str::to_owned),
        }
    })
}

fn names(body: &Value) -> Vec<&str> {
    let names = body["Names"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// The members of a request that an operation reads.
const fn accepted(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::GetParameter => &["Name", "WithDecryption"],
        Operation::GetParameters => &["Names", "WithDecryption"],
        Operation::GetParametersByPath => &["MaxResults", "NextToken", "Path", "Recursive", "WithDecryption"],
    }
}

/// Responds to a request.
///
/// # Errors
/// The error that Systems Manager returns.
pub(crate) fn respond(instance: &Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let name = call.request.target_name();
    let operation = Operation::named(name).ok_or_else(|| not_emulated::error(Service::Ssm.word(), name))?;
    let signer = authorize::signature(instance, call, WireFormat::Json11)?;
    let body = call.request.json();
    not_emulated::check_members(Service::Ssm.word(), operation.name(), &body, accepted(operation))?;
    let parameters = Parameters {
        instance,
        region: &call.endpoint.region,
        decrypts: body["WithDecryption"].as_bool().unwrap_or(false),
    };
    let permit = |resource: &str| match operation.action() {
        Some(action) => signer.permit(Service::Ssm, action, &parameters.arn(resource)),
        None => Ok(()),
    };
    let body = match operation {
        Operation::GetParameter => {
            let name = body["Name"].as_str().unwrap_or_default();
            permit(plain(name))?;
            parameters.one(name)?
        }
        Operation::GetParameters => {
            let names = names(&body);
            names.iter().try_for_each(|name| permit(plain(name)))?;
            parameters.several(&names)?
        }
        Operation::GetParametersByPath => {
            permit(body["Path"].as_str().unwrap_or_default())?;
            parameters.below(&body)?
        }
    };
    Ok(wire::json11(&body))
}

/// The name in an ARN or in a name with a version.
fn plain(name: &str) -> &str {
    match name.split_once(":parameter") {
        Some((_, name)) => without_selector(name),
        None => without_selector(name),
    }
}

fn without_selector(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// The version or the label after the name, which may be in an ARN.
fn selector(name: &str) -> Option<&str> {
    let name = name.split_once(":parameter").map_or(name, |(_, name)| name);
    name.split_once(':').map(|(_, selector)| selector)
}

/// The parameters of the account, as one request sees them.
struct Parameters<'a> {
    instance: &'a Instance,
    region: &'a str,
    decrypts: bool,
}

impl Parameters<'_> {
    fn arn(&self, name: &str) -> String {
        let world = &self.instance.world;
        let (partition, account, region) = (world.region.partition(), &world.account, self.region);
        format!(
            "arn:{partition}:ssm:{region}:{account}:parameter/{}",
            name.trim_start_matches('/')
        )
    }

    /// Whether the region of the request can have the parameter: each has those of its own, and those of AWS.
    fn has(&self, name: &str) -> bool {
        self.region == self.instance.world.region.as_str() || name.starts_with("/aws/service/")
    }

    fn find(&self, name: &str) -> Option<Value> {
        let world = &self.instance.world;
        let name = plain(name);
        if !self.has(name) {
            return None;
        }
        let all = &world.aws.parameters;
        let (name, plan) = all.get_key_value(name).or_else(|| {
            // ARNs of names with and without a first slash are equal.
            all.get_key_value(name.trim_start_matches('/'))
        })?;
        Some(self.written(name, plan))
    }

    fn written(&self, name: &str, plan: &ParameterPlan) -> Value {
        let value = match plan.kind() {
            ParameterType::SecureString if !self.decrypts => encrypted(plan.value()),
            ParameterType::String | ParameterType::StringList | ParameterType::SecureString => {
                plan.value().to_owned()
            }
        };
        let modified = self.instance.launched.duration_since(std::time::UNIX_EPOCH);
        json!({
            "ARN": self.arn(name),
            "DataType": "text",
            "LastModifiedDate": modified.unwrap_or_default().as_secs(),
            "Name": name,
            "Type": plan.kind().word(),
            "Value": value,
            "Version": VERSION,
        })
    }

    fn one(&self, name: &str) -> Result<Value, ServiceError> {
        let found = self.find(name);
        let found = found.ok_or_else(|| ServiceError::new(400, "ParameterNotFound", ""))?;
        if selector(name).is_some_and(|selector| selector != VERSION.to_string()) {
            let message = format!(
                "Systems Manager could not find version {} of {}. Verify the version and try again.",
                selector(name).unwrap_or_default(),
                plain(name)
            );
            return Err(ServiceError::new(400, "ParameterVersionNotFound", message));
        }
        Ok(json!({ "Parameter": found }))
    }

    fn several(&self, names: &[&str]) -> Result<Value, ServiceError> {
        if names.is_empty() || names.len() > MAX_PARAMETERS {
            let message = format!(
                "1 validation error detected: Value '{}' at 'names' failed to satisfy constraint: Member must have length \
                 less than or equal to {MAX_PARAMETERS}",
                names.join(", ")
            );
            return Err(ServiceError::new(400, "ValidationException", message));
        }
        if names
            .iter()
            .enumerate()
            .any(|(index, name)| names[..index].contains(name))
        {
            let message = "Parameter names should not contain duplicates.";
            return Err(ServiceError::new(400, "ValidationException", message));
        }
        let find = |name: &str| self.one(name).ok().map(|mut one| one["Parameter"].take());
        let found: Vec<Value> = names.iter().filter_map(|name| find(name)).collect();
        let missing = names.iter().filter(|name| find(name).is_none());
        let missing: Vec<&&str> = missing.collect();
        Ok(json!({ "InvalidParameters": missing, "Parameters": found }))
    }

    /// The parameters below a path; without recursion only those of its own level.
    fn below(&self, body: &Value) -> Result<Value, ServiceError> {
        let path = body["Path"].as_str().unwrap_or_default();
        if !path.starts_with('/') {
            let message = "The parameter doesn't meet the parameter name requirements. The parameter name must begin \
                           with a forward slash \"/\".";
            return Err(ServiceError::new(400, "ValidationException", message));
        }
        let folder = format!("{}/", path.trim_end_matches('/'));
        let is_recursive = body["Recursive"].as_bool().unwrap_or(false);
        let is_below = |name: &str| {
            let rest = name.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| is_recursive || !rest.contains('/'))
        };
        let limit = match body["MaxResults"].as_u64() {
            None => MAX_PARAMETERS,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=MAX_PARAMETERS).contains(limit))
                .ok_or_else(|| invalid_limit(limit))?,
        };
        let start: usize = match body["NextToken"].as_str().map(str::parse) {
            None => 0,
            Some(Ok(start)) => start,
            Some(Err(_)) => {
                let message = "The specified token is not valid.";
                return Err(ServiceError::new(400, "InvalidNextToken", message));
            }
        };
        let all = &self.instance.world.aws.parameters;
        let mut found = all
            .iter()
            .filter(|(name, _)| is_below(name) && self.has(name))
            .skip(start);
        let page: Vec<Value> = found
            .by_ref()
            .take(limit)
            .map(|(name, plan)| self.written(name, plan))
            .collect();
        let next = found.next().map(|_| (start + limit).to_string());
        Ok(match next {
            Some(next) => json!({ "NextToken": next, "Parameters": page }),
            None => json!({ "Parameters": page }),
        })
    }
}

fn invalid_limit(limit: u64) -> ServiceError {
    let bound = match limit {
        0 => "greater than or equal to 1".to_owned(),
        _ => format!("less than or equal to {MAX_PARAMETERS}"),
    };
    let message = format!(
        "1 validation error detected: Value '{limit}' at 'maxResults' failed to satisfy constraint: Member must have \
         value {bound}"
    );
    ServiceError::new(400, "ValidationException", message)
}

/// A stand-in for the ciphertext, which a script cannot read either.
fn encrypted(value: &str) -> String {
    BASE64_STANDARD.encode([&b"\x01\x02\x02\x00x"[..], &Sha256::digest(value)].concat())
}
