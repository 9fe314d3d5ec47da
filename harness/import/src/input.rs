//! What an import reads.

use std::collections::BTreeMap;
use std::path::Path;

use crate::machine::ClusterTraits;

/// A file of another tool.
#[derive(Debug, Clone, Copy)]
pub struct Import<'a> {
    /// Name in messages: a path, or `-` for standard input.
    pub name: &'a str,
    /// Content of the file; empty if `folder` is set.
    pub bytes: &'a [u8],
    /// A folder that `cdk synth` wrote, usually `cdk.out`.
    pub folder: Option<&'a Path>,
    /// Values of parameters and placeholders (`--set KEY=VALUE`).
    pub set: &'a BTreeMap<String, String>,
    /// What eksctl, Karpenter and Cluster API read from the cluster before they render user data. Values that are
    /// missing here and in the file are those of [`ClusterTraits::stand_in`].
    pub cluster: &'a ClusterTraits,
}
