//! Filters of EC2's Describe actions: names a kind of resource knows, values with wildcards.

use crate::exchange::{Parameters, ServiceError};
use crate::wildcard::matches;

/// One filter: a name and the values of which one must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Name, such as `private-dns-name` or `tag:Name`.
    pub name: String,
    /// Values; `*` and `?` are wildcards.
    pub values: Vec<String>,
}

/// The filters of a request: `Filter.1.Name`, `Filter.1.Value.1`.
#[must_use]
pub fn read(parameters: &Parameters) -> Vec<Filter> {
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

fn filter(parameters: &Parameters, number: u32) -> Filter {
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

/// Whether a resource passes every filter. `values_of` tells the resource's values of a filter's name, `None` for a name that
/// this kind of resource does not know.
///
/// # Errors
/// EC2's own, for a name that is not known.
pub fn pass(
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
    fn filters_are_read_and_unknown_ones_refused() {
        let query = [
            ("Filter.1.Name", "a"),
            ("Filter.1.Value.1", "x"),
            ("Filter.1.Value.2", "y"),
            ("Filter.2.Name", "b"),
        ];
        let parameters = Parameters(
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
