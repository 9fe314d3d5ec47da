//! Host names with the id of a customer's resource, and those of interface endpoints in a VPC.

use nodejoin_core::vocabulary::aws_service::AwsService;

use super::parts::EndpointKind;

/// A kind of host names: an id, then these labels and the region, such as `ID.execute-api.eu-west-1.amazonaws.com`.
#[derive(Debug)]
struct ResourceRow {
    labels: &'static str,
    /// Whether the region is before the labels.
    region_first: bool,
    suffix: Suffix,
    /// Start of the host names of the service, as the list of services has it.
    service: &'static str,
}

/// The suffixes of a kind of host names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suffix {
    /// That of services over IPv4.
    Services,
    /// That of customers' resources over IPv4 and IPv6.
    Resources,
    Both,
}

const fn row(labels: &'static str, suffix: Suffix, service: &'static str) -> ResourceRow {
    ResourceRow {
        labels,
        region_first: false,
        suffix,
        service,
    }
}

const fn region_first(labels: &'static str, service: &'static str) -> ResourceRow {
    ResourceRow {
        region_first: true,
        ..row(labels, Suffix::Services, service)
    }
}

/// Those that clients reach over HTTPS. Source: the service endpoints of the AWS General Reference, and the
/// account-based endpoints of DynamoDB and Kinesis in the endpoint rules of botocore 1.44.8.
static ROWS: [ResourceRow; 17] = [
    row("execute-api", Suffix::Services, "execute-api"),
    row("lambda-url", Suffix::Resources, "lambda"),
    row("appsync-api", Suffix::Services, "appsync"),
    row("appsync-realtime-api", Suffix::Services, "appsync"),
    row("iot", Suffix::Services, "data-ats.iot"),
    row("credentials.iot", Suffix::Services, "iot"),
    row("jobs.iot", Suffix::Services, "data.jobs.iot"),
    row("d.codeartifact", Suffix::Both, "codeartifact"),
    row("grafana-workspace", Suffix::Services, "grafana"),
    row("ddb", Suffix::Services, "dynamodb"),
    row("control-kinesis", Suffix::Services, "kinesis"),
    row("data-kinesis", Suffix::Services, "kinesis"),
    row("aoss", Suffix::Resources, "aoss"),
    row("s3-accesspoint", Suffix::Services, "s3-accesspoint"),
    row("s3-object-lambda", Suffix::Services, "s3-object-lambda"),
    region_first("es", "es"),
    region_first("aoss", "aoss"),
];

/// The service of a resource's host name without its suffix.
pub(super) fn service(
    labels: &str,
    kind: EndpointKind,
    is_region: impl Fn(&str) -> bool,
) -> Option<AwsService> {
    let (_id, rest) = labels.split_once('.')?;
    // Variants of S3's access points.
    let rest = &rest.replacen("-fips.", ".", 1).replacen("dualstack.", "", 1);
    let mut rows = ROWS.iter();
    let row = rows.find(|row| {
        let region = match row.region_first {
            true => rest
                .strip_suffix(row.labels)
                .and_then(|rest| rest.strip_suffix('.')),
            false => rest
                .strip_prefix(row.labels)
                .and_then(|rest| rest.strip_prefix('.')),
        };
        row.suffix.is_of(kind) && region.is_some_and(&is_region)
    });
    AwsService::of_host(row?.service)
}

impl Suffix {
    fn is_of(self, kind: EndpointKind) -> bool {
        match kind {
            EndpointKind::Ipv4 => self != Self::Resources,
            EndpointKind::DualStackResource => self != Self::Services,
            EndpointKind::DualStack => false,
        }
    }
}

/// The host name of the service behind an interface endpoint: `vpce-0a-b.ssm.eu-west-1.vpce` becomes `ssm.eu-west-1`,
/// and `NAME.bucket.vpce-0a-b.s3.eu-west-1.vpce` becomes `NAME.s3.eu-west-1`.
pub(super) fn behind_interface_endpoint(labels: &str) -> Option<String> {
    let labels = labels.strip_suffix(".vpce")?;
    if labels.starts_with("vpce-") {
        return Some(labels.split_once('.')?.1.to_owned());
    }
    let (before, endpoint) = labels.split_once(".vpce-")?;
    let service = endpoint.split_once('.')?.1;
    match before {
        "bucket" => Some(service.to_owned()),
        _ => Some(format!("{}.{service}", before.strip_suffix(".bucket")?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_service() {
        for row in &ROWS {
            assert!(AwsService::of_host(row.service).is_some(), "{row:?}");
        }
    }
}
