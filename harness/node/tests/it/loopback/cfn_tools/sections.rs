//! What `cfn-init` applies of each section of a configuration, and in which order.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{Node, Service, at};

#[test]
fn files_have_their_content_mode_and_backup() {
    let node = Node::new();
    let service = Service::start(&json!({}));
    fs::write(node.path("old"), "before").unwrap();
    fs::write(node.path("same"), "same").unwrap();
    node.applies(
        json!({ "config": { "files": {
            at(&node, "folder/plain"): { "content": "a\nb\n", "mode": "000640" },
            at(&node, "object"): { "content": { "a": [1] } },
            at(&node, "encoded"): { "content": "AAEC\n", "encoding": "base64" },
            at(&node, "source"): { "source": format!("{}/file", service.url), "context": { "from": "<a>" } },
            at(&node, "template"): {
                "content": "{{#list}}\n- {{.}} of {{&name}}\n{{/list}}\n{{^none}}end{{/none}} {{{name}}} {{name}}\n",
                "context": { "list": ["x", "y"], "name": "a&b" } },
            at(&node, "link"): { "content": at(&node, "old"), "mode": "120600" },
            at(&node, "old"): { "content": "after" },
            at(&node, "same"): { "content": "same" },
        } } }),
        &[],
    );
    assert_eq!(node.read("folder/plain"), "a\nb\n");
    let mode = fs::metadata(node.path("folder/plain"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640);
    assert_eq!(node.read("object"), r#"{"a": [1]}"#);
    assert_eq!(fs::read(node.path("encoded")).unwrap(), [0, 1, 2]);
    assert_eq!(node.read("source"), "from &lt;a&gt;\n");
    assert_eq!(node.read("template"), "- x of a&b\n- y of a&b\nend a&b a&amp;b\n");
    assert_eq!(fs::read_link(node.path("link")).unwrap(), node.path("old"));
    assert_eq!(
        (node.read("old"), node.read("old.bak")),
        ("after".to_owned(), "before".to_owned())
    );
    assert_eq!(node.read("same.bak"), "same");
}

#[test]
fn commands_run_in_the_order_of_their_names() {
    let node = Node::new();
    let out = at(&node, "out");
    node.applies(
        json!({ "config": { "commands": {
            "20_env": { "command": "echo \"$A $HOME\" >> $OUT", "env": { "A": 1, "OUT": out } },
            "10_cwd": { "command": "pwd -P >> out", "cwd": at(&node, "") },
            "30_list": { "command": ["sh", "-c", "echo $0 >> $1", "list", out], "test": ["true"] },
            "40_test": { "command": format!("echo skipped >> {out}"), "test": "exit 3" },
            "50_ignored": { "command": "echo told; exit 5", "ignoreErrors": "true" },
        } } }),
        &[],
    );
    let folder = node.0.path().canonicalize().unwrap();
    // `env` replaces the environment: there is no `HOME`.
    assert_eq!(node.read("out"), format!("{}\n1 \nlist\n", folder.display()));
    let (log, output) = (
        node.read("var/log/cfn-init.log"),
        node.read("var/log/cfn-init-cmd.log"),
    );
    assert!(log.contains(" [INFO] Command 10_cwd succeeded\n"), "{log}");
    assert!(log.contains(" [INFO] Test failed with code 3\n"), "{log}");
    assert!(
        log.contains(" [ERROR] Command 50_ignored (echo told; exit 5) failed\n"),
        "{log}"
    );
    assert!(
        output.contains("[INFO] \ttold\n") && output.contains("[ERROR] Exited with error code 5\n"),
        "{output}"
    );
    node.rejects(
        json!({ "config": { "commands": { "a": { "command": "exit 1" }, "b": { "command": format!("touch {out}2") } } } }),
        "Error occurred during build: Command a failed\n",
    );
    assert!(!node.path("out2").exists());
}

#[test]
fn packages_groups_users_and_services_go_through_the_tools_of_the_node() {
    let node = Node::new();
    let file = at(&node, "unit.conf");
    node.applies(
        json!({ "config": {
            "services": { "systemd": {
                "changed": { "enabled": true, "ensureRunning": true, "files": [file] },
                "stopped": { "ensureRunning": "false" },
                "started": { "enabled": "false", "ensureRunning": "true", "packages": { "yum": ["other"] } } },
                "sysvinit": { "packaged": { "packages": { "yum": ["jq"] } } } },
            "files": { &file: { "content": "x" } },
            "packages": { "yum": { "jq": [], "git": ["1", "2.0"] }, "rpm": { "agent": "https://host/agent.rpm" } },
            "groups": { "no-such-group": { "gid": "4567" } },
            "users": { "no-such-user": { "uid": 4567, "groups": ["a", "b"], "homeDir": "/srv" } },
        } }),
        &[],
    );
    let expected = "rpm -U --quiet --nosignature --replacepkgs https://host/agent.rpm\n\
                    rpm -q --quiet git-2.0\nyum -y install git-2.0\nrpm -q --quiet jq\nyum -y install jq\n\
                    groupadd -r -g 4567 no-such-group\n\
                    useradd -M -r --shell /sbin/nologin -d /srv -G a,b -u 4567 no-such-user\n\
                    systemctl enable changed\nsystemctl restart changed\n\
                    systemctl disable started\nsystemctl is-active --quiet started\nsystemctl start started\n\
                    systemctl is-active --quiet stopped\nsystemctl restart packaged\n";
    assert_eq!(node.read("called"), expected);
    node.rejects(
        json!({ "config": { "packages": { "yum": { "unknown": [] } } } }),
        "Error occurred during build: Could not successfully install unknown with yum",
    );
}

#[test]
fn config_sets_run_in_their_order_and_may_contain_others() {
    let node = Node::new();
    let echo = |name: &str| json!({ "commands": { "a": { "command": format!("echo {name} >> {}", at(&node, "out")) } } });
    let init = json!({
        "configSets": { "default": [{ "ConfigSet": "first" }, "two"], "first": ["one"], "last": "three" },
        "one": echo("one"), "two": echo("two"), "three": echo("three"), "four": echo("four") });
    node.applies(init.clone(), &[]);
    assert_eq!(node.read("out"), "one\ntwo\n");
    node.applies(init.clone(), &["-c", "last,first"]);
    assert_eq!(node.read("out"), "one\ntwo\nthree\none\n");
    let (code, errors) = node.init(init, &["--configsets", "none"]);
    assert_eq!(
        (code, errors.as_str()),
        (
            1,
            "Error occurred during build: Error: no ConfigSet named none exists\n"
        )
    );
    node.rejects(
        json!({ "configSets": { "default": ["none"] } }),
        "No configuration found with name: none",
    );
    let cycle =
        json!({ "configSets": { "default": [{ "ConfigSet": "a" }], "a": [{ "ConfigSet": "default" }] } });
    node.rejects(cycle, "At least one circular dependency detected");
}

#[test]
fn what_it_does_not_know_is_an_error_before_anything_is_applied() {
    let node = Node::new();
    for (section, expected) in [
        (
            json!({ "file": {} }),
            "unknown section `config.file`, expected one of packages, ",
        ),
        (
            json!({ "commands": { "b": { "comand": "true" } } }),
            "unknown key `config.commands.b.comand`, expected one of ",
        ),
        (
            json!({ "packages": { "apt": { "jq": [] } } }),
            "unknown package manager `config.packages.apt`, expected ",
        ),
        (
            json!({ "services": { "windows": {} } }),
            "unknown service manager `config.services.windows`, ",
        ),
        (
            json!({ "files": { "/a": { "content": { "Fn::Sub": "x" } } } }),
            "has the function Fn::Sub of a template",
        ),
        (
            json!({ "sources": { "/a": "https://github.com/a/b/tarball/main" } }),
            "`config.sources./a` is an archive",
        ),
    ] {
        let mut config = json!({ "files": { at(&node, "written"): { "content": "x" } } });
        for (name, value) in section.as_object().unwrap() {
            config[name] = value.clone();
        }
        node.rejects(json!({ "config": config }), expected);
        node.rejects(
            json!({ "config": config }),
            "cfn-init: nodejoin's stand-in does not know this: ",
        );
        assert!(!node.path("written").exists(), "{expected}");
    }
}
