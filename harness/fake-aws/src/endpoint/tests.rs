//! Host names of AWS, and names that it does not have.

use super::*;

#[test]
fn buckets_are_in_the_host_names_of_s3() {
    let table = [
        ("s3.eu-west-1.amazonaws.com", Some(("eu-west-1", None))),
        ("s3-eu-west-1.amazonaws.com", Some(("eu-west-1", None))),
        ("b.s3-eu-west-1.amazonaws.com", Some(("eu-west-1", Some("b")))),
        (
            "a.b.s3.dualstack.eu-west-1.amazonaws.com",
            Some(("eu-west-1", Some("a.b"))),
        ),
        ("b.s3.amazonaws.com", Some(("us-east-1", Some("b")))),
        (
            "b.s3.cn-north-1.amazonaws.com.cn",
            Some(("cn-north-1", Some("b"))),
        ),
        ("b.s3.eu-west-9.amazonaws.com", None),
        ("s3-control.eu-west-1.amazonaws.com", None),
    ];
    for (host, expected) in table {
        let found = s3(host);
        let parts = found
            .as_ref()
            .map(|s3| (s3.region.as_str(), s3.bucket.as_deref()));
        assert_eq!(parts, expected, "{host}");
    }
}

#[test]
fn host_names_of_other_services_are_those_of_aws() {
    let table = [
        ("sqs.eu-west-1.amazonaws.com", Some("sqs")),
        ("sqs.eu-west-1.api.aws", Some("sqs")),
        ("kms-fips.us-east-1.amazonaws.com", Some("kms")),
        ("api.pricing.us-east-1.amazonaws.com", Some("api.pricing")),
        ("iam.amazonaws.com", Some("iam")),
        ("eu-west-1.queue.amazonaws.com", Some("sqs")),
        ("cn-north-1.queue.amazonaws.com.cn", Some("sqs")),
        ("queue.amazonaws.com", Some("sqs")),
        (
            "eu-west-1.elasticmapreduce.amazonaws.com",
            Some("elasticmapreduce"),
        ),
        ("rds.amazonaws.com", Some("rds")),
        ("iam.us-gov.amazonaws.com", Some("iam")),
        ("route53-fips.amazonaws.com", Some("route53")),
        ("iam.global.api.aws", Some("iam")),
        ("data.iot-fips.us-east-1.amazonaws.com", Some("data-ats.iot")),
        ("fips.batch.us-east-1.amazonaws.com", Some("batch")),
        ("s3-control.dualstack.us-east-1.amazonaws.com", Some("s3-control")),
        ("ecr-public.us-east-1.api.aws", Some("api.ecr-public")),
        (
            "111122223333.s3-control.eu-west-1.amazonaws.com",
            Some("s3-control"),
        ),
        ("x.s3-control.eu-west-1.amazonaws.com", None),
        ("queue.amazonaws.com.cn", None),
        ("eu-west-9.queue.amazonaws.com", None),
        ("eu-west-1.kms.amazonaws.com", None),
        // Names that do not resolve outside either.
        ("sqs.amazonaws.com", None),
        ("sqs.eu-west-9.amazonaws.com", None),
        ("sqqs.eu-west-1.amazonaws.com", None),
        ("abc.gr7.eu-west-1.eks.amazonaws.com", None),
        ("sqs.eu-west-1.example.com", None),
    ];
    for (host, expected) in table {
        let found = not_emulated::service(host).map(AwsService::word);
        assert_eq!(found, expected, "{host}");
    }
}

