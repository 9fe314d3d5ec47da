//! Region and account of a stack, as far as a file states them.

use nodejoin_core::plan::region::Region;

use crate::tree::{Tree, TreeValue};

/// Where a stack is. Templates leave it to the pseudo parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StackPlace {
    pub(super) region: Option<String>,
    pub(super) account: Option<String>,
}

impl StackPlace {
    /// The region that commands in the texts of a template name, if all of them name the same.
    pub(super) fn of_texts(document: &Tree) -> Self {
        let mut regions = Vec::new();
        collect_regions(document, &mut regions);
        regions.dedup();
        let region = match &regions[..] {
            [one] => Some(one.to_string()),
            _ => None,
        };
        Self {
            region,
            account: None,
        }
    }

    /// The environment of a stack in the manifest of the CDK, such as `aws://111122223333/eu-west-1`.
    pub(super) fn of_environment(text: &str) -> Self {
        let Some((account, region)) = text.strip_prefix("aws://").and_then(|rest| rest.split_once('/'))
        else {
            return Self::default();
        };
        let is_known = |word: &&str| !word.starts_with("unknown-");
        Self {
            region: Some(region).filter(is_known).map(str::to_owned),
            account: Some(account).filter(is_known).map(str::to_owned),
        }
    }
}

/// The regions behind `--region` in all texts.
fn collect_regions(tree: &Tree, regions: &mut Vec<Region>) {
    match &tree.value {
        TreeValue::Scalar { text, .. } => {
            let words = text.split("--region").skip(1);
            let named = words.filter_map(|rest| {
                let word = rest.trim_start_matches(['=', ' ', '"', '\'']);
                let is_of_region = |c: char| c.is_ascii_alphanumeric() || c == '-';
                let end = word.find(|c| !is_of_region(c)).unwrap_or(word.len());
                word[..end].parse().ok()
            });
            regions.extend(named);
        }
        TreeValue::List(items) => items.iter().for_each(|item| collect_regions(item, regions)),
        TreeValue::Map(entries) => entries
            .iter()
            .for_each(|(_, value)| collect_regions(value, regions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    #[test]
    fn the_one_region_that_commands_name_is_that_of_the_stack() {
        let region = |text: &str| StackPlace::of_texts(&yaml(text).unwrap()[0]).region;
        assert_eq!(
            region("a: ['x --region eu-west-3 y', '--region=\"eu-west-3\"']").as_deref(),
            Some("eu-west-3")
        );
        assert_eq!(region("a: [--region eu-west-3, --region eu-west-1]"), None);
        assert_eq!(region("a: --region $REGION"), None);
    }

    #[test]
    fn an_environment_of_the_cdk_can_be_unknown() {
        let known = StackPlace::of_environment("aws://210987654321/eu-west-3");
        assert_eq!(
            (known.region.as_deref(), known.account.as_deref()),
            (Some("eu-west-3"), Some("210987654321"))
        );
        assert_eq!(
            StackPlace::of_environment("aws://unknown-account/unknown-region"),
            StackPlace::default()
        );
    }
}
