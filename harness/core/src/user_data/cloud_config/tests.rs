//! Cloud-configs, and what cloud-init does with invalid ones.

use super::*;

#[test]
fn files_and_commands_are_parsed() {
    let config = CloudConfig::read(
        "#cloud-config\npackages: null\nwrite_files:\n  - path: /etc/eksctl/kubelet.env\n    content: |\n      A=b\n    permissions: '0600'\n  \
         - { path: /b, encoding: b64, content: aGk=, owner: 'ubuntu:ubuntu', permissions: 0755, append: true }\n\
         runcmd:\n  - /var/lib/cloud/scripts/eksctl/bootstrap.al2.sh\n  - [echo, \"it's\", 1]\n",
    )
    .unwrap();
    assert_eq!(config.files[0].content, b"A=b\n");
    assert_eq!(
        (config.files[0].mode, config.files[0].owner.as_str()),
        (0o600, "root:root")
    );
    assert_eq!(
        (
            config.files[1].content.as_slice(),
            config.files[1].mode,
            config.files[1].append
        ),
        (&b"hi"[..], 0o755, true)
    );
    let script = String::from_utf8(config.runcmd.unwrap()).unwrap();
    assert_eq!(
        script,
        "#!/bin/sh\n/var/lib/cloud/scripts/eksctl/bootstrap.al2.sh\n'echo' 'it'\\''s' '1'\n"
    );
}

#[test]
fn what_is_not_a_mapping_of_yaml_is_rejected_with_its_line() {
    for (text, message) in [
        ("runcmd: [\n", "line 1:"),
        ("#cloud-config\n- a\n", "line 2: expected a mapping, found a list"),
    ] {
        let error = CloudConfig::read(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    assert_eq!(
        CloudConfig::read("#cloud-config\n").unwrap(),
        CloudConfig::default()
    );
}

/// The paths of the files that cloud-init writes, its commands, and the problems.
fn used(text: &str) -> (Vec<String>, String, Vec<String>) {
    let config = CloudConfig::read(text).unwrap();
    let paths = config.files.into_iter().map(|file| file.path).collect();
    let commands = String::from_utf8(config.runcmd.unwrap_or_default()).unwrap();
    let problems = config.problems.iter().map(ToString::to_string).collect();
    (paths, commands.replace("#!/bin/sh\n", ""), problems)
}

#[test]
fn a_binary_content_is_its_bytes_and_leaves_the_rest() {
    // `H4sI...` is the example of the documentation of cloud-init.
    let config = CloudConfig::read(
        "#cloud-config\nwrite_files:\n- content: !!binary |\n    H4sIAIDb/U8C/1NW1E/KzNMvzuBKTc7IV8hIzcnJVyjPL8pJ4QIA6N+MVxsAAAA=\n  \
         encoding: gzip\n  path: /a\n- path: /b\n  content: !!binary aGk=\n- { path: /c, content: !!binary \"/w==\" }\n\
         - path: /d\n  content: '!!binary aGk='\nruncmd: [a]\n",
    )
    .unwrap();
    let contents: Vec<&[u8]> = config.files.iter().map(|file| file.content.as_slice()).collect();
    let script = b"#!/bin/sh\necho hello world\n";
    assert_eq!(contents, [&script[..], b"hi", b"\xff", b"!!binary aGk="]);
    assert_eq!(config.runcmd.as_deref(), Some(&b"#!/bin/sh\na\n"[..]));
    assert_eq!(config.problems, []);
}

#[test]
fn a_problem_of_a_file_leaves_the_commands() {
    let none = [""; 0].as_slice();
    for (files, paths, problem) in [
        (
            "[{ content: x }, { path: /b }]",
            ["/b"].as_slice(),
            "missing `path` in an entry of `write_files`: cloud-init skips the entry",
        ),
        (
            "[{ path: /a, encoding: rot13 }, { path: /b }]",
            &["/a", "/b"],
            "unknown encoding `rot13` of /a: cloud-init writes the content as it stands",
        ),
        (
            "[{ path: /a, permissions: rwx }]",
            &["/a"],
            "invalid permissions `rwx` of /a: cloud-init sets 644",
        ),
        (
            "[{ path: /a, permissions: 644 }]",
            &["/a"],
            "the permissions 644 of /a are a decimal number, and those that cloud-init sets are 1204: write `'0644'`",
        ),
        (
            "[{ path: /a }, { path: /b, content: hi, encoding: base64 }, { path: /c }]",
            &["/a"],
            "the content of /b is not base64: cloud-init ends `write_files` here",
        ),
        (
            "[{ path: /a, content: 5 }]",
            none,
            "the content of /a is a number, and only text in quotes can be written",
        ),
        (
            "{ path: /a }",
            none,
            "invalid `write_files`: expected a list, found a mapping",
        ),
        ("[/a]", none, "invalid entry of `write_files`: expected a mapping"),
    ] {
        let (found, commands, problems) = used(&format!("write_files: {files}\nruncmd: [x]\n"));
        assert_eq!(
            (found.as_slice(), commands.as_str()),
            (
                paths
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .as_slice(),
                "x\n"
            )
        );
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].starts_with(&format!("line 1: {problem}")),
            "{problems:?}"
        );
    }
    let valid = "write_files:\n- { path: /a, content: aGk=, encoding: B64, permissions: 0644, append: 'yes' }\n- { path: /b, content: }\n";
    let (paths, _, problems) = used(valid);
    assert_eq!((paths.len(), problems.len()), (2, 0), "{problems:?}");
    assert_eq!(used("write_files:\nruncmd:\n"), (vec![], String::new(), vec![]));
    let prefixed = CloudConfig::read("write_files:\n- path: /a\n  permissions: 0o600\n").unwrap();
    assert_eq!((prefixed.files[0].mode, prefixed.problems.len()), (0o600, 0));
}

