//! What the harness does not have, mistakes that a script cannot see, and the end of the instance.

use super::*;
use crate::observation::{CalledService, DnsQuery};
use crate::plan::aws::StackPlan;
use crate::plan::dns_fault::{DnsEffect, DnsFault};
use crate::vocabulary::aws_service::AwsService;
use crate::vocabulary::not_emulated;

fn miss(name: &str) -> ObservedEvent {
    ObservedEvent::Dns(DnsQuery {
        name: name.to_owned(),
        record: "A".to_owned(),
        answered: false,
        fault: None,
    })
}

fn query(name: &str) -> DnsQuery {
    DnsQuery {
        name: name.to_ascii_lowercase(),
        record: "A".to_owned(),
        answered: false,
        fault: Some(0),
    }
}

fn failed_query(name: &str) -> ObservedEvent {
    ObservedEvent::Dns(query(name))
}

fn dns_fault(for_seconds: Option<f64>) -> DnsFault {
    DnsFault {
        name: None,
        times: None,
        for_seconds,
        effect: DnsEffect::Servfail,
        may_fire: false,
    }
}

fn nodeadm_fatal(error: &str) -> ObservedEvent {
    let fields = serde_json::json!({ "error": error });
    let line = format!("fatal nodeadm:110 Command failed {fields}");
    journal("nodeadm-config.service", "nodeadm", &line)
}

fn failed_part() -> ObservedEvent {
    cloud("Runparts: 1 failures (part-001) in 1 attempted commands")
}

fn unanswered(operation: &str) -> ObservedEvent {
    let service = AwsService::named("kms").unwrap();
    ObservedEvent::Aws(AwsCall {
        service: CalledService::NotEmulated(service),
        known: false,
        error: Some("NotEmulated".to_owned()),
        message: Some(format!("nodejoin does not emulate {operation} of kms")),
        ..aws(Service::Ec2, operation, 501)
    })
}

fn resource() -> ObservedEvent {
    let service = AwsService::named("execute-api").unwrap();
    let host = "a1b2c3.execute-api.eu-west-1.amazonaws.com";
    ObservedEvent::Aws(AwsCall {
        service: CalledService::NotEmulated(service),
        host: host.to_owned(),
        path: "/prod/register".to_owned(),
        known: false,
        error: Some(not_emulated::CODE.to_owned()),
        message: Some(not_emulated::resource_message(
            host,
            "execute-api",
            "GET /prod/register",
        )),
        ..aws(Service::Ec2, "GET /prod/register", 501)
    })
}

fn silent_upstream(operation: &str) -> ObservedEvent {
    let service = AwsService::named("kms").unwrap();
    ObservedEvent::Aws(AwsCall {
        service: CalledService::NotEmulated(service),
        known: false,
        error: Some(not_emulated::UPSTREAM_CODE.to_owned()),
        message: Some(not_emulated::upstream_message(
            "kms",
            "http://127.0.0.1:5000",
            "refused",
        )),
        ..aws(Service::Ec2, operation, 501)
    })
}

fn unread(parameter: &str) -> ObservedEvent {
    let operation = "DescribeInstances";
    ObservedEvent::Aws(AwsCall {
        known: false,
        error: Some(not_emulated::CODE.to_owned()),
        message: Some(not_emulated::parameter_message("ec2", operation, parameter)),
        ..aws(Service::Ec2, operation, 501)
    })
}

/// Its output goes through other programs, so that no line of it has a location.
const READS_PARAMETER: &str = "#!/bin/bash
exec > >(tee /var/log/user-data.log | logger -t user-data) 2>&1
# aws ssm get-parameter is explained elsewhere
NAME=$(aws ssm  get-parameter --name /demo/name --query Parameter.Value)
/etc/eks/bootstrap.sh $NAME
";

fn missing_parameter() -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        error: Some("ParameterNotFound".to_owned()),
        subject: Some("/demo/name".to_owned()),
        ..aws(Service::Ssm, "GetParameter", 400)
    })
}

fn missing_parameter_at(host: &str) -> ObservedEvent {
    match missing_parameter() {
        ObservedEvent::Aws(call) => ObservedEvent::Aws(AwsCall {
            host: host.to_owned(),
            ..call
        }),
        other => other,
    }
}

fn missing_stack() -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        error: Some("ValidationError".to_owned()),
        subject: Some("nodes/NodeGroup".to_owned()),
        ..aws(Service::Cloudformation, "DescribeStackResource", 400)
    })
}

