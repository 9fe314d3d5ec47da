//! What tests of several modules share.

/// Inputs and the report of each, as the text of a snapshot.
pub(crate) fn listing<'a>(reports: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let sections = reports
        .into_iter()
        .map(|(input, report)| format!("{input}\n=> {}\n", report.trim_end()));
    sections.collect::<Vec<_>>().join("\n")
}
