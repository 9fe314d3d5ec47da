//! The services of AWS that the fake does not emulate, from a data file that travels inside the program.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, de};

/// One service per line, after comments that name the columns.
const DATA: &str = include_str!("../../data/aws-services.tsv");

/// A service of AWS that the fake does not emulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub struct AwsService(&'static ServiceRow);

/// A line of the data file.
#[derive(Debug, PartialEq, Eq)]
struct ServiceRow {
    /// The start of its host names, such as `ssm` and `api.pricing`.
    name: &'static str,
    /// Names in the AWS CLI that differ from it, separated by commas, or `-`.
    commands: &'static str,
    /// Whether one of its host names has no region.
    is_global: bool,
}

/// A name of no service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown AWS service `{0}`")]
pub struct UnknownAwsService(String);

static SERVICES: LazyLock<Vec<ServiceRow>> = LazyLock::new(|| {
    let lines = DATA.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(ServiceRow::read).collect()
});

static BY_NAME: LazyLock<HashMap<&str, AwsService>> =
    LazyLock::new(|| SERVICES.iter().map(|row| (row.name, AwsService(row))).collect());

impl ServiceRow {
    fn read(line: &'static str) -> Option<Self> {
        let columns: Vec<&'static str> = line.split('\t').collect();
        let &[name, commands, scope] = columns.as_slice() else {
            return None;
        };
        Some(Self {
            name,
            commands,
            is_global: scope == "global",
        })
    }

    fn other_commands(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.commands.split(',').filter(|name| *name != "-")
    }
}

impl AwsService {
    /// Finds a service by the start of its host names.
    #[must_use]
    pub fn of_host(labels: &str) -> Option<Self> {
        BY_NAME.get(labels).copied()
    }

    /// Finds a service by the start of its host names, or by its name in the AWS CLI.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let has = |service: &&ServiceRow| service.other_commands().any(|command| command == name);
        Self::of_host(name).or_else(|| SERVICES.iter().find(has).map(Self))
    }

    /// Every name that [`Self::named`] finds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SERVICES
            .iter()
            .flat_map(|service| std::iter::once(service.name).chain(service.other_commands()))
    }

    /// Whether one of its host names has no region.
    #[must_use]
    pub fn is_global(self) -> bool {
        self.0.is_global
    }

    /// The name in scenarios and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.0.name
    }
}

impl<'de> Deserialize<'de> for AwsService {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| de::Error::custom(UnknownAwsService(name)))
    }
}

impl From<AwsService> for &'static str {
    fn from(service: AwsService) -> Self {
        service.0.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::service::Service;

    #[test]
    fn every_line_of_the_data_file_is_read() {
        let lines = DATA.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((SERVICES.len(), BY_NAME.len()), (lines, lines));
        assert!(lines > 300);
    }

    #[test]
    fn services_are_found_by_host_and_by_command() {
        let found = |name: &str| AwsService::named(name).map(AwsService::word);
        assert_eq!(found("kms"), Some("kms"));
        assert_eq!(found("elbv2"), Some("elasticloadbalancing"));
        assert_eq!(found("nonsense"), None);
        assert_eq!(found("-"), None);
    }

    #[test]
    fn no_service_is_emulated_and_not_emulated() {
        for service in Service::ALL {
            assert_eq!(AwsService::named(service.word()), None, "{service:?}");
        }
    }
}
