//! Where images and programs come from, resolved once from the environment.

use std::path::PathBuf;
use std::time::Duration;

use crate::env;

/// Where images and programs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    /// A folder with the programs of Kubernetes, with the variable that named it.
    pub assets: Option<Assets>,
    /// The version that is wanted, such as `1.29` or `v1.29.4`; what can be had without asking where absent.
    pub kubernetes: Option<String>,
    /// Where official releases are downloaded from, without a slash at the end.
    pub release_url: String,
    /// The folder for downloads, build output and locks.
    pub cache: PathBuf,
    /// The image that others start from, where a registry answers or it is there already.
    pub base: String,
    /// The image of k3s that is to be used, whichever version is wanted.
    pub k3s_image: Option<String>,
    /// A node image of kind's that is to be used, whoever made it.
    pub kind_image: Option<String>,
    /// The mirror of Debian that a base image is made from where none can be pulled.
    pub debian_mirror: String,
    /// How long a registry may be silent before it counts as one that does not answer.
    pub registry_limit: Duration,
    /// How long a server of releases may take to answer at all.
    pub connect_limit: Duration,
    /// Proxies that builds go through, by the name of their variable.
    pub proxies: Vec<(String, String)>,
}

/// A folder with the programs of Kubernetes, or with such a folder for each version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assets {
    /// The folder.
    pub folder: PathBuf,
    /// The variable or flag that named it, for messages.
    pub named_by: String,
}

impl Assets {
    /// The folders of programs: this one where it has a kubelet, else those of its folders that have one. Which version each
    /// is, its kubelet says; names of folders are for people.
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

/// Of a list of versions the first: images are made for one at a time.
fn first(versions: String) -> String {
    versions.split(',').next().unwrap_or_default().trim().to_owned()
}

impl ImageSettings {
    /// What every image starts from, unless told otherwise.
    pub const BASE: &str = "debian:bookworm-slim";
    /// Where the Kubernetes project publishes its releases.
    pub const RELEASE_URL: &str = "https://dl.k8s.io";
    /// Debian's own entry to its mirrors.
    pub const DEBIAN_MIRROR: &str = "http://deb.debian.org/debian";

    /// Settings with everything at its default and this cache folder.
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
            registry_limit: Duration::from_secs(10),
            connect_limit: Duration::from_secs(5),
            proxies: Vec::new(),
        }
    }

    /// Settings from an environment, which is any function from a variable's name to its value.
    #[must_use]
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let text = |name: &str, default: &str| set(name).unwrap_or_else(|| default.to_owned());
        let assets = [env::NODEJOIN_ASSETS, env::KUBEBUILDER_ASSETS]
            .iter()
            .find_map(|name| {
                Some(Assets {
                    folder: set(name)?.into(),
                    named_by: (*name).to_owned(),
                })
            });
        let release_url = text(env::NODEJOIN_RELEASE_URL, Self::RELEASE_URL);
        Self {
            assets,
            kubernetes: set(env::NODEJOIN_KUBERNETES).map(first),
            release_url: release_url.trim_end_matches('/').to_owned(),
            base: text(env::NODEJOIN_BASE, Self::BASE),
            k3s_image: set(env::NODEJOIN_K3S_IMAGE),
            kind_image: set(env::NODEJOIN_KIND_IMAGE),
            debian_mirror: text(env::NODEJOIN_DEBIAN_MIRROR, Self::DEBIAN_MIRROR),
            proxies: env::PROXIES
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), set(name)?)))
                .collect(),
            ..Self::with_cache(cache_folder(set))
        }
    }
}

fn cache_folder(set: impl Fn(&str) -> Option<String>) -> PathBuf {
    if let Some(folder) = set(env::NODEJOIN_CACHE) {
        return folder.into();
    }
    if let Some(folder) = set(env::XDG_CACHE_HOME) {
        return PathBuf::from(folder).join("nodejoin");
    }
    // A user without a home is most often a container's: its temporary folder lives as long as anything there.
    set(env::HOME).map_or_else(
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
    fn the_cache_is_where_the_user_keeps_caches() {
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
    fn our_own_folder_of_programs_goes_first_and_an_empty_variable_is_unset() {
        let both = settings(&[("NODEJOIN_ASSETS", "/a"), ("KUBEBUILDER_ASSETS", "/k")]);
        assert_eq!(both.assets.unwrap().folder, PathBuf::from("/a"));
        let other = settings(&[("NODEJOIN_ASSETS", ""), ("KUBEBUILDER_ASSETS", "/k")]);
        assert_eq!(other.assets.unwrap().named_by, "KUBEBUILDER_ASSETS");
    }

    #[test]
    fn a_folder_holds_one_version_or_one_in_each_of_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let assets = Assets {
            folder: folder.path().to_owned(),
            named_by: "NODEJOIN_ASSETS".to_owned(),
        };
        let names = || {
            let versions = assets.versions().into_iter();
            versions.map(|it| it.folder).collect::<Vec<_>>()
        };
        assert_eq!(names(), [folder.path()], "its own lack is what is told of it");
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
    fn images_are_made_for_the_first_of_several_versions() {
        let first = settings(&[("NODEJOIN_KUBERNETES", "1.32, 1.20")]).kubernetes;
        assert_eq!(first.as_deref(), Some("1.32"));
    }

    #[test]
    fn a_slash_at_the_end_of_the_mirror_does_not_matter() {
        assert_eq!(
            settings(&[("NODEJOIN_RELEASE_URL", "http://mirror/k8s/")]).release_url,
            "http://mirror/k8s"
        );
    }
}