#[test]
fn host_names_with_the_id_of_a_resource_belong_to_a_service() {
    let table = [
        ("a1b2c3.execute-api.eu-west-1.amazonaws.com", Some("execute-api")),
        (
            "a1b2c3.execute-api.cn-north-1.amazonaws.com.cn",
            Some("execute-api"),
        ),
        ("a1b2c3.lambda-url.us-gov-west-1.on.aws", Some("lambda")),
        ("a1-ats.iot.eu-west-1.amazonaws.com", Some("data-ats.iot")),
        ("a1.credentials.iot.eu-west-1.amazonaws.com", Some("iot")),
        (
            "demo-111122223333.d.codeartifact.eu-west-1.amazonaws.com",
            Some("codeartifact"),
        ),
        ("111122223333.ddb.eu-west-1.amazonaws.com", Some("dynamodb")),
        (
            "own-111122223333.s3-accesspoint-fips.dualstack.us-east-1.amazonaws.com",
            Some("s3-accesspoint"),
        ),
        ("search-logs-a1.eu-west-1.es.amazonaws.com", Some("es")),
        // Names that AWS does not have.
        ("execute-api.eu-west-1.on.aws", None),
        ("a1.lambda-url.eu-west-1.amazonaws.com", None),
        ("a1.execute-api.eu-west-9.amazonaws.com", None),
        ("a1.b2.execute-api.eu-west-1.amazonaws.com", None),
        ("abc.gr7.eu-west-1.eks.amazonaws.com", None),
    ];
    for (host, expected) in table {
        let found = match HostName::parse(host) {
            Some(HostName::Resource(service)) => Some(service.word()),
            Some(HostName::Emulated(_) | HostName::NotEmulated(_)) | None => None,
        };
        assert_eq!(found, expected, "{host}");
    }
}

#[test]
fn interface_endpoints_have_the_endpoint_of_their_service() {
    let table = [
        ("vpce-0a-b.sts.eu-west-1", "sts.eu-west-1"),
        ("vpce-0a-b-eu-west-1a.api.ecr.eu-west-1", "api.ecr.eu-west-1"),
        ("my.logs.bucket.vpce-0a-b.s3.eu-west-1", "my.logs.s3.eu-west-1"),
        ("bucket.vpce-0a-b.s3.eu-west-1", "s3.eu-west-1"),
        ("vpce-0a-b.kms.eu-west-1", "kms.eu-west-1"),
    ];
    for (host, service) in table {
        let found = HostName::parse(&format!("{host}.vpce.amazonaws.com"));
        let expected = HostName::parse(&format!("{service}.amazonaws.com"));
        assert!(found.is_some() && found == expected, "{host}: {found:?}");
    }
    for host in [
        "vpce-0a.vpce.amazonaws.com",
        "a.vpce-0a.sts.eu-west-1.vpce.amazonaws.com",
    ] {
        assert_eq!(HostName::parse(host), None, "{host}");
    }
}

#[test]
fn a_fips_name_exists_only_where_aws_has_one() {
    let exist = [
        "602401143452.dkr.ecr-fips.us-west-2.amazonaws.com",
        "602401143452.dkr.ecr-fips.us-gov-west-1.amazonaws.com",
        "ec2-fips.ca-central-1.amazonaws.com",
        "logs-fips.ca-central-1.amazonaws.com",
        "logs-fips.us-gov-west-1.amazonaws.com",
    ];
    let missing = [
        "602401143452.dkr.ecr-fips.eu-west-1.amazonaws.com",
        "602401143452.dkr.ecr-fips.ca-central-1.amazonaws.com",
        "918309763551.dkr.ecr-fips.cn-north-1.amazonaws.com.cn",
        "602401143452.dkr-ecr-fips.eu-west-1.on.aws",
        "fips.eks.eu-west-1.amazonaws.com",
        "fips.eks.us-gov-west-1.amazonaws.com",
        "sts-fips.ca-central-1.amazonaws.com",
        "ecr-fips.ap-southeast-2.amazonaws.com",
    ];
    for host in exist {
        assert!(
            matches!(HostName::parse(host), Some(HostName::Emulated(_))),
            "{host}"
        );
    }
    for host in missing {
        assert_eq!(HostName::parse(host), None, "{host}");
    }
}

