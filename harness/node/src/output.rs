//! What the container of a node prints.

use std::time::SystemTime;

use nodejoin_core::observation::JournalLine;

use crate::journal::journal_line;
use crate::refusals::RefusedTotal;

/// A line of the container's output that means something.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeOutput {
    Journal(SystemTime, JournalLine),
    Refused(RefusedTotal),
}

impl NodeOutput {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let journal = || journal_line(line).map(|(at, line)| Self::Journal(at, line));
        let refused = || RefusedTotal::parse(line).map(Self::Refused);
        refused().or_else(journal)
    }

    /// Whether the line belongs to a boot that started at `since`.
    pub(crate) fn is_since(&self, since: SystemTime) -> bool {
        match self {
            Self::Journal(at, _) => *at >= since,
            // The totals count from the first boot.
            Self::Refused(_) => true,
        }
    }
}
