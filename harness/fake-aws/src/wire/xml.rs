//! A small writer of XML: elements, text and lists, which is all that AWS' query protocols have.

/// XML that is being written.
#[derive(Debug, Clone, Default)]
pub struct Xml(String);

impl Xml {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bare text: the content of an `item` in a list of strings.
    #[must_use]
    pub fn of_text(value: &str) -> Self {
        Self(escape(value))
    }

    /// Adds an element with text.
    #[must_use]
    pub fn text(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.0
            .push_str(&format!("<{name}>{}</{name}>", escape(&value.to_string())));
        self
    }

    /// Adds an element with children.
    #[must_use]
    pub fn element(mut self, name: &str, children: impl FnOnce(Self) -> Self) -> Self {
        let inner = children(Self::new());
        self.0.push_str(&format!("<{name}>{}</{name}>", inner.0));
        self
    }

    /// Adds EC2's kind of list: one `item` an entry.
    #[must_use]
    pub fn items<T>(
        self,
        name: &str,
        entries: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        self.list(name, "item", entries, write)
    }

    /// Adds the query protocol's kind of list: one `member` an entry.
    #[must_use]
    pub fn members<T>(
        self,
        name: &str,
        entries: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        self.list(name, "member", entries, write)
    }

    fn list<T>(
        mut self,
        name: &str,
        each: &str,
        entries: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        let inner: String = entries
            .into_iter()
            .map(|entry| format!("<{each}>{}</{each}>", write(Self::new(), entry).0))
            .collect();
        self.0.push_str(&format!("<{name}>{inner}</{name}>"));
        self
    }

    /// The document with its declaration, its root element and the root's namespace.
    #[must_use]
    pub fn document(self, root: &str, namespace: Option<&str>) -> String {
        let namespace = namespace
            .map(|uri| format!(" xmlns=\"{uri}\""))
            .unwrap_or_default();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root}{namespace}>{}</{root}>",
            self.0
        )
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML 1.0 has no other control characters, not even escaped ones: a name may hold what it likes.
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
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