#[test]
fn host_names_identify_services() {
    let table = [
        ("eks.eu-west-1.amazonaws.com", Some((Service::Eks, "eu-west-1"))),
        ("sts.amazonaws.com", Some((Service::Sts, "us-east-1"))),
        ("sts.eu-west-1.amazonaws.com", Some((Service::Sts, "eu-west-1"))),
        (
            "sts-fips.us-east-1.amazonaws.com",
            Some((Service::Sts, "us-east-1")),
        ),
        (
            "ec2.cn-north-1.amazonaws.com.cn",
            Some((Service::Ec2, "cn-north-1")),
        ),
        ("ec2.cn-north-1.amazonaws.com", None),
        (
            "api.ecr.eu-west-1.amazonaws.com",
            Some((Service::Ecr, "eu-west-1")),
        ),
        (
            "602401143452.dkr.ecr.eu-west-1.amazonaws.com",
            Some((Service::Registry, "eu-west-1")),
        ),
        (
            "602401143452.dkr.ecr-fips.us-east-1.amazonaws.com",
            Some((Service::Registry, "us-east-1")),
        ),
        (
            "602401143452.dkr-ecr-fips.us-east-1.on.aws",
            Some((Service::Registry, "us-east-1")),
        ),
        (
            "fips.eks.us-east-1.amazonaws.com",
            Some((Service::Eks, "us-east-1")),
        ),
        (
            "ecr-fips.us-east-1.amazonaws.com",
            Some((Service::Ecr, "us-east-1")),
        ),
        (
            "api.ecr-fips.us-gov-west-1.amazonaws.com",
            Some((Service::Ecr, "us-gov-west-1")),
        ),
        ("ecr-fips.us-east-1.api.aws", Some((Service::Ecr, "us-east-1"))),
        (
            "eks-auth.eu-west-1.api.aws",
            Some((Service::EksAuth, "eu-west-1")),
        ),
        (
            "eks-auth-fips.us-east-1.amazonaws.com",
            Some((Service::EksAuth, "us-east-1")),
        ),
        ("x.dkr.ecr.eu-west-1.amazonaws.com", None),
        ("sts.eu-west-1.api.aws", Some((Service::Sts, "eu-west-1"))),
        ("sts.api.aws", None),
        (
            "sts.cn-north-1.api.amazonwebservices.com.cn",
            Some((Service::Sts, "cn-north-1")),
        ),
        ("sts.eu-west-1.api.amazonwebservices.com.cn", None),
        ("sts.cn-north-1.api.aws", None),
        ("ecr.eu-west-1.api.aws", Some((Service::Ecr, "eu-west-1"))),
        ("ecr.eu-west-1.amazonaws.com", None),
        ("api.ecr.eu-west-1.api.aws", None),
        (
            "602401143452.dkr-ecr.eu-west-1.on.aws",
            Some((Service::Registry, "eu-west-1")),
        ),
        ("602401143452.dkr-ecr.eu-west-1.amazonaws.com", None),
        (
            "602401143452.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn",
            Some((Service::Registry, "cn-north-1")),
        ),
        (
            "cloudformation.us-gov-west-1.amazonaws.com",
            Some((Service::Cloudformation, "us-gov-west-1")),
        ),
        ("eks.eu-west-9.amazonaws.com", None),
        (
            "eks.ap-southeast-6.amazonaws.com",
            Some((Service::Eks, "ap-southeast-6")),
        ),
        (
            "eks.us-iso-east-1.c2s.ic.gov",
            Some((Service::Eks, "us-iso-east-1")),
        ),
        ("eks.us-iso-east-1.amazonaws.com", None),
        ("logs.eu-west-1.api.aws", Some((Service::Logs, "eu-west-1"))),
        ("s3.eu-west-1.amazonaws.com", None),
        ("registry.k8s.io", None),
    ];
    for (host, expected) in table {
        let parsed = Endpoint::parse(host);
        assert_eq!(
            parsed.as_ref().map(|e| (e.service, e.region.as_str())),
            expected,
            "{host}"
        );
    }
}
