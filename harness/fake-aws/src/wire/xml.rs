//! A writer of the XML in AWS' query protocols: elements, text and lists.

use std::fmt::{self, Display, Write};

/// An XML document under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Xml(String);

impl Xml {
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text without an element: the content of an `item` in a list of strings.
    #[must_use]
    pub(crate) fn bare(mut self, value: impl Display) -> Self {
        // Writing to a String cannot fail.
        let _ = write!(Escaped(&mut self.0), "{value}");
        self
    }

    /// Adds an element with text.
    #[must_use]
    pub(crate) fn text(self, name: &str, value: impl Display) -> Self {
        self.element(name, |element| element.bare(value))
    }

    /// Adds an element with children.
    #[must_use]
    pub(crate) fn element(self, name: &str, children: impl FnOnce(Self) -> Self) -> Self {
        children(self.tag("<", name)).tag("</", name)
    }

    fn tag(mut self, begin: &str, name: &str) -> Self {
        for part in [begin, name, ">"] {
            self.0.push_str(part);
        }
        self
    }

    /// Adds the elements of another document.
    #[must_use]
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    /// Adds a list in EC2's form: one `item` per entry.
    #[must_use]
    pub(crate) fn items<T>(
        self,
        name: &str,
        entries: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        self.list(name, "item", entries, write)
    }

    /// Adds a list in the query protocol's form: one `member` per entry.
    #[must_use]
    pub(crate) fn members<T>(
        self,
        name: &str,
        entries: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        self.list(name, "member", entries, write)
    }

    fn list<T>(
        self,
        name: &str,
        each: &str,
        entries: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        self.element(name, |list| {
            entries.into_iter().fold(list, |list, entry| {
                list.element(each, |element| write(element, entry))
            })
        })
    }

    /// The document with its declaration, its root element and the root's namespace.
    #[must_use]
    pub(crate) fn document(self, root: &str, namespace: Option<&str>) -> String {
        let namespace = namespace
            .map(|uri| format!(" xmlns=\"{uri}\""))
            .unwrap_or_default();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root}{namespace}>{}</{root}>",
            self.0
        )
    }
}

/// Escapes text.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.contains(is_special) {
            self.0.push_str(text);
            return Ok(());
        }
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                // XML 1.0 excludes other control characters, even escaped ones.
                c if is_special(c) => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '&' | '<' | '>' | '"') || c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_nested_and_text_is_escaped() {
        let xml = Xml::new()
            .text("name", "a<b&\u{1}")
            .items("set", [1, 2], |item, n| item.text("n", n))
            .element("e", |e| e);
        assert_eq!(
            xml.document("Root", Some("urn:x")),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Root xmlns=\"urn:x\"><name>a&lt;b&amp;\u{fffd}</name>\
             <set><item><n>1</n></item><item><n>2</n></item></set><e></e></Root>"
        );
    }
}
