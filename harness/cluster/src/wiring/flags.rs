//! Flags of programs as data. The table of Kubernetes differences has the versions that know each flag.

use nodejoin_core::kubernetes::{DifferenceKind, Minor, is_known};

/// A program with flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    ApiServer,
    ControllerManager,
    K3s,
    /// Independent of the version of Kubernetes.
    Etcd,
}

impl Program {
    /// The section of its flags in the table of differences.
    fn flags(self) -> Option<DifferenceKind> {
        match self {
            Self::ApiServer => Some(DifferenceKind::ApiServerFlag),
            Self::ControllerManager => Some(DifferenceKind::ControllerManagerFlag),
            Self::K3s => Some(DifferenceKind::K3sFlag),
            Self::Etcd => None,
        }
    }

    /// Whether its release of this minor version knows a flag. The flag may have a value.
    pub(crate) fn knows(self, flag: &str, minor: Minor) -> bool {
        let name = flag.split('=').next().unwrap_or(flag);
        self.flags().is_none_or(|what| is_known(what, name, minor))
    }

    /// The flags that its release of this minor version knows, one per line.
    pub(crate) fn lines(self, flags: &[&str], minor: Minor) -> String {
        let known = flags.iter().filter(|flag| self.knows(flag, minor));
        known.map(|flag| format!("{flag}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_the_version() {
        let flags = ["--secure-port=0", "--port=0"];
        let of = |minor| Program::ControllerManager.lines(&flags, Minor::new(minor));
        assert_eq!(of(23), "--secure-port=0\n--port=0\n");
        assert_eq!(of(24), "--secure-port=0\n");
        assert!(Program::Etcd.knows("--port=0", Minor::new(36)));
    }
}
