//! Filters of EC2's Describe actions: names that depend on the resource type, values with wildcards.

use crate::http::{QueryParameters, ServiceError};
use nodejoin_core::vocabulary::wildcard::matches;

/// A filter. A resource passes if one of the values matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filter {
    /// Name, such as `private-dns-name` or `tag:Name`.
    pub name: String,
    /// Values; `*` and `?` are wildcards.
    pub values: Vec<String>,
}

/// The filters of a request: `Filter.1.Name`, `Filter.1.Value.1`.
#[must_use]
pub(super) fn read(parameters: &QueryParameters) -> Vec<Filter> {
    let mut numbers: Vec<u32> = parameters
        .0
        .iter()
        .filter_map(|(key, _)| key.strip_prefix("Filter.")?.strip_suffix(".Name")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
        .into_iter()
        .map(|number| filter(parameters, number))
        .collect()
}

fn filter(parameters: &QueryParameters, number: u32) -> Filter {
    let name = parameters
        .get(&format!("Filter.{number}.Name"))
        .unwrap_or_default()
        .to_owned();
    let values = parameters
        .list(&format!("Filter.{number}.Value"))
        .into_iter()
        .map(ToOwned::to_owned)
        .collect();
    Filter { name, values }
}

/// Whether a resource passes every filter. `values_of` returns the resource's values for a filter's name; `None` for a
/// name that its resource type does not have.
///
/// # Errors
/// A filter's name is invalid.
pub(super) fn pass(
    filters: &[Filter],
    values_of: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<bool, ServiceError> {
    let mut all = true;
    for filter in filters {
        let values = values_of(&filter.name).ok_or_else(|| {
            ServiceError::new(
                400,
                "InvalidParameterValue",
                format!("The filter '{}' is invalid", filter.name),
            )
        })?;
        all &= values
            .iter()
            .any(|value| filter.values.iter().any(|pattern| matches(pattern, value)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_parsed_and_unknown_names_rejected() {
        let query = [
            ("Filter.1.Name", "a"),
            ("Filter.1.Value.1", "x"),
            ("Filter.1.Value.2", "y"),
            ("Filter.2.Name", "b"),
        ];
        let parameters = QueryParameters(
            query
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        );
        let filters = read(&parameters);
        assert_eq!(filters[0].values, ["x", "y"]);
        assert_eq!(pass(&filters[..1], |_| Some(vec!["y".into()])), Ok(true));
        assert_eq!(pass(&filters, |_| Some(vec!["y".into()])), Ok(false));
        assert_eq!(
            pass(&filters, |_| None).unwrap_err().message,
            "The filter 'a' is invalid"
        );
    }
}
