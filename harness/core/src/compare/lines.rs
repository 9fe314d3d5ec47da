//! The differing lines of two texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line that only one version leaves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangedLine {
    /// Only the old version leaves it.
    Old(String),
    /// Only the new version leaves it.
    New(String),
}

/// All lines of both texts by their longest common subsequence: `-` for the first text, `+` for the second, a space for
/// both.
#[must_use]
pub(crate) fn edits<'t>(expected: &[&'t str], actual: &[&'t str]) -> Vec<(char, &'t str)> {
    let width = actual.len() + 1;
    let mut common = vec![0_u32; (expected.len() + 1) * width];
    for (row, left) in expected.iter().enumerate().rev() {
        for (column, right) in actual.iter().enumerate().rev() {
            common[row * width + column] = if left == right {
                common[(row + 1) * width + column + 1] + 1
            } else {
                common[(row + 1) * width + column].max(common[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < expected.len() || column < actual.len() {
        let is_same = row < expected.len() && column < actual.len() && expected[row] == actual[column];
        let is_gone = column == actual.len()
            || (row < expected.len()
                && common[(row + 1) * width + column] >= common[row * width + column + 1]);
        if is_same {
            lines.push((' ', expected[row]));
            (row, column) = (row + 1, column + 1);
        } else if is_gone {
            lines.push(('-', expected[row]));
            row += 1;
        } else {
            lines.push(('+', actual[column]));
            column += 1;
        }
    }
    lines
}
