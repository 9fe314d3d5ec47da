//! The architectures of EKS nodes and their names in each ecosystem.

use std::fmt;
use std::str::FromStr;

use strum::EnumCount;

/// A processor architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumCount)]
pub enum Architecture {
    /// 64-bit Intel and AMD.
    X86_64,
    /// 64-bit ARM, such as AWS Graviton.
    Aarch64,
}

impl Architecture {
    pub const ALL: [Self; Self::COUNT] = [Self::X86_64, Self::Aarch64];

    /// The name in `uname -m`, in `docker info` and in Rust.
    #[must_use]
    pub const fn kernel(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The name in Go: releases of Kubernetes, of kind and of the authenticator, and image manifests.
    #[must_use]
    pub const fn go(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The name in `dpkg --print-architecture`.
    #[must_use]
    pub const fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The name in EC2.
    #[must_use]
    pub const fn aws(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "arm64",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel())
    }
}

/// An unsupported architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported architecture `{name}`: expected x86_64 (amd64) or aarch64 (arm64)")]
pub struct UnknownArchitecture {
    pub name: String,
}

impl FromStr for Architecture {
    type Err = UnknownArchitecture;

    fn from_str(name: &str) -> Result<Self, UnknownArchitecture> {
        let names = |it: &Self| [it.kernel(), it.go(), it.debian(), it.aws()].contains(&name);
        Self::ALL
            .into_iter()
            .find(names)
            .ok_or_else(|| UnknownArchitecture {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ecosystem_has_its_name() {
        for (architecture, kernel, go, debian, aws) in [
            (Architecture::X86_64, "x86_64", "amd64", "amd64", "x86_64"),
            (Architecture::Aarch64, "aarch64", "arm64", "arm64", "arm64"),
        ] {
            let names = [
                architecture.kernel(),
                architecture.go(),
                architecture.debian(),
                architecture.aws(),
            ];
            assert_eq!(names, [kernel, go, debian, aws]);
            for name in names {
                assert_eq!(name.parse(), Ok(architecture), "{name}");
            }
        }
    }

    #[test]
    fn other_architectures_are_rejected() {
        for name in ["riscv64", "armv7l", "s390x", "AMD64", ""] {
            let refused = name.parse::<Architecture>().unwrap_err();
            assert!(refused.to_string().contains(&format!("`{name}`")), "{refused}");
        }
    }
}
