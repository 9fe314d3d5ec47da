//! What nodeadm and the kubelet reject of all NodeConfigs of user data together.

use super::NodeConfigs;
use super::merged_config::MergedCluster;
use crate::source_lines::SourceLines;

/// How a message begins if nodeadm does not read a NodeConfig.
const REJECTED: &str = "nodeadm rejects";

impl NodeConfigs {
    /// A sentence for each mistake. `text` is that of all parts; `are_alone`: nodeadm gets them from the user data, and
    /// no others.
    pub(in crate::adopt) fn mistakes_together(
        &self,
        text: &str,
        are_alone: bool,
        lines: &SourceLines<'_>,
    ) -> Vec<String> {
        if self.ignored.iter().any(|note| note.starts_with(REJECTED)) {
            return Vec::new();
        }
        let cluster = MergedCluster {
            values: self.cluster_values(),
            text,
            lines,
        };
        let missing = are_alone.then(|| self.merged.missing_fields(&cluster)).flatten();
        let mistakes = self.merged.mistakes(&cluster, &self.kubelet_words);
        missing.into_iter().chain(mistakes).collect()
    }

    /// The strategy for the disks of the instance store.
    pub(in crate::adopt) fn local_storage(&self) -> Option<&str> {
        self.merged.local_storage.as_deref()
    }
}
