//! Flags of programs as data, with the versions that know them.

/// One flag of a program, and the Kubernetes minor versions (of 1.x) that know it.
pub(crate) struct Flag {
    pub(crate) text: &'static str,
    pub(crate) since: u32,
    pub(crate) until: u32,
}

impl Flag {
    /// Whether this minor version knows it.
    pub(crate) fn fits(&self, minor: u32) -> bool {
        (self.since..=self.until).contains(&minor)
    }
}

/// A flag that every version knows.
pub(crate) const fn flag(text: &'static str) -> Flag {
    Flag {
        text,
        since: 0,
        until: u32::MAX,
    }
}

/// The flags that this minor version knows, one a line.
pub(crate) fn lines(table: &[Flag], minor: u32) -> String {
    let fits = table.iter().filter(|flag| flag.fits(minor));
    fits.map(|flag| format!("{}\n", flag.text)).collect()
}

/// The minor version in `v1.20.2`. An image that says nothing gets the flags of the newest.
pub(crate) fn minor_of(version: &str) -> u32 {
    version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok())
        .unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_version_chooses_the_flags() {
        assert_eq!(minor_of("v1.20.2"), 20);
        assert_eq!(minor_of(""), u32::MAX);
    }

    #[test]
    fn flags_follow_the_version() {
        let table = [
            flag("--always"),
            Flag {
                text: "--old",
                since: 0,
                until: 23,
            },
            Flag {
                text: "--new",
                since: 24,
                until: u32::MAX,
            },
        ];
        assert_eq!(lines(&table, 20), "--always\n--old\n");
        assert_eq!(lines(&table, 30), "--always\n--new\n");
    }
}
