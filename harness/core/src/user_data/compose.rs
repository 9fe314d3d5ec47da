//! User data as EC2 hands it out: filled in, composed of MIME parts, compressed, and held to EC2's limit.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};

use super::fill::{UnknownTemplate, Values, fill};
use crate::plan::UserDataPlan;

/// EC2's limit for user data, before it is encoded: 16 KiB.
pub const LIMIT: usize = 16 * 1024;

/// User data that cannot be handed out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// A value that there is not.
    #[error(transparent)]
    Template(#[from] UnknownTemplate),
    /// More than EC2 takes.
    #[error(
        "the user data has {size} bytes, and EC2 refuses more than {LIMIT} (`User data is limited to 16384 bytes`)"
    )]
    TooLarge {
        /// Its size.
        size: usize,
    },
    /// The plan's own bytes are damaged.
    #[error("the plan's user data is not base64: {0}")]
    Encoding(String),
}

impl UserDataError {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Template(unknown) => unknown.hint(),
            Self::TooLarge { .. } => {
                "compress it with `gzip: true`, or let a short script fetch the rest".to_owned()
            }
            Self::Encoding(_) => "make the plan anew from its scenario".to_owned(),
        }
    }
}

/// The bytes that the metadata service hands out: the plan's, filled in, and compressed where the plan says so.
///
/// # Errors
/// Where a value is unknown, or EC2 would refuse the result for its size.
pub fn render(plan: &UserDataPlan, values: &Values) -> Result<Vec<u8>, UserDataError> {
    let bytes = STANDARD
        .decode(&plan.base64)
        .map_err(|error| UserDataError::Encoding(error.to_string()))?;
    let filled = fill(&bytes, values)?;
    let bytes = if plan.gzip { gzip(&filled) } else { filled };
    if bytes.len() > LIMIT {
        return Err(UserDataError::TooLarge { size: bytes.len() });
    }
    Ok(bytes)
}

/// One part of a MIME message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MimePart {
    /// MIME type, such as `text/x-shellscript`.
    pub mime: String,
    /// File name, where the header gives one.
    pub filename: Option<String>,
    /// The part itself.
    pub content: Vec<u8>,
}

/// A MIME message of these parts, in the form that EKS' own user data has.
#[must_use]
pub fn message(parts: &[MimePart]) -> Vec<u8> {
    let boundary = free_boundary(parts);
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

/// `//`, as EKS uses it, or a longer one where a line of a part begins like it.
fn free_boundary(parts: &[MimePart]) -> String {
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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // No time and no name, so that the same scenario always gives the same bytes.
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}

/// Whether user data names a certificate of the identity document: those take a moment to make, and hardly anybody wants them.
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
        }
    }

    fn values() -> Values {
        Values::of(&crate::plan::tests::plan(), "PEM")
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
    fn the_limit_is_that_of_ec2() {
        assert!(render(&plan(&"x".repeat(LIMIT), false), &values()).is_ok());
        let error = render(&plan(&"x".repeat(LIMIT + 1), false), &values()).unwrap_err();
        assert_eq!(error, UserDataError::TooLarge { size: LIMIT + 1 });
        assert!(render(&plan(&"x".repeat(LIMIT + 1), true), &values()).is_ok());
    }

    #[test]
    fn a_boundary_never_stands_in_a_part() {
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
