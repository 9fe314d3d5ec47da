//! Before a script runs: the metadata service, cloud-init, the host.

use super::*;

fn refused(path: &str) -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        authorization: Some("v1".into()),
        ..aws(Service::Imds, path, 401)
    })
}

fn unavailable(fault: Option<usize>) -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        error: Some("InternalFailure".into()),
        fault,
        ..aws(Service::Imds, "api/token", 503)
    })
}

fn with_result(name: &'static str, events: Vec<ObservedEvent>, result: UserDataResult) -> Case {
    Case::new(name, events).seen(|seen| {
        seen.collected = Some(Collected {
            user_data: Some(result),
            ..Collected::default()
        });
    })
}

const PART_WITHOUT_INTERPRETER: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\
    Content-Type: text/x-shellscript\n\nset -ex\n--B--\n";

const WITH_MARK: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n--b\n\
    Content-Type: text/x-shellscript; charset=\"utf-8\"\n\n\u{feff}#!/bin/bash\ntrue\n\n--b--\n";

pub(super) fn cases() -> Vec<Case> {
    let closed = || call(Service::Imds, "api/token", 0, "");
    let failed_unit = || {
        systemd(
            "nodejoin-user-data.service",
            "nodejoin-user-data.service: Failed with result 'exit-code'.",
        )
    };
    let not_run = UserDataResult {
        ran: false,
        data_source: Some("DataSourceNone".into()),
        status: Some("done".into()),
        ..UserDataResult::default()
    };
    vec![
        Case::new(
            "metadata service closes connections",
            [boot(), closed(), closed()],
        ),
        Case::new("metadata service answers 503", [boot(), unavailable(None)]),
        Case::new(
            "metadata service answers 503 by a fault",
            [boot(), unavailable(Some(0))],
        ),
        Case::new("metadata service is off", [boot(), closed()])
            .plan(|plan| plan.instance.metadata.enabled = false),
        Case::new(
            "metadata service answers too late for cloud-init",
            [boot(), unavailable(None), done("DataSourceNone")],
        ),
        Case::new(
            "script without a session token",
            after_boot([
                refused("meta-data/placement/availability-zone"),
                cloud("Provided region_name '<?xml version=\"1.0\"' doesn't match a supported format."),
                cloud("Exited with error on line 147"),
                cloud("Runparts: 1 failures (part-001) in 1 attempted commands"),
                done("DataSourceEc2"),
            ]),
        ),
        Case::new(
            "two requests without a session token",
            [boot(), refused("meta-data/local-ipv4"), refused("meta-data/mac")],
        ),
        Case::new(
            "no data source after a 404",
            after_boot([
                call(Service::Imds, "meta-data/tags/x", 404, ""),
                done("DataSourceNone"),
            ]),
        ),
        Case::new(
            "file that the user data includes is missing",
            after_boot([cloud(
                "Exception: [Errno 2] No such file or directory: '/etc/secret-userdata.txt' for url: file:///etc/secret-userdata.txt",
            )]),
        ),
        with_result("no data source by cloud-init's status", after_boot([]), not_run),
        Case::new(
            "no data source after a 503 by a fault",
            after_boot([unavailable(Some(1)), done("DataSourceNone")]),
        ),
        Case::new(
            "part of an unknown type",
            after_boot([done("DataSourceEc2Local")]),
        )
        .user_data(&PART_WITHOUT_INTERPRETER.replace("text/x-shellscript", "text/x-shell")),
        Case::new("text without a header", after_boot([done("DataSourceEc2Local")])).user_data(
            "  MIME-Version: 1.0\n  Content-Type: multipart/mixed; boundary=B\n\n  --B\n  --B--\n",
        ),
        Case::new(
            "parts without the header of their message",
            after_boot([done("DataSourceEc2Local")]),
        )
        .user_data(
            "--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n/etc/eks/bootstrap.sh demo\n--B--\n",
        ),
        Case::new("user data encoded twice", [boot(), failed_unit()])
            .user_data(&STANDARD.encode("#!/bin/bash\necho hello\n")),
        Case::new(
            "part without an interpreter in the journal",
            after_boot([cloud(
                "2026-11-21 subp.py[DEBUG]: Exec format error. Missing #! in script?\nCommand: \
                 ['/var/lib/cloud/instance/scripts/part-002']",
            )]),
        ),
        Case::new(
            "part without an interpreter in the user data",
            [boot(), failed_unit()],
        )
        .user_data(PART_WITHOUT_INTERPRETER)
        .plan(|plan| plan.image.name = "own-image:1".to_owned()),
        Case::new(
            "part without an interpreter on Amazon Linux 2",
            [boot(), failed_unit()],
        )
        .user_data(PART_WITHOUT_INTERPRETER),
        Case::new(
            "user data without an interpreter on Amazon Linux 2",
            [boot(), failed_unit()],
        )
        .user_data("set -ex\n/etc/eks/bootstrap.sh demo\n"),
        Case::new(
            "host without inotify instances",
            after_start([journal(
                "containerd.service",
                "containerd",
                "failed to create CRI service: failed to create fsnotify watcher: too many open files",
            )]),
        ),
        Case::new(
            "host too slow for the API server",
            after_start([kubelet(
                "E1121 23:27:37.010037     408 kubelet_node_status.go:93] Unable to register node \"ip-192-168-40-16\" with API \
                 server: the server was unable to return a response in the time allotted, but may still be processing the \
                 request (post nodes)",
            )]),
        ),
        Case::new("nothing but systemd", [boot()]),
        Case::new(
            "container that ended",
            [
                boot(),
                ObservedEvent::ContainerExited {
                    code: 97,
                    lines: vec!["exec format error".into()],
                },
            ],
        ),
        Case::new(
            "byte order mark",
            after_boot([
                cloud("Exec format error. Missing #! in script?"),
                done("DataSourceEc2Local"),
            ]),
        )
        .user_data(WITH_MARK),
    ]
}
