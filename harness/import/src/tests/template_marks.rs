//! Marks of templates in user data: those that its own commands fill in, and those that a tool must fill in before.

use std::collections::BTreeMap;

use super::{machine, refused};

/// The lines of the report.
fn report(text: &str) -> String {
    let trial = crate::adopt(&machine(text), &BTreeMap::new()).unwrap();
    let lines = trial.report.iter().map(|line| format!("{}\n", line.text));
    lines.collect()
}

#[test]
fn a_mark_that_sed_fills_in_is_the_value_that_it_gets() {
    let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: __CLUSTER__\n    \
                  apiServerEndpoint: __ENDPOINT__\n    certificateAuthority: __CA__\n    cidr: 10.100.0.0/16\n";
    let of_config = format!(
        "#!/bin/bash\ncat > /n.yaml <<\"EOF\"\n{config}EOF\nEP=$(aws eks describe-cluster --name demo --query cluster.endpoint)\n\
         sed -i -e \"s|__CLUSTER__|demo|\" -e \"s|__ENDPOINT__|$EP|\" -e \"s|__CA__|$CA|\" /n.yaml\nnodeadm init -c file:///n.yaml\n"
    );
    let of_script = "#!/bin/bash\ncat > /j.sh <<'EOF'\n/etc/eks/bootstrap.sh @@CLUSTER@@ --kubelet-extra-args '--node-labels=@@LABELS@@'\nEOF\n\
                     sed -i 's/@@CLUSTER@@/demo/; s|@@LABELS@@|a=b|' /j.sh\nbash /j.sh\n";
    for text in [of_config.as_str(), of_script] {
        let report = report(text);
        assert!(report.contains("cluster name demo\n"), "{report}");
        for mark in ["__", "@@", "certificate authority", "EKS does not create"] {
            assert!(!report.contains(mark), "{mark}: {report}");
        }
    }
    assert!(report(of_script).contains("label a=b\n"));
}

#[test]
fn a_value_that_only_a_run_shows_is_not_the_name_of_the_cluster() {
    let text = "#!/bin/bash\ncat > /j.sh <<'EOF'\n/etc/eks/bootstrap.sh __CLUSTER__\nEOF\n\
                sed -i \"s/__CLUSTER__/$(cat /name)/\" /j.sh\nbash /j.sh\n";
    let report = report(text);
    for text in ["__CLUSTER__", "\u{e000}"] {
        assert!(!report.contains(text), "{report}");
    }
}

/// A shell takes such a line for a command.
#[test]
fn a_script_with_directives_of_a_template_engine_is_not_rendered_yet() {
    let call = "/etc/eks/bootstrap.sh demo\n";
    let error = refused(
        "join.sh.j2",
        &format!("#!/bin/bash\n{{% if gpu %}}\n{call}{{%- endif %}}\n"),
    );
    assert!(
        error.starts_with("line 2: a template that is not rendered yet"),
        "{error}"
    );
    let of_erb = refused(
        "join.sh",
        &format!("#!/bin/bash\n<% if gpu %>\n{call}<% end %>\n"),
    );
    assert!(
        of_erb.starts_with("line 2: a template that is not rendered yet"),
        "{of_erb}"
    );
    for text in [
        format!("#!/bin/bash\ncat > /etc/site.j2 <<'EOF'\n{{% if a %}}\nEOF\n{call}"),
        format!("## template: jinja\n#!/bin/bash\n{{% if v1.region %}}\n{call}{{% endif %}}\n"),
        format!("#!/usr/bin/python3\nTEXT = \"\"\"\n{{% if a %}}\n\"\"\"\n# {call}"),
        format!("#!/bin/bash\n{call}echo ${{A%.*}}\n"),
        format!("#!/bin/bash\ncat > /etc/site.tftpl <<'EOF'\n%{{ if a }}\nEOF\n{call}"),
        format!("#!/bin/bash\n{call}curl -w '%{{http_code}}' http://a.b\n"),
    ] {
        machine(&text);
    }
}

#[test]
fn user_data_with_directives_of_terraform_is_not_rendered_yet() {
    let call = "/etc/eks/bootstrap.sh demo";
    let directive = "a template of Terraform with `%{ }`, which only Terraform evaluates";
    for (name, text, line) in [
        ("a.sh", format!("#!/bin/bash\n%{{ if true }}\n{call}\n%{{ endif }}\n"), 2),
        (
            "b.sh",
            format!("#!/bin/bash\n{call} %{{ if labels != \"\" ~}}--use-max-pods false%{{ endif ~}}\n"),
            2,
        ),
        (
            "c.mime",
            format!(
                "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n\
                 %{{~ if gpu ~}}\n{call}\n%{{ endif }}\n--B--\n"
            ),
            8,
        ),
        (
            "d.yaml",
            "%{ if enable ~}\n---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { cluster: { name: demo } }\n%{ endif ~}\n"
                .to_owned(),
            1,
        ),
    ] {
        let error = refused(name, &text);
        assert!(
            error.starts_with(&format!("line {line}: {directive}"))
                && error.contains(&format!("templatefile(\"{name}\"")),
            "{error}"
        );
    }
    // A node can write the template of another program.
    let message = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/jinja2\n\n## template: jinja\n\
         #!/bin/bash\n{{% if v1.region %}}\n{call}\n{{% endif %}}\n--B--\n"
    );
    machine(&message);
}
