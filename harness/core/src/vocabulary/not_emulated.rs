//! The error of a call that the fake AWS does not emulate: written by the fake, and read by the diagnosis.

/// The error code.
pub const CODE: &str = "NotEmulated";
/// The error code of a call whose upstream does not respond.
pub const UPSTREAM_CODE: &str = "UpstreamUnreachable";
const PARAMETER: &str = "nodejoin does not emulate the parameter ";

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
    }
}
