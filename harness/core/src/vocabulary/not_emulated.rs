//! The error of a call that the fake AWS does not emulate: written by the fake, and read by the diagnosis.

/// The error code.
pub const CODE: &str = "NotEmulated";
/// The error code of a call whose upstream does not respond.
pub const UPSTREAM_CODE: &str = "UpstreamUnreachable";
const PARAMETER: &str = "nodejoin does not emulate the parameter ";
const RESOURCE: &str = "nodejoin does not know the responses of ";

/// The message for an operation.
#[must_use]
pub fn operation_message(service: &str, operation: &str) -> String {
    format!(
        "nodejoin does not emulate {operation} of {service}: {}",
        ways_out(service, operation)
    )
}

/// The message for a parameter of an operation that the fake emulates.
#[must_use]
pub fn parameter_message(service: &str, operation: &str, name: &str) -> String {
    format!(
        "{PARAMETER}{name} of {operation} of {service}: {}",
        ways_out(service, operation)
    )
}

/// The message for a request to a customer's resource in a service, such as the URL of a function.
#[must_use]
pub fn resource_message(host: &str, service: &str, operation: &str) -> String {
    format!(
        "{RESOURCE}{host}, a resource in {service}: add its answer with `host` to `aws.answers`, or list \
         `{service}.{operation}` in `aws.allow` if the call may fail"
    )
}

/// Whether a message is about a customer's resource.
#[must_use]
pub fn is_of_resource(message: &str) -> bool {
    message.starts_with(RESOURCE)
}

fn ways_out(service: &str, operation: &str) -> String {
    format!(
        "add its answer to `aws.answers`, or list `{service}.{operation}` in `aws.allow` if the call may fail"
    )
}

/// The message for a call whose upstream does not respond.
#[must_use]
pub fn upstream_message(service: &str, url: &str, why: &str) -> String {
    format!("nodejoin received no response from {url}, the upstream of {service} in `aws.upstream`: {why}")
}

/// The parameter that a message names.
#[must_use]
pub fn parameter(message: &str) -> Option<&str> {
    let (name, _) = message.strip_prefix(PARAMETER)?.split_once(" of ")?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_message_of_a_parameter_names_one() {
        let message = parameter_message("ec2", "DescribeInstances", "IncludeManagedResources");
        assert_eq!(parameter(&message), Some("IncludeManagedResources"));
        assert_eq!(parameter(&operation_message("ec2", "RunInstances")), None);
        assert!(!is_of_resource(&message));
        assert!(is_of_resource(&resource_message(
            "a1.execute-api",
            "execute-api",
            "GET /"
        )));
    }
}
