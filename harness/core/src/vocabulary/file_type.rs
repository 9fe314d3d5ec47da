//! Types of paths in a file system.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of a path, without following links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileType {
    /// A regular file.
    #[default]
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A Unix socket.
    Socket,
    /// A named pipe.
    Pipe,
    /// A block or character device.
    Device,
}

impl FileType {
    /// The name in scenarios and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Socket => "socket",
            Self::Pipe => "pipe",
            Self::Device => "device",
        }
    }

    /// Parses the output of `stat --format %F`.
    #[must_use]
    pub fn of_stat(text: &str) -> Option<Self> {
        match text {
            "directory" => Some(Self::Folder),
            "symbolic link" => Some(Self::Link),
            "socket" => Some(Self::Socket),
            "fifo" => Some(Self::Pipe),
            _ if text.starts_with("regular") => Some(Self::File),
            _ if text.ends_with("special file") => Some(Self::Device),
            _ => None,
        }
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_stat_are_types() {
        for (text, file_type) in [
            ("regular file", FileType::File),
            ("regular empty file", FileType::File),
            ("directory", FileType::Folder),
            ("symbolic link", FileType::Link),
            ("socket", FileType::Socket),
            ("fifo", FileType::Pipe),
            ("character special file", FileType::Device),
        ] {
            assert_eq!(FileType::of_stat(text), Some(file_type), "{text}");
        }
        assert_eq!(FileType::of_stat("weird file"), None);
    }
}
