//! The images on an engine. What builds, finds or removes some of them adds its functions to [`Images`].

use nodejoin_core::kubernetes::VersionRequest;

use crate::engine::Engine;
use crate::images::builder::Builder;
use crate::images::progress::ImageProgress;
use crate::settings::ImageSettings;

/// Builds, finds, lists and removes images.
#[derive(Clone)]
pub struct Images {
    pub(super) builder: Builder,
}

impl Images {
    /// Images on an engine. Nothing is built yet.
    #[must_use]
    pub fn new(engine: Engine, settings: ImageSettings, progress: ImageProgress) -> Self {
        Self {
            builder: Builder {
                engine,
                settings,
                progress,
            },
        }
    }

    /// Uses another version of Kubernetes; `None` is the newest version that is available offline.
    #[must_use]
    pub fn with_kubernetes(&self, version: Option<&VersionRequest>) -> Self {
        let mut other = self.clone();
        other.builder.settings.kubernetes = version.map(ToString::to_string);
        other
    }
}
