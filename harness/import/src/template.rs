//! Source texts that a tool renders to user data, and the command that renders them.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ImportError, PROGRAM};
use crate::words::set_option;

struct Renderer {
    kind: &'static str,
    command: &'static str,
}

const TERRAFORM: Renderer = Renderer {
    kind: "Terraform code",
    command: "`terraform plan -out plan && terraform show -json plan > plan.json`",
};
const TERRAFORM_PLAN: Renderer = Renderer {
    kind: "a saved plan of Terraform",
    command: "`terraform show -json PLAN > plan.json`",
};
const TERRAFORM_LOG: Renderer = Renderer {
    kind: "the log of `terraform plan -json`",
    command: "`terraform plan -out plan && terraform show -json plan > plan.json`",
};
const TERRAFORM_PLAN_TEXT: Renderer = Renderer {
    kind: "a printed plan of Terraform",
    command: "`terraform plan -out plan && terraform show -json plan > plan.json`",
};
const TERRAFORM_VARIABLES: Renderer = Renderer {
    kind: "a file of Terraform variables",
    command: "`terraform plan -var-file FILE -out plan && terraform show -json plan > plan.json`",
};
const HELM: Renderer = Renderer {
    kind: "a Helm template",
    command: "`helm template CHART > manifests.yaml` (or `kubectl get ec2nodeclass -o yaml` for what is applied)",
};
const CDK: Renderer = Renderer {
    kind: "source code of the CDK",
    command: "`cdk synth` (its result is the folder `cdk.out`)",
};
const PULUMI: Renderer = Renderer {
    kind: "source code of Pulumi",
    command: "`pulumi stack export --show-secrets > stack.json`",
};

const TEMPLATE: Renderer = Renderer {
    kind: "a template",
    command: "its tool, such as Ansible or Helm",
};

/// Rejects a file that is not rendered yet.
pub(crate) fn check_binary(bytes: &[u8]) -> Result<(), ImportError> {
    if bytes.starts_with(b"PK\x03\x04") {
        return Err(not_rendered(&TERRAFORM_PLAN, None));
    }
    Ok(())
}

/// Rejects source code of a program, in which user data can stand as a text. One that begins with `#!` and uses no
/// library of these tools is user data in that language, and one that begins with `#part-handler` a part of cloud-init.
pub(crate) fn check_program(name: &str, text: &str) -> Result<(), ImportError> {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_source = extension.is_some_and(|end| ["ts", "js", "py", "go", "java", "cs"].contains(&end));
    let is_user_data = ["#!", "#part-handler"]
        .iter()
        .any(|begin| text.starts_with(begin));
    if !is_program(text) && (!is_source || is_user_data) {
        return Ok(());
    }
    let is_of_cdk = ["aws-cdk", "aws_cdk", "awscdk", "Amazon.CDK"]
        .iter()
        .any(|library| text.contains(library));
    Err(match (text.contains("pulumi"), is_of_cdk) {
        (true, _) => not_rendered(&PULUMI, None),
        (false, true) => not_rendered(&CDK, None),
        (false, false) => ImportError::OtherText {
            line: None,
            name: name.to_owned(),
            kind: PROGRAM,
        },
    })
}

/// The error for a line of a text that a template engine evaluates.
pub(crate) fn of_engine(line: usize) -> ImportError {
    not_rendered(&TEMPLATE, Some(line))
}

/// The error for a line of a text that only Terraform evaluates.
pub(crate) fn of_terraform(file: &str, line: usize) -> ImportError {
    ImportError::Invalid {
        line: Some(line),
        column: None,
        problem: "a template of Terraform with `%{ }`, which only Terraform evaluates".to_owned(),
        hint: format!(
            "render it with `echo 'templatefile(\"{file}\", {{ NAME = \"VALUE\" }})' | terraform console`, or with \
             `terraform plan -out plan && terraform show -json plan > plan.json`"
        ),
    }
}

/// Rejects a text that is not rendered yet.
pub(crate) fn check(name: &str, text: &str) -> Result<(), ImportError> {
    let extension = name
        .rsplit_once('.')
        .map(|(_, extension)| extension)
        .unwrap_or_default();
    let is_action = |line: &str| {
        let rest = line.trim_start();
        let symbols = ["+ ", "- ", "~ ", "-/+ ", "+/- ", "<= "];
        symbols.iter().any(|symbol| {
            rest.strip_prefix(symbol)
                .is_some_and(|rest| rest.starts_with("resource \""))
        })
    };
    if let Some(line) = line_of(text, is_action) {
        return Err(not_rendered(&TERRAFORM_PLAN_TEXT, Some(line)));
    }
    if extension == "tfvars" {
        return Err(not_rendered(&TERRAFORM_VARIABLES, None));
    }
    let line = line_of(text, is_block);
    if extension == "tf" || (line.is_some() && !text.starts_with("#!")) {
        return Err(not_rendered(&TERRAFORM, line));
    }
    if extension == "json" && name.ends_with(".tf.json") {
        return Err(not_rendered(&TERRAFORM, None));
    }
    if text.starts_with("{\"@level\"") {
        return Err(not_rendered(&TERRAFORM_LOG, Some(1)));
    }
    let is_helm = |line: &str| {
        [".Values", ".Release", ".Chart", "include \""]
            .iter()
            .any(|word| {
                line.split("{{").skip(1).any(|rest| {
                    rest.split("}}")
                        .next()
                        .is_some_and(|inside| inside.contains(word))
                })
            })
    };
    if let Some(line) = line_of(text, is_helm) {
        return Err(not_rendered(&HELM, Some(line)));
    }
    // As in the value of a field, such as `{{ script | b64encode }}`.
    if text.starts_with("{{") {
        return Err(not_rendered(&TEMPLATE, Some(1)));
    }
    Ok(())
}