#[test]
fn one_invalid_command_prevents_all() {
    for (commands, problem) in [
        ("x", "invalid `runcmd`: expected a list, found text"),
        (
            "[a, 'echo a: b', echo a: b]",
            "invalid command: expected text or a list of words, found a mapping",
        ),
        (
            "[a, 5]",
            "invalid command: expected text or a list of words, found a number",
        ),
    ] {
        let (paths, found, problems) = used(&format!("runcmd: {commands}\nwrite_files: [{{ path: /a }}]\n"));
        assert_eq!((paths.len(), found.as_str()), (1, ""), "{commands}");
        assert!(
            problems[0].starts_with(&format!("line 1: {problem}")),
            "{problems:?}"
        );
        assert!(problems[0].ends_with(": cloud-init runs no command of `runcmd`"));
    }
}

#[test]
fn commands_of_the_early_boot_in_a_text_do_not_run_and_leave_the_others() {
    for (commands, problem) in [
        ("echo hi", "invalid `bootcmd`: expected a list, found text"),
        (
            "[a, 5]",
            "invalid command: expected text or a list of words, found a number",
        ),
    ] {
        let config = CloudConfig::read(&format!("bootcmd: {commands}\nruncmd: [x]\n")).unwrap();
        let expected = format!("line 1: {problem}");
        let [found] = &config.problems[..] else {
            panic!("{:?}", config.problems)
        };
        assert!(found.to_string().starts_with(&expected), "{found}");
        assert!(
            found
                .message
                .ends_with(": cloud-init runs no command of `bootcmd`")
        );
        assert_eq!(found.loss, CloudConfigLoss::Entry);
        assert!(config.runcmd.is_some());
    }
    assert_eq!(used("bootcmd: [[a, 5], b]\n").2, [""; 0]);
    assert_eq!(used("bootcmd:\n").2, [""; 0]);
}

#[test]
fn the_last_of_equal_keys_counts() {
    let (paths, commands, problems) =
        used("bootcmd: [a]\nruncmd: [a]\nwrite_files: [{ path: /a, path: /b }]\nbootcmd: [b]\nruncmd: [b]\n");
    assert_eq!((paths, commands.as_str()), (vec!["/b".to_owned()], "b\n"));
    assert_eq!(
        problems,
        [
            "line 1: the key `bootcmd` is given twice: cloud-init takes the last one only",
            "line 2: the key `runcmd` is given twice: cloud-init takes the last one only",
            "line 3: the key `path` is given twice: cloud-init takes the last one only",
        ]
    );
}

#[test]
fn base64_is_read_as_python_reads_it() {
    for (text, expected) in [
        ("aGk=", Some("hi")),
        ("aG\nk=", Some("hi")),
        ("a.G-k=", Some("hi")),
        ("aGk=aGk=", Some("hi")),
        ("aGk", None),
        ("hi", None),
        ("", Some("")),
    ] {
        let decoded = python_base64(text.as_bytes());
        assert_eq!(decoded.as_deref(), expected.map(str::as_bytes), "{text}");
    }
}

#[test]
fn a_later_list_replaces_an_earlier_one() {
    let read = |text: &str| CloudConfig::read(text).unwrap();
    let mut config = read("runcmd: [a]\nwrite_files: [{ path: /a }]\n");
    config.merge(read("runcmd: [b]\n"));
    assert_eq!(config.runcmd.unwrap(), b"#!/bin/sh\nb\n");
    assert_eq!(config.files.len(), 1);
}

#[test]
fn a_later_list_follows_an_earlier_one_if_it_says_so() {
    let read = |text: &str| CloudConfig::read(text).unwrap();
    for merge_how in [
        "merge_how: list(append)+dict(recurse_array)+str()",
        "merge_type: list(append)+dict(no_replace,recurse_list)+str()",
        "merge_how: [{ name: list, settings: [append] }, { name: dict, settings: [no_replace, recurse_list] }]",
    ] {
        let mut config = read("runcmd: [a]\nwrite_files: [{ path: /a }]\n");
        config.merge(read(&format!(
            "{merge_how}\nruncmd: [b]\nwrite_files: [{{ path: /b }}]\n"
        )));
        assert_eq!(config.runcmd.unwrap(), b"#!/bin/sh\na\nb\n", "{merge_how}");
        assert_eq!(config.files.len(), 2, "{merge_how}");
    }
}
