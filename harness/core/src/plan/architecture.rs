//! The two processors that EKS nodes have, by every name that somebody gives them.

use std::fmt;
use std::str::FromStr;

/// A processor's architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// 64-bit Intel and AMD.
    X86_64,
    /// 64-bit ARM, such as AWS Graviton.
    Aarch64,
}

impl Architecture {
    /// Both.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// As `uname -m`, Docker's own facts and Rust name it.
    #[must_use]
    pub const fn kernel(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Go names it: releases of Kubernetes, of kind and of the authenticator, and the manifests of images.
    #[must_use]
    pub const fn go(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// As `dpkg --print-architecture` names it.
    #[must_use]
    pub const fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// As EC2 names it.
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

/// A name of no processor that is known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the architecture `{name}` is neither x86_64 (amd64) nor aarch64 (arm64)")]
pub struct UnknownArchitecture {
    /// The name.
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
    fn everybody_has_a_name_of_his_own() {
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
    fn another_one_is_refused_by_its_name() {
        for name in ["riscv64", "armv7l", "s390x", "AMD64", ""] {
            let refused = name.parse::<Architecture>().unwrap_err();
            assert!(refused.to_string().contains(&format!("`{name}`")), "{refused}");
        }
    }
}
