//! Why a file cannot be imported. Each error has a next step.

/// The kind of source code that is not a script of user data.
pub(crate) const PROGRAM: &str = "a program";

/// A file, or a machine of a file, that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No format fits.
    #[error("`{name}` is not user data and not a file of a tool that nodejoin knows; it begins with {begin}")]
    NotRecognized { name: String, begin: String },
    /// A document of an unknown tool, with user data in it.
    #[error("{}{}", at(.line), inside(.paths))]
    UserDataInside {
        line: Option<usize>,
        /// As jq writes them.
        paths: Vec<String>,
        /// Prints the first of them, and tries it.
        command: String,
    },
    /// A text that mentions a program by which nodes join, and is not a script.
    #[error("{}{}", at(.line), other_text(.name, .kind))]
    OtherText {
        line: Option<usize>,
        name: String,
        /// With its article.
        kind: &'static str,
    },
    /// A source text that a tool renders to user data.
    #[error("{}{kind} that is not rendered yet", at(.line))]
    NotRendered {
        line: Option<usize>,
        /// With its article, such as `a Helm template`.
        kind: &'static str,
        /// Renders the file.
        command: &'static str,
    },
    /// A plan does not contain the value yet.
    #[error("the user data of `{machine}` is unknown until apply")]
    UnknownUntilApply { machine: String, hint: String },
    /// The tool replaced the text by its hash.
    #[error("`{machine}` has only a hash of the user data ({hash})")]
    OnlyAHash {
        machine: String,
        hash: String,
        hint: String,
    },
    /// A launch template version that a controller replaces.
    #[error("`{machine}` is a placeholder version: no instance starts from it")]
    PlaceholderVersion { machine: String, hint: String },
    /// The launch template with the user data is not in the file.
    #[error("{}{}", at(.line), in_launch_template(.owner, .template))]
    InLaunchTemplate {
        line: Option<usize>,
        /// Such as `the instance`.
        owner: String,
        /// By id or name.
        template: String,
    },
    /// Another file has the user data, such as the template of a nested stack.
    #[error("{}{}", at(.line), elsewhere(.owner, .place))]
    UserDataElsewhere {
        line: Option<usize>,
        /// Such as `the instance`.
        owner: String,
        /// What has it, with its article.
        place: String,
        hint: String,
    },
    /// The file defines no machine that runs user data.
    #[error("{format} without a machine: {why}")]
    NoMachine {
        format: String,
        why: String,
        hint: String,
    },
    /// Nodes that join in another way than by user data of EKS.
    #[error("{}{what} is out of scope: {why}", at(.line))]
    OutOfScope {
        line: Option<usize>,
        what: &'static str,
        why: &'static str,
        hint: &'static str,
    },
    /// A value that no tool accepts, or that this program cannot evaluate.
    #[error("{}{problem}", position(.line, .column))]
    Invalid {
        line: Option<usize>,
        column: Option<usize>,
        problem: String,
        hint: String,
    },
    /// An error whose line counts in the user data, because the file contains it in another form, such as base64.
    #[error("{}", in_user_data(.error))]
    OfUserData {
        /// The user data.
        text: String,
        error: Box<ImportError>,
    },
}

impl ImportError {
    /// The launch configuration with the user data of a group is not in the file.
    pub(crate) fn in_launch_configuration(line: Option<usize>, owner: String, name: &str) -> Self {
        Self::UserDataElsewhere {
            line,
            owner,
            place: format!("launch configuration `{name}`"),
            hint: format!(
                "give the output of `aws autoscaling describe-launch-configurations --launch-configuration-names {name}`"
            ),
        }
    }

    /// The launch template with the user data of a group is not in the file, which does not tell which one it is.
    /// `until`: when its tool knows it.
    pub(crate) fn in_unknown_template(line: Option<usize>, owner: String, until: &str) -> Self {
        Self::UserDataElsewhere {
            line,
            owner,
            place: format!("a launch template that is unknown until {until}"),
            hint: "try the file that defines it, or give the output of `aws ec2 describe-launch-template-versions`"
                .to_owned(),
        }
    }

