//! Filters of EC2's Describe actions: names a kind of resource knows, values with wildcards.

use crate::exchange::{Parameters, ServiceError};

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

/// Wildcards: `*` for any text, `?` for one character, a backslash before a literal one.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // Where the last `*` stood and how much of the text it has swallowed: enough to go back to, and linear in memory.
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some('\\') if pattern.get(p + 1) == Some(&text[t]) => (p, t) = (p + 2, t + 1),
            Some('?') => (p, t) = (p + 1, t + 1),
            Some(c) if *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((at, swallowed)) = star else { return false };
                star = Some((at, swallowed + 1));
                (p, t) = (at + 1, swallowed + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        let table = [
            ("ip-10-0-0-1.ec2.internal", "ip-10-0-0-1.ec2.internal", true),
            ("ip-*", "ip-10-0-0-1", true),
            ("*.internal", "ip-10.internal", true),
            ("i?-1", "ip-1", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

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