/// A stack with a resource that is named almost as the one of [`missing_stack`].
fn stack_of_nodes() -> StackPlan {
    let text = r#"{ "name": "nodes", "resources": { "NodesGroup": { "type": "AWS::EC2::Instance" } } }"#;
    serde_json::from_str(text).unwrap()
}

fn metadata(path: &str, status: u16) -> ObservedEvent {
    ObservedEvent::Aws(aws(Service::Imds, path, status))
}

fn exited(code: i64) -> ObservedEvent {
    let lines = vec!["the last line".to_owned()];
    ObservedEvent::ContainerExited { code, lines }
}

const WITH_MARK: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n--b\n\
    Content-Type: text/x-shellscript; charset=\"utf-8\"\n\n\u{feff}#!/bin/bash\ntrue\n\n--b--\n";

pub(super) fn cases() -> Vec<Case> {
    let waiting = || (0..5).flat_map(|_| [miss("db.corp.internal"), miss("db.corp.internal.ec2.internal")]);
    let polling = |path: &'static str| {
        [boot(), imds()]
            .into_iter()
            .chain((0..4).map(move |_| metadata(path, 404)))
    };
    vec![
        Case::new(
            "AWS service that is not emulated",
            after_boot([
                unanswered("ListKeys"),
                cloud(
                    "An error occurred (NotEmulated) when calling the ListKeys operation: nodejoin does not emulate ListKeys",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "AWS service whose upstream does not respond",
            after_boot([
                silent_upstream("ListKeys"),
                cloud("An error occurred (UpstreamUnreachable) when calling the ListKeys operation: nodejoin received"),
                failed_part(),
            ]),
        )
        .plan(|plan| {
            let url = "http://127.0.0.1:5000".parse().unwrap();
            plan.aws.upstream.insert("kms".to_owned(), url);
        }),
        Case::new(
            "AWS service that is not emulated, without output",
            after_boot([unanswered("ListKeys"), failed_part()]),
        ),
        Case::new(
            "API of the account, with an id in its host name",
            after_boot([resource(), failed_part()]),
        ),
        Case::new(
            "parameter that is not emulated",
            after_boot([unread("IncludeManagedResources"), failed_part()]),
        ),
        Case::new(
            "AWS service that is not emulated, polled",
            after_boot([(); 5].map(|()| unanswered("GenerateDataKey"))),
        ),
        Case::new(
            "AWS host that does not exist",
            after_boot([
                miss("ssn.eu-west-1.amazonaws.com"),
                cloud("Could not connect to the endpoint URL: \"https://ssn.eu-west-1.amazonaws.com/\""),
                failed_part(),
            ]),
        ),
        Case::new(
            "name outside",
            after_boot([
                miss("downloads.example.com"),
                cloud("curl: (6) Could not resolve host: downloads.example.com"),
                failed_part(),
            ]),
        ),
        Case::new(
            "name that never resolves",
            [boot(), imds()].into_iter().chain(waiting()),
        ),
        Case::new(
            "endpoint that a fault does not resolve",
            after_boot([
                failed_query(HOST),
                failed_query(HOST),
                cloud(&format!("curl: (6) Could not resolve host: {HOST}")),
                failed_part(),
            ]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(Some(1.0))]),
        Case::new(
            "name that a fault never resolves, without output",
            after_boot([failed_query("eks.eu-west-1.amazonaws.com"), failed_part()]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(None)]),
        Case::new(
            "endpoint that a fault does not resolve for nodeadm",
            after_boot([failed_query(HOST), nodeadm_fatal(&format!("lookup {HOST}: [Errno -3] Temporary failure"))]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(Some(1.0))]),
        Case::new(
            "script that repeated the look-up and failed later",
            after_boot([
                failed_query(HOST),
                ObservedEvent::Dns(DnsQuery { answered: true, fault: None, ..query(HOST) }),
                cloud(&format!("curl: (60) SSL certificate problem: {HOST}")),
                failed_part(),
            ]),
        )
        .plan(|plan| plan.dns_faults = vec![dns_fault(Some(1.0))]),
        Case::new(
            "endpoint of another cluster in a script",
            after_boot([
                miss("abc.gr7.eu-west-1.eks.amazonaws.com"),
                cloud("curl: (6) Could not resolve host: ABC.gr7.eu-west-1.eks.amazonaws.com"),
                failed_part(),
            ]),
        ),
        Case::new(
            "host name with a zone for the region",
            after_boot([
                miss("eks.us-west-2-lax-1.amazonaws.com"),
                cloud(
                    "Could not connect to the endpoint URL: \"https://eks.us-west-2-lax-1.amazonaws.com/clusters/demo\"",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "end of a MIME message with a character after it",
            after_boot([
                cloud("/var/lib/cloud/instance/scripts/part-001: line 10: --==MYBOUNDARY==--: command not found"),
                failed_part(),
            ]),
        ),
        Case::new(
            "argument on a line of its own",
            after_boot([
                cloud("/var/lib/cloud/instance/scripts/part-001: line 3: --exit-code: command not found"),
                failed_part(),
            ]),
        )
        .user_data("#!/bin/bash\n/opt/aws/bin/cfn-signal\n  --exit-code $? \\\n  --stack demo\n"),
        Case::new(
            "section that the stand-in of cfn-init does not know",
            after_boot([
                cloud(
                    "cfn-init: nodejoin's stand-in does not know this: unknown section `config.file`, expected one of files, users",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "package that the stand-in of yum does not know",
            after_boot([
                cloud("yum: nodejoin's stand-in does not know this: package falcon-sensor"),
                cloud("No package falcon-sensor available."),
                cloud("Error: Nothing to do"),
                failed_part(),
            ]),
        ),
        Case::new(
            "command that only an AMI has",
            after_boot([
                cloud("+ nvidia-smi"),
                cloud("/var/lib/cloud/instance/scripts/part-001: line 3: nvidia-smi: command not found"),
                failed_part(),
            ]),
        ),
        Case::new(
            "file that only an AMI has",
            after_boot([
                cloud("sed: can't read /etc/docker/daemon.json: No such file or directory"),
                failed_part(),
            ]),
        ),
        Case::new(
            "file that the user data removed",
            after_boot([
                cloud("/etc/eks/bootstrap.sh: line 388: /etc/docker/daemon.json: No such file or directory"),
                failed_part(),
            ]),
        )
        .user_data("#!/bin/bash\nrm --recursive \"/etc/docker\"\n/etc/eks/bootstrap.sh demo\n"),
        Case::new(
            "file that only an AMI has, beside one that is moved",
            after_boot([
                cloud("sed: can't read /etc/docker/daemon.json: No such file or directory"),
                failed_part(),
            ]),
        )
        .user_data("#!/bin/bash\nmv /tmp/seccomp.json /etc/docker/\n/etc/eks/bootstrap.sh demo\n"),
        Case::new(
            "file that an own AMI may have",
            after_boot([
                cloud(
                    "/var/lib/cloud/instance/scripts/part-001: line 7: /opt/ds_agent/dsa_control: No such file or directory",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "kernel module",
            after_boot([
                cloud("modprobe: FATAL: Module ip_vs not found in directory /lib/modules/6.1.0"),
                failed_part(),
            ]),
        ),
        Case::new(
            "disk of the root file system",
            after_boot([
                cloud("lsblk: fuse-overlayfs: not a block device"),
                failed_part(),
            ]),
        ),
        Case::new(
            "service that only an AMI has",
            after_boot([
                cloud("Failed to enable unit: Unit file chronyd.service does not exist."),
                failed_part(),
            ]),
        ),
        Case::new(
            "service of nodeadm that only an AMI has",
            after_boot([journal(
                "nodeadm-run.service",
                "nodeadm",
                "fatal cli/main.go:35 Command failed {\"error\": \"Unit systemd-resolved.service not found.\"}",
            )]),
        ),
        Case::new(
            "misspelt service",
            after_boot([
                cloud("Failed to start agnet.service: Unit agnet.service not found."),
                failed_part(),
            ]),
        ),
        Case::new(
            "host name",
            after_boot([
                cloud(
                    "Could not set static hostname: Failed to set static hostname: Device or resource busy",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "address outside",
            after_boot([
                cloud("curl: (7) Failed to connect to 52.1.2.3 port 443 after 0 ms: Network is unreachable"),
                failed_part(),
            ]),
        ),
        Case::new(
            "address outside, for a newer curl",
            after_boot([
                cloud(
                    "curl: (7) Failed to connect to 203.0.113.7 port 443 after 3067 ms: Couldn't connect to server",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "metadata over IPv6, which is disabled",
            after_boot([
                cloud(
                    "curl: (7) Failed to connect to fd00:ec2::254 port 80 after 0 ms: Couldn't connect to server",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "own endpoint at a wrong port",
            after_boot([
                cloud(&format!(
                    "curl: (7) Failed to connect to {} port 6443 after 2 ms: Couldn't connect to server",
                    plan().cluster.endpoint_host(&plan().region)
                )),
                failed_part(),
            ]),
        ),
        Case::new(
            "tag that the metadata does not have",
            polling("meta-data/tags/instance/Name"),
        ),
        Case::new("misspelt metadata path", polling("meta-data/instance_id")),
        Case::new(
            "byte order mark",
            after_boot([
                cloud("Exec format error. Missing #! in script?"),
                done("DataSourceEc2Local"),
            ]),
        )
        .user_data(WITH_MARK),
        Case::new("reboot", after_boot([exited(129)])),
        Case::new(
            "shutdown",
            after_boot([
                systemd("init.scope", "Reached target poweroff.target - System Power Off."),
                exited(130),
            ]),
        ),
        Case::new(
            "script that ends after requests that failed",
            after_boot([
                ObservedEvent::Aws(AwsCall {
                    fault: Some(0),
                    ..aws(Service::Ec2, "DescribeTags", 429)
                }),
                ObservedEvent::Aws(AwsCall {
                    fault: Some(0),
                    ..aws(Service::Ec2, "DescribeTags", 429)
                }),
                metadata("meta-data/public-ipv4", 404),
                cloud("++ exit 1"),
                cloud("bootstrap.sh: no tags"),
                failed_part(),
            ]),
        ),
        Case::new(
            "script that ends without its parameter",
            after_boot([
                missing_parameter(),
                cloud("An error occurred (ParameterNotFound) when calling the GetParameter operation:"),
                failed_part(),
            ]),
        ),
        Case::new(
            "script that reads a parameter in another region",
            after_boot([
                missing_parameter_at("ssm.us-east-1.amazonaws.com"),
                cloud("An error occurred (ParameterNotFound) when calling the GetParameter operation:"),
                failed_part(),
            ]),
        )
        .plan(|plan| {
            let aws = serde_json::json!({ "parameters": { "/demo/name": "demo" } });
            plan.aws = serde_json::from_value(aws).unwrap();
        }),
        Case::new(
            "script that turns swap on",
            after_boot([
                cloud("swapon: /swapfile: swapon failed: Operation not permitted"),
                failed_part(),
            ]),
        ),
        Case::new(
            "trial that ends without a parameter of the account",
            after_boot([
                missing_parameter(),
                cloud("An error occurred (ParameterNotFound) when calling the GetParameter operation:"),
                failed_part(),
            ]),
        )
        .user_data(READS_PARAMETER)
        .plan(|plan| plan.is_trial = true),
        Case::new(
            "trial whose cfn-init reads a stack of the account, and whose cfn-signal succeeds",
            after_boot([
                missing_stack(),
                cloud("cfn-init: ValidationError: Stack 'nodes' does not exist"),
                done("DataSourceEc2"),
            ]),
        )
        .plan(|plan| plan.is_trial = true),
        Case::new(
            "trial whose cfn-init misspells a resource of its template",
            after_boot([
                missing_stack(),
                cloud("cfn-init: ValidationError: Resource NodeGroup does not exist for stack nodes"),
                done("DataSourceEc2"),
            ]),
        )
        .plan(|plan| {
            plan.is_trial = true;
            plan.aws.stacks = vec![stack_of_nodes()];
        }),
        Case::new(
            "trial that ends for its own reason after a parameter of the account",
            after_boot([
                missing_parameter(),
                cloud("/var/lib/cloud/instance/scripts/part-001: line 9: nope: command not found"),
                failed_part(),
            ]),
        )
        .user_data(READS_PARAMETER)
        .plan(|plan| plan.is_trial = true),
        Case::new(
            "script that ends because a unit failed",
            after_boot([
                journal(
                    "containerd.service",
                    "containerd",
                    "failed to load plugin: invalid plugin config",
                ),
                cloud(
                    "Job for containerd.service failed because the control process exited with error code.",
                ),
                failed_part(),
            ]),
        ),
        Case::new("user data that never ends", after_boot([cloud("waiting")])).seen(|seen| {
            seen.collected = Some(Collected {
                user_data_processes: vec!["`sleep infinity` for 18 s (CPU time 00:00:00)".to_owned()],
                ..Collected::default()
            });
        }),
    ]
}
