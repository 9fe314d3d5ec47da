//! The texts of this folder's errors and hints.

use std::fmt::Write as _;

use super::*;
use crate::plan::OverlayRange;
use crate::run::matrix::{Matrix, not_for_kubelet, not_for_kubernetes, not_for_request};
use crate::testing::plan;

#[test]
fn errors_and_hints() {
    let mut text = String::new();
    for (kubernetes, kubelet) in [
        ("latest", ""),
        ("1.20", "1.32"),
        ("1.36", "1.20"),
        ("1.24", "1.20"),
    ] {
        let error = Matrix::read(kubernetes, kubelet).unwrap_err();
        let _ = writeln!(
            text,
            "--kubernetes {kubernetes} --kubelet `{kubelet}`: {error}\n  hint: {}",
            error.hint()
        );
    }
    let range = |text: &str| text.parse().unwrap();
    let mut newer = plan();
    newer.kubernetes = Some(range(">=1.24"));
    newer.overlay_ranges.push(OverlayRange {
        manifest: "overlays/nodeadm/overlay.yaml".to_owned(),
        kubelet: range(">=1.28"),
    });
    for reason in [
        not_for_kubernetes(&newer, "v1.20.2"),
        not_for_kubelet(&newer, "v1.20.2"),
    ] {
        let _ = writeln!(text, "skipped: {}", reason.unwrap());
    }
    let mut unset = plan();
    unset.unset = vec!["NODEADM".to_owned()];
    let mut old = plan();
    old.kubelet = Some(range("<1.24"));
    old.requested.kubernetes = Some("1.32".parse().unwrap());
    for plan in [unset, old] {
        let _ = writeln!(text, "skipped: {}", not_for_request(&plan).unwrap());
    }
    for row in differences() {
        let _ = writeln!(
            text,
            "{:?} {}: {} ({})",
            row.what,
            row.name,
            row.range(),
            row.source
        );
    }
    insta::assert_snapshot!(text);
}
