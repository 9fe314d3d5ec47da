//! Suggestions for misspelled words.

/// The candidate that is most similar to a misspelled word.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_a_similar_word_or_none() {
        let keys = ["instance", "image", "cluster", "control_plane"];
        for (word, meant) in [
            ("intsance", Some("instance")),
            ("Cluster", Some("cluster")),
            ("controlPlane", Some("control_plane")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(word, keys), meant, "{word}");
        }
    }
}
