//! Collects the machines of a file, and those whose user data it does not contain.

use std::collections::BTreeMap;

use crate::architecture;
use crate::error::ImportError;
use crate::machine::{AmiFamily, FileFormat, Imported, Machine, UnreadMachine};
use crate::nodeadm_base64;
use crate::source_lines::of_user_data;
use crate::text;

/// What a reader has found so far.
#[derive(Debug)]
pub(crate) struct Reading {
    format: FileFormat,
    machines: Vec<Machine>,
    unread: Vec<UnreadMachine>,
    /// Names in use, each with the last number that was given to another machine of this name.
    names: BTreeMap<String, usize>,
    pub(crate) notes: Vec<String>,
}

impl Reading {
    pub(crate) fn of(format: FileFormat) -> Self {
        Self {
            format,
            machines: Vec::new(),
            unread: Vec::new(),
            names: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Whether nothing was found: no machine, and none without its user data.
    pub(crate) fn is_empty(&self) -> bool {
        self.machines.is_empty() && self.unread.is_empty()
    }

    pub(crate) fn machine_count(&self) -> usize {
        self.machines.len()
    }

    pub(crate) fn has_machines(&self) -> bool {
        !self.machines.is_empty()
    }

    /// Adds a machine, or the reason why its user data is not in the file.
    pub(crate) fn add(&mut self, name: &str, machine: Result<Machine, ImportError>) {
        match machine.and_then(described) {
            Ok(mut machine) => {
                machine.name = self.unique(&machine.name);
                machine
                    .problems
                    .extend(architecture::mismatch_of(&machine.traits));
                self.machines.push(machine);
            }
            Err(error) => {
                let name = self.unique(name);
                self.unread.push(UnreadMachine { name, error });
            }
        }
    }

    /// The result, if the file has the user data of a machine.
    ///
    /// # Errors
    /// The reason of the first machine without user data, or that there is no machine.
    pub(crate) fn finish(self, why: &str, hint: &str) -> Result<Imported, ImportError> {
        if self.machines.is_empty() {
            let first = self.unread.into_iter().next().map(|unread| unread.error);
            return Err(first.unwrap_or_else(|| ImportError::NoMachine {
                format: self.format.to_string(),
                why: why.to_owned(),
                hint: hint.to_owned(),
            }));
        }
        Ok(Imported {
            format: self.format,
            machines: self.machines,
            unread: self.unread,
            notes: self.notes,
        })
    }

    /// The name, with a number if another machine has it.
    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        while self.names.contains_key(&unique) {
            let number = self.names.entry(name.to_owned()).or_insert(1);
            *number += 1;
            unique = format!("{name}#{number}");
        }
        self.names.insert(unique.clone(), 1);
        unique
    }
}

/// Adds what the user data itself shows about the machine.
fn described(mut machine: Machine) -> Result<Machine, ImportError> {
    let traits = &mut machine.traits;
    let arns = [&traits.role, &traits.instance_profile];
    let account = arns.into_iter().flatten().find_map(|arn| account(arn));
    traits.account = traits.account.take().or(account);
    let Some(bytes) = machine.user_data.clone() else {
        return Ok(machine);
    };
    let plain = if text::is_gzip(&bytes) {
        text::unpacked(&bytes)?
    } else {
        bytes
    };
    let Ok(content) = std::str::from_utf8(&plain) else {
        machine.notes.push("the user data is not text".to_owned());
        return Ok(machine);
    };
    // AL2 has no nodeadm, and EKS reads the user data of a managed node group itself.
    let has_nodeadm = matches!(machine.traits.ami_family, None | Some(AmiFamily::Al2023));
    if let Some(configs) =
        nodeadm_base64::node_configs(content).filter(|_| has_nodeadm && machine.managed.is_none())
    {
        machine.notes.push(nodeadm_base64::NOTE.to_owned());
        machine.user_data = Some(configs.into_bytes());
        return described(machine);
    }
    let mut describe = |format| {
        let described = text::describe(&mut machine, content, format);
        described.map_err(|error| of_user_data(error, content))
    };
    match text::format(content) {
        Some(format) => describe(format)?,
        None if text::is_node_config(content) => describe(FileFormat::NodeConfig)?,
        None if is_encoded_again(content) => machine.notes.push(
            "cloud-init does not run the user data: it is base64 of base64; encode it once, as launch templates, Pulumi's `userData` \
             and Terraform's `user_data_base64` take it"
                .to_owned(),
        ),
        None if content.starts_with([' ', '\t']) && text::format(content.trim_start()).is_some() => {
            machine.notes.push(
                "cloud-init does not run the user data: blanks stand before its first line; remove \
                 them from all lines"
                    .to_owned(),
            );
        }
        None => machine.notes.push(format!(
            "cloud-init does not run the user data: it begins with `{}`, which is neither `#!`, `#cloud-config` nor a MIME header",
            text::beginning(content)
        )),
    }
    Ok(machine)
}

/// Whether a text without base64 of its API is base64 of user data.
fn is_encoded_again(content: &str) -> bool {
    let inner = text::decoded(content.as_bytes()).and_then(|inner| String::from_utf8(inner).ok());
    inner.is_some_and(|inner| text::is_user_data(inner.as_bytes()))
}

/// The account in an ARN of IAM.
fn account(arn: &str) -> Option<String> {
    let account = arn.strip_prefix("arn:")?.split(':').nth(3)?;
    (!account.is_empty()).then(|| account.to_owned())
}
