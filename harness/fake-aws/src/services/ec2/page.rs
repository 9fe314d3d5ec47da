//! Pages of EC2's Describe actions: `MaxResults` and `NextToken`.

use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::http::{QueryParameters, ServiceError};
use crate::wire::xml::Xml;

/// A page of described resources.
pub(super) type Described = Result<Xml, ServiceError>;

/// Writes the requested page under this name, and the token of the next page if there is one.
///
/// # Errors
/// The page size or the token is invalid.
pub(super) fn write<T>(
    body: Xml,
    name: &str,
    found: Vec<T>,
    parameters: &QueryParameters,
    sizes: RangeInclusive<usize>,
    write: impl Fn(Xml, T) -> Xml,
) -> Described {
    let start = start(parameters)?;
    let size = size(parameters, sizes)?;
    let next = start.saturating_add(size);
    let has_more = next < found.len();
    let body = body.items(name, found.into_iter().skip(start).take(size), write);
    Ok(if has_more {
        body.text("nextToken", BASE64_STANDARD.encode(format!("nodejoin:{next}")))
    } else {
        body
    })
}

/// The page size; default: the largest.
fn size(parameters: &QueryParameters, sizes: RangeInclusive<usize>) -> Result<usize, ServiceError> {
    let Some(text) = parameters.get("MaxResults") else {
        return Ok(*sizes.end());
    };
    text.parse()
        .ok()
        .filter(|size| sizes.contains(size))
        .ok_or_else(|| {
            let (min, max) = (sizes.start(), sizes.end());
            let expected = format!("Expecting a value between {min} and {max}.");
            invalid(format!(
                "Value ( {text} ) for parameter maxResults is invalid. {expected}"
            ))
        })
}

fn start(parameters: &QueryParameters) -> Result<usize, ServiceError> {
    let Some(token) = parameters.get("NextToken") else {
        return Ok(0);
    };
    let read = || {
        let text = String::from_utf8(BASE64_STANDARD.decode(token).ok()?).ok()?;
        text.strip_prefix("nodejoin:")?.parse().ok()
    };
    read().ok_or_else(|| invalid("Unable to parse pagination token".to_owned()))
}

fn invalid(message: String) -> ServiceError {
    ServiceError::new(400, "InvalidParameterValue", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &[(&str, &str)]) -> Result<String, ServiceError> {
        let pairs = query
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let parameters = QueryParameters(pairs.collect());
        let numbers = (0..12).collect();
        let body = write(Xml::new(), "set", numbers, &parameters, 5..=10, |item, n: i32| {
            item.text("n", n)
        })?;
        Ok(body.document("r", None))
    }

    #[test]
    fn pages_follow_one_another() {
        let first = page(&[]).unwrap();
        assert_eq!(first.matches("<item>").count(), 10);
        let token = first
            .split("<nextToken>")
            .nth(1)
            .unwrap()
            .split('<')
            .next()
            .unwrap();
        let second = page(&[("NextToken", token)]).unwrap();
        assert!(
            second.contains("<set><item><n>10</n></item><item><n>11</n></item></set></r>"),
            "{second}"
        );
        assert_eq!(page(&[("MaxResults", "5")]).unwrap().matches("<item>").count(), 5);
        for wrong in [("MaxResults", "4"), ("MaxResults", "x"), ("NextToken", "x")] {
            assert_eq!(
                page(&[wrong]).unwrap_err().code,
                "InvalidParameterValue",
                "{wrong:?}"
            );
        }
    }
}
