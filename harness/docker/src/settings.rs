//! Sources of images and programs, resolved once from the environment.

use std::path::PathBuf;
use std::time::Duration;

use nodejoin_core::run::env;

/// Sources of images and programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    /// Folder with the programs of Kubernetes.
    pub assets: Option<Assets>,
    /// The requested version, such as `1.29` or `v1.29.4`. Default: the newest version that is available offline.
    pub kubernetes: Option<String>,
    /// Base URL of official releases, without a trailing slash.
    pub release_url: String,
    /// Folder for downloads, build logs and locks.
    pub cache: PathBuf,
    /// Base image of all other images.
    pub base: String,
    /// Image of k3s, used for every requested version.
    pub k3s_image: Option<String>,
    /// Node image for kind, used instead of a published or built one.
    pub kind_image: Option<String>,
    /// Debian mirror for the base image if no registry provides it.
    pub debian_mirror: String,
    /// Timeout for the first response of a registry.
    pub registry_timeout: Duration,
    /// Timeout for the connection to the release server; its response may take twice as long.
    pub connect_timeout: Duration,
    /// Proxies for builds and downloads, each with the name of its variable.
    pub proxies: Vec<(String, String)>,
}

/// A folder with the programs of Kubernetes, or with one such folder for each version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assets {
    /// Path of the folder.
    pub folder: PathBuf,
    /// The variable or flag with this path, for messages.
    pub named_by: String,
}

impl Assets {
    /// The folders with programs: this folder if it contains a kubelet, else its subfolders that do. The version of a
    /// folder is reported by its kubelet, not by its name.
    pub(crate) fn versions(&self) -> Vec<Self> {
        let has_kubelet = |folder: &PathBuf| folder.join("kubelet").is_file();
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut folders: Vec<_> = entries.map(|entry| entry.path()).filter(has_kubelet).collect();
        folders.sort();
        if has_kubelet(&self.folder) || folders.is_empty() {
            return vec![self.clone()];
        }
        let named_by = &self.named_by;
        folders
            .into_iter()
            .map(|folder| Self {
                folder,
                named_by: named_by.clone(),
            })
            .collect()
    }
}

/// The first version of a list: images are built for one version at a time.
fn first(versions: String) -> String {
    versions.split(',').next().unwrap_or_default().trim().to_owned()
}

impl ImageSettings {
    /// The default base image.
    pub const BASE: &str = "debian:bookworm-slim";
    /// Base URL of the releases of the Kubernetes project.
    pub const RELEASE_URL: &str = "https://dl.k8s.io";
    /// Debian's default mirror.
    pub const DEBIAN_MIRROR: &str = "http://deb.debian.org/debian";

    /// Default settings with this cache folder.
    #[must_use]
    pub fn with_cache(cache: impl Into<PathBuf>) -> Self {
        Self {
            assets: None,
            kubernetes: None,
            release_url: Self::RELEASE_URL.to_owned(),
            cache: cache.into(),
            base: Self::BASE.to_owned(),
            k3s_image: None,
            kind_image: None,
            debian_mirror: Self::DEBIAN_MIRROR.to_owned(),
            registry_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            proxies: Vec::new(),
        }
    }

    /// Settings from an environment: `lookup` maps the name of a variable to its value.
    #[must_use]
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let text = |name: &str, default: &str| set(name).unwrap_or_else(|| default.to_owned());
        let assets = [env::ASSETS.name, env::KUBEBUILDER_ASSETS.name]
            .iter()
            .find_map(|name| {
                Some(Assets {
                    folder: set(name)?.into(),
                    named_by: (*name).to_owned(),
                })
            });
        let release_url = text(env::RELEASE_URL.name, Self::RELEASE_URL);
        Self {
            assets,
            kubernetes: set(env::KUBERNETES.name).map(first),
            release_url: release_url.trim_end_matches('/').to_owned(),
            base: text(env::BASE.name, Self::BASE),
            k3s_image: set(env::K3S_IMAGE.name),
            kind_image: set(env::KIND_IMAGE.name),
            debian_mirror: text(env::DEBIAN_MIRROR.name, Self::DEBIAN_MIRROR),
            proxies: env::PROXIES
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), set(name)?)))
                .collect(),
            ..Self::with_cache(cache_folder(set))
        }
    }
}

fn cache_folder(set: impl Fn(&str) -> Option<String>) -> PathBuf {
    if let Some(folder) = set(env::CACHE.name) {
        return folder.into();
    }
    if let Some(folder) = set(env::XDG_CACHE_HOME.name) {
        return PathBuf::from(folder).join("nodejoin");
    }
    // A user without a home is usually in a container, where the temporary folder lives as long as everything else.
    set(env::HOME.name).map_or_else(
        || std::env::temp_dir().join("nodejoin-cache"),
        |home| PathBuf::from(home).join(".cache/nodejoin"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> ImageSettings {
        let found = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        ImageSettings::from_lookup(found)
    }

    #[test]
    fn the_cache_folder_follows_the_precedence_of_its_variables() {
        let home = ("HOME", "/home/u");
        assert_eq!(settings(&[home]).cache, PathBuf::from("/home/u/.cache/nodejoin"));
        assert_eq!(
            settings(&[home, ("XDG_CACHE_HOME", "/c")]).cache,
            PathBuf::from("/c/nodejoin")
        );
        assert_eq!(
            settings(&[home, ("XDG_CACHE_HOME", "/c"), ("NODEJOIN_CACHE", "/n")]).cache,
            PathBuf::from("/n")
        );
    }

    #[test]
    fn nodejoin_assets_takes_precedence_and_an_empty_variable_is_ignored() {
        let both = settings(&[("NODEJOIN_ASSETS", "/a"), ("KUBEBUILDER_ASSETS", "/k")]);
        assert_eq!(both.assets.unwrap().folder, PathBuf::from("/a"));
        let other = settings(&[("NODEJOIN_ASSETS", ""), ("KUBEBUILDER_ASSETS", "/k")]);
        assert_eq!(other.assets.unwrap().named_by, "KUBEBUILDER_ASSETS");
    }

    #[test]
    fn an_assets_folder_holds_one_version_or_one_per_subfolder() {
        let folder = tempfile::tempdir().unwrap();
        let assets = Assets {
            folder: folder.path().to_owned(),
            named_by: "NODEJOIN_ASSETS".to_owned(),
        };
        let names = || {
            let versions = assets.versions().into_iter();
            versions.map(|it| it.folder).collect::<Vec<_>>()
        };
        assert_eq!(
            names(),
            [folder.path()],
            "a folder without a kubelet is reported itself"
        );
        for version in ["v1.36", "1.20", "notes"] {
            std::fs::create_dir(folder.path().join(version)).unwrap();
        }
        for version in ["v1.36", "1.20"] {
            std::fs::write(folder.path().join(version).join("kubelet"), "").unwrap();
        }
        assert_eq!(names(), [folder.path().join("1.20"), folder.path().join("v1.36")]);
        std::fs::write(folder.path().join("kubelet"), "").unwrap();
        assert_eq!(names(), [folder.path()]);
    }

    #[test]
    fn images_are_built_for_the_first_of_several_versions() {
        let first = settings(&[("NODEJOIN_KUBERNETES", "1.32, 1.20")]).kubernetes;
        assert_eq!(first.as_deref(), Some("1.32"));
    }

    #[test]
    fn a_trailing_slash_of_the_release_url_is_ignored() {
        assert_eq!(
            settings(&[("NODEJOIN_RELEASE_URL", "http://mirror/k8s/")]).release_url,
            "http://mirror/k8s"
        );
    }
}