/// Whether a file is code of Terraform, in which settings of Bottlerocket can stand as a text.
pub(crate) fn is_terraform_code(name: &str, text: &str) -> bool {
    name.ends_with(".tf") || line_of(text, is_block).is_some()
}

/// Whether a line opens a block of Terraform's code.
fn is_block(line: &str) -> bool {
    const BLOCKS: [&str; 6] = [
        "resource \"",
        "module \"",
        "data \"",
        "variable \"",
        "locals {",
        "terraform {",
    ];
    BLOCKS.iter().any(|begin| line.starts_with(begin))
}

/// Whether a file is named as templates of Terraform (`templatefile`) are.
pub(crate) fn is_terraform_template(name: &str) -> bool {
    [".tpl", ".tftpl"].iter().any(|end| name.ends_with(end))
}

/// Renders a template of Terraform if `set` has all its names.
pub(crate) fn terraform_template(
    name: &str,
    text: &str,
    set: &BTreeMap<String, String>,
) -> Result<String, ImportError> {
    check_template(name, text, set)?;
    let text = text.replace("$${", "\u{0}").replace("%%{", "%{");
    let mut rendered = String::new();
    let mut rest = text.as_str();
    while let Some((before, inside)) = rest.split_once("${") {
        let (inside, after) = inside.split_once('}').unwrap_or((inside, ""));
        let value = set.get(name_of(inside)).map(String::as_str).unwrap_or_default();
        rendered.push_str(before);
        if inside.starts_with(STRIP) {
            rendered.truncate(rendered.trim_end().len());
        }
        rendered.push_str(value);
        rest = if inside.ends_with(STRIP) {
            after.trim_start()
        } else {
            after
        };
    }
    rendered.push_str(rest);
    Ok(rendered.replace('\u{0}', "${"))
}

/// Removes white space before or behind an expression, line breaks too.
const STRIP: char = '~';

/// The expression between `${` and `}`, such as `name` in `${ name ~}`.
fn name_of(inside: &str) -> &str {
    inside.trim_start_matches(STRIP).trim_end_matches(STRIP).trim()
}

/// Rejects a template that `set` does not render, with everything that is missing.
fn check_template(file: &str, text: &str, set: &BTreeMap<String, String>) -> Result<(), ImportError> {
    let invalid = |line: Option<usize>, problem: String, hint: String| ImportError::Invalid {
        line,
        column: None,
        problem,
        hint,
    };
    let is_unbalanced = |line: &str| {
        let mut at = line.match_indices("${");
        at.any(|(at, _)| !line[..at].ends_with('$') && !line[at..].contains('}'))
    };
    if let Some(line) = line_of(text, is_unbalanced) {
        return Err(invalid(
            Some(line),
            "a template of Terraform with `${` and no `}` behind it: Terraform rejects it".to_owned(),
            "close the name with `}`, or write `$${` for a variable of the shell".to_owned(),
        ));
    }
    let has_directive = |line: &str| line.replace("%%{", "").contains("%{");
    if let Some(line) = line_of(text, has_directive) {
        return Err(of_terraform(file, line));
    }
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        for name in names(line).into_iter().filter(|name| !set.contains_key(*name)) {
            open.entry(name).or_insert(number);
        }
    }
    let Some(first) = open.values().min().copied() else {
        return Ok(());
    };
    let listed: Vec<String> = open
        .iter()
        .map(|(name, line)| format!("`{name}` (line {line})"))
        .collect();
    let flags: Vec<String> = open.keys().map(|name| set_option(name)).collect();
    Err(invalid(
        Some(first),
        format!(
            "a template of Terraform with names that have no value: {}",
            listed.join(", ")
        ),
        format!(
            "give them values: `{}`; or render it with `terraform plan -out plan && terraform show -json plan > plan.json`",
            flags.join(" ")
        ),
    ))
}

/// The expressions in `${...}`.
fn names(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("${") {
        if !text[..at].ends_with('$') {
            names.extend(text[at + 2..].split('}').next().map(name_of));
        }
    }
    names
}

fn is_program(text: &str) -> bool {
    text.lines().any(|line| {
        let is_import =
            line.starts_with("import ") || line.starts_with("from ") || line.starts_with("const ");
        is_import
            && ["aws-cdk", "aws_cdk", "pulumi"]
                .iter()
                .any(|library| line.contains(library))
    })
}

fn line_of(text: &str, is_match: impl Fn(&str) -> bool) -> Option<usize> {
    text.lines().position(is_match).map(|index| index + 1)
}

fn not_rendered(renderer: &Renderer, line: Option<usize>) -> ImportError {
    ImportError::NotRendered {
        line,
        kind: renderer.kind,
        command: renderer.command,
    }
}
