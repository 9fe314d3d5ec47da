//! User data as the metadata service returns it: filled in, composed of MIME parts, compressed, and within the size
//! limit of EC2.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fill::{UnknownTemplate, Values, fill};
use super::gzip::gzip;
use super::replace::replace_cluster;
use crate::plan::{Replacement, UserDataPlan};

/// Size limit of EC2 for user data, before encoding: 16 KiB.
pub const LIMIT: usize = 16 * 1024;

/// Invalid user data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// An unknown name.
    #[error(transparent)]
    Template(#[from] UnknownTemplate),
    /// Larger than EC2 allows.
    #[error("the user data has {size} bytes, but EC2 allows {LIMIT} (`User data is limited to 16384 bytes`)")]
    TooLarge { size: usize },
    /// The plan contains invalid base64.
    #[error("invalid base64 in the user data of the plan: {0}")]
    Encoding(String),
}

impl UserDataError {
    /// How to solve it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Template(unknown) => unknown.hint(),
            Self::TooLarge { .. } => {
                "compress it with `gzip: true`, or download the rest in a short script".to_owned()
            }
            Self::Encoding(_) => "create the plan again from its scenario".to_owned(),
        }
    }
}

/// The bytes that the metadata service returns: filled in, and compressed if the plan requires it.
///
/// # Errors
/// A name is unknown, or EC2 would reject the result for its size.
pub fn render(plan: &UserDataPlan, values: &Values) -> Result<Vec<u8>, UserDataError> {
    let bytes = STANDARD
        .decode(&plan.base64)
        .map_err(|error| UserDataError::Encoding(error.to_string()))?;
    let bytes = match plan.replace {
        Some(Replacement::Cluster) => replace_cluster(&bytes, values).bytes,
        None => bytes,
    };
    let filled = fill(&bytes, values)?;
    let bytes = if plan.gzip { gzip(&filled) } else { filled };
    if bytes.len() > LIMIT {
        return Err(UserDataError::TooLarge { size: bytes.len() });
    }
    Ok(bytes)
}

/// A part of a MIME message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MimePart {
    /// MIME type, such as `text/x-shellscript`.
    pub mime: String,
    /// File name in the header.
    pub filename: Option<String>,
    /// Content of the part.
    pub content: Vec<u8>,
}

/// Composes a MIME message in the format that EKS uses.
#[must_use]
pub fn message(parts: &[MimePart]) -> Vec<u8> {
    let boundary = unused_boundary(parts);
    let mut message =
        format!("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"{boundary}\"\n\n").into_bytes();
    for part in parts {
        message.extend_from_slice(
            format!(
                "--{boundary}\nContent-Type: {}; charset=\"us-ascii\"\n",
                part.mime
            )
            .as_bytes(),
        );
        if let Some(name) = &part.filename {
            message.extend_from_slice(
                format!("Content-Disposition: attachment; filename=\"{name}\"\n").as_bytes(),
            );
        }
        message.push(b'\n');
        message.extend_from_slice(&part.content);
        message.push(b'\n');
    }
    message.extend_from_slice(format!("--{boundary}--\n").as_bytes());
    message
}

/// `//` as in EKS, or a longer boundary if a line of a part starts with it.
fn unused_boundary(parts: &[MimePart]) -> String {
    let mut boundary = "//".to_owned();
    let is_taken = |boundary: &str| {
        let line = format!("--{boundary}");
        parts.iter().any(|part| {
            part.content
                .split(|byte| *byte == b'\n')
                .any(|l| l.starts_with(line.as_bytes()))
        })
    };
    while is_taken(&boundary) {
        boundary.push_str("nodejoin");
    }
    boundary
}

/// Whether user data names a certificate of the identity document. These take time to create, and few scenarios need
/// them.
#[must_use]
pub fn names_identity(plan: &UserDataPlan) -> bool {
    let bytes = STANDARD.decode(&plan.base64).unwrap_or_default();
    String::from_utf8_lossy(&bytes).contains("identity.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn plan(text: &str, gzip: bool) -> UserDataPlan {
        UserDataPlan {
            engine: Default::default(),
            base64: STANDARD.encode(text),
            gzip,
            replace: None,
            is_translated: false,
        }
    }

    fn values() -> Values {
        Values::of(&crate::testing::plan(), "PEM")
    }

    #[test]
    fn values_are_filled_in_before_compression() {
        let packed = render(
            &plan("#!/bin/sh\necho {{ cluster.certificate_authority }}", true),
            &values(),
        )
        .unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&packed[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "#!/bin/sh\necho UEVN");
    }

    #[test]
    fn the_size_limit_applies_after_compression() {
        assert!(render(&plan(&"x".repeat(LIMIT), false), &values()).is_ok());
        let error = render(&plan(&"x".repeat(LIMIT + 1), false), &values()).unwrap_err();
        assert_eq!(error, UserDataError::TooLarge { size: LIMIT + 1 });
        assert!(render(&plan(&"x".repeat(LIMIT + 1), true), &values()).is_ok());
    }

    #[test]
    fn a_boundary_does_not_occur_in_a_part() {
        let part = |text: &str| MimePart {
            mime: "text/plain".into(),
            filename: None,
            content: text.into(),
        };
        assert!(
            String::from_utf8(message(&[part("a")]))
                .unwrap()
                .contains("boundary=\"//\"")
        );
        assert!(
            String::from_utf8(message(&[part("x\n--//\ny")]))
                .unwrap()
                .contains("boundary=\"//nodejoin\"")
        );
    }
    #[test]
    fn every_error_has_a_text_and_a_hint() {
        let unknown = |nearest: Option<&str>| {
            UserDataError::Template(UnknownTemplate {
                name: "cluster.nmae".to_owned(),
                line: 3,
                nearest: nearest.map(str::to_owned),
            })
        };
        let errors = [
            unknown(Some("cluster.name")),
            unknown(None),
            UserDataError::TooLarge { size: LIMIT + 1 },
            UserDataError::Encoding("invalid padding".to_owned()),
        ];
        let reports = errors.map(|error| ("", format!("{error}\n  hint: {}", error.hint())));
        insta::assert_snapshot!(crate::testing::listing(reports));
    }
}