    /// Whether the file is to be corrected: its tool, or the node, would not accept it.
    #[must_use]
    pub fn is_mistake(&self) -> bool {
        match self {
            Self::Invalid { .. } => true,
            Self::OfUserData { error, .. } => error.is_mistake(),
            Self::NotRecognized { .. }
            | Self::UserDataInside { .. }
            | Self::OtherText { .. }
            | Self::NotRendered { .. }
            | Self::UnknownUntilApply { .. }
            | Self::OnlyAHash { .. }
            | Self::PlaceholderVersion { .. }
            | Self::InLaunchTemplate { .. }
            | Self::UserDataElsewhere { .. }
            | Self::NoMachine { .. }
            | Self::OutOfScope { .. } => false,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotRecognized { .. } => {
                "give user data (script, MIME, cloud-config, NodeConfig), JSON of `terraform show -json` or `aws ec2 \
                 describe-launch-template-versions`, a CloudFormation template, or manifests of eksctl, Karpenter or \
                 Cluster API"
                    .to_owned()
            }
            Self::UserDataInside { command, .. } => format!("give that text alone: `{command}`"),
            Self::OtherText { kind, .. } if *kind == PROGRAM => {
                "give the user data that it passes on, as a file of its own; if cloud-init is to run the program itself, begin it with \
                 `#!` and its interpreter"
                    .to_owned()
            }
            Self::OtherText { .. } => {
                "give the user data alone; if it is a script, begin it with `#!/bin/bash`: cloud-init runs no other"
                    .to_owned()
            }
            Self::NotRendered { command, .. } => format!("render it with {command}, and give the result"),
            Self::UnknownUntilApply { hint, .. }
            | Self::OnlyAHash { hint, .. }
            | Self::PlaceholderVersion { hint, .. }
            | Self::UserDataElsewhere { hint, .. }
            | Self::NoMachine { hint, .. }
            | Self::Invalid { hint, .. } => hint.clone(),
            Self::InLaunchTemplate { template, .. } => {
                let by = if template.starts_with("lt-") { "id" } else { "name" };
                format!(
                    "give the output of `aws ec2 describe-launch-template-versions --launch-template-{by} {template}`"
                )
            }
            Self::OutOfScope { hint, .. } => (*hint).to_owned(),
            Self::OfUserData { error, .. } => error.hint(),
        }
    }

    /// Line of the file, from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::UserDataInside { line, .. }
            | Self::OtherText { line, .. }
            | Self::NotRendered { line, .. }
            | Self::InLaunchTemplate { line, .. }
            | Self::UserDataElsewhere { line, .. }
            | Self::OutOfScope { line, .. }
            | Self::Invalid { line, .. } => *line,
            Self::NotRecognized { .. }
            | Self::UnknownUntilApply { .. }
            | Self::OnlyAHash { .. }
            | Self::PlaceholderVersion { .. }
            | Self::NoMachine { .. }
            | Self::OfUserData { .. } => None,
        }
    }

    /// The error at another line, without a column: texts in a file are indented.
    pub(crate) fn at_line(self, number: usize) -> Self {
        match self {
            Self::NotRendered { kind, command, .. } => Self::NotRendered {
                line: Some(number),
                kind,
                command,
            },
            Self::OutOfScope { what, why, hint, .. } => Self::OutOfScope {
                line: Some(number),
                what,
                why,
                hint,
            },
            Self::Invalid { problem, hint, .. } => Self::Invalid {
                line: Some(number),
                column: None,
                problem,
                hint,
            },
            Self::UserDataInside { paths, command, .. } => Self::UserDataInside {
                line: Some(number),
                paths,
                command,
            },
            Self::OtherText { name, kind, .. } => Self::OtherText {
                line: Some(number),
                name,
                kind,
            },
            Self::InLaunchTemplate { owner, template, .. } => Self::InLaunchTemplate {
                line: Some(number),
                owner,
                template,
            },
            Self::UserDataElsewhere {
                owner, place, hint, ..
            } => Self::UserDataElsewhere {
                line: Some(number),
                owner,
                place,
                hint,
            },
            other @ (Self::NotRecognized { .. }
            | Self::UnknownUntilApply { .. }
            | Self::OnlyAHash { .. }
            | Self::PlaceholderVersion { .. }
            | Self::NoMachine { .. }
            | Self::OfUserData { .. }) => other,
        }
    }

    /// What is wrong, without the line.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Invalid { problem, .. } => problem.clone(),
            Self::OutOfScope { what, why, .. } => format!("{what} is out of scope: {why}"),
            Self::NotRendered { kind, .. } => format!("{kind} that is not rendered yet"),
            Self::OfUserData { error, .. } => error.problem(),
            Self::UserDataInside { paths, .. } => inside(paths),
            Self::OtherText { name, kind, .. } => other_text(name, kind),
            Self::InLaunchTemplate { owner, template, .. } => in_launch_template(owner, template),
            Self::UserDataElsewhere { owner, place, .. } => elsewhere(owner, place),
            Self::NotRecognized { .. }
            | Self::UnknownUntilApply { .. }
            | Self::OnlyAHash { .. }
            | Self::PlaceholderVersion { .. }
            | Self::NoMachine { .. } => self.to_string(),
        }
    }
}

fn in_user_data(error: &ImportError) -> String {
    let of_line = error.line().map(|line| format!("line {line} of the user data: "));
    format!("{}{}", of_line.unwrap_or_default(), error.problem())
}

fn inside(paths: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = paths.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
    let more = match paths.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "a file of a tool that nodejoin does not know, with user data at {}{more}",
        shown.join(", ")
    )
}

fn other_text(name: &str, kind: &str) -> String {
    format!("`{name}` is {kind}, not user data")
}

fn in_launch_template(owner: &str, template: &str) -> String {
    elsewhere(owner, &format!("launch template `{template}`"))
}

fn elsewhere(owner: &str, place: &str) -> String {
    format!("the user data of {owner} is in {place}")
}

fn at(line: &Option<usize>) -> String {
    position(line, &None)
}

fn position(line: &Option<usize>, column: &Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        (Some(line), None) => format!("line {line}: "),
        (None, _) => String::new(),
    }
}
