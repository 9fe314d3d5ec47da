//! Where a keeper listens: a socket in a private folder, named after all that its clients have in common with it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nodejoin_core::run::env::{self, EnvVar};
use nodejoin_core::run::time_factor::TimeFactor;
use sha2::{Digest as _, Sha256};
use tokio::net::UnixListener;

use super::error::KeeperError;

/// Variables that a keeper has read at its start. Clients with other values have another keeper.
const READ_AT_START: [&EnvVar; 11] = [
    &env::ASSETS,
    &env::KUBEBUILDER_ASSETS,
    &env::RELEASE_URL,
    &env::BASE,
    &env::K3S_IMAGE,
    &env::KIND_IMAGE,
    &env::DEBIAN_MIRROR,
    &env::CACHE,
    &env::XDG_CACHE_HOME,
    &env::HOME,
    &env::DOCKER_HOST,
];
/// Further ones, which programs and libraries read.
const ALSO_READ: [&str; 4] = ["PATH", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"];
/// Length of a name: enough that two differ.
const NAME_LENGTH: usize = 16;
const SOCKET: &str = "sock";

/// The address of a keeper: its files in the folder of this user's keepers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperAddress {
    folder: PathBuf,
    name: String,
}

impl KeeperAddress {
    /// The address for this program, in this folder, with this environment. Creates the folder of the socket below
    /// `XDG_RUNTIME_DIR`, else below the cache.
    ///
    /// # Errors
    /// When the folder cannot be created, or other users have access to it.
    pub fn of_this_process(
        cache: &Path,
        factor: TimeFactor,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, KeeperError> {
        let identity = KeeperIdentity::of_this_process().map_err(KeeperError::Identity)?;
        Ok(Self {
            folder: private_folder(&folder(cache, &lookup))?,
            name: identity.name(factor, lookup),
        })
    }

    /// All addresses at which a keeper of this user may listen, of any build and folder.
    ///
    /// # Errors
    /// When other users have access to the folder.
    pub fn all(cache: &Path, lookup: impl Fn(&str) -> Option<String>) -> Result<Vec<Self>, KeeperError> {
        let folder = folder(cache, &lookup);
        let Ok(entries) = fs::read_dir(&folder) else {
            return Ok(Vec::new());
        };
        let folder = private_folder(&folder)?;
        let mut all: Vec<Self> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == SOCKET))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .map(|name| Self {
                folder: folder.clone(),
                name,
            })
            .collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.file(SOCKET)
    }

    /// The log of a keeper that a client started.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// Listens, unless another keeper has the lock. What a killed keeper left is replaced.
    ///
    /// # Errors
    /// When the files cannot be created.
    pub(super) fn listen(&self) -> Result<Option<(UnixListener, File)>, KeeperError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| KeeperError::Listen { path, source }
        };
        let (path, socket) = (self.file("lock"), self.socket());
        let lock = File::create(&path).map_err(failed(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(&path)(error)),
        }
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&socket)(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&socket).map_err(failed(&socket))?;
        Ok(Some((listener, lock)))
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}

/// The folder of this user's keepers.
fn folder(cache: &Path, lookup: impl Fn(&str) -> Option<String>) -> PathBuf {
    let runtime = lookup(env::XDG_RUNTIME_DIR.name).filter(|folder| Path::new(folder).is_absolute());
    runtime.map_or_else(
        || cache.join("keeper"),
        |folder| Path::new(&folder).join("nodejoin"),
    )
}

/// Creates the folder if it is missing. The folder of another user, or one that others can read, is refused.
fn private_folder(path: &Path) -> Result<PathBuf, KeeperError> {
    let failed = |source| KeeperError::Folder {
        path: path.to_owned(),
        source,
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).map_err(failed)?;
    let found = fs::symlink_metadata(path).map_err(failed)?;
    let is_own = found.is_dir() && found.uid() == this_user().map_err(failed)?;
    if !is_own || found.mode() & 0o077 != 0 {
        return Err(KeeperError::NotPrivate {
            path: path.to_owned(),
        });
    }
    Ok(path.to_owned())
}

/// The user of this process.
pub(super) fn this_user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

/// What a client and its keeper have in common.
struct KeeperIdentity {
    /// Device, inode, size and modification time of the program: a new build has others.
    program: [u64; 5],
    folder: PathBuf,
}

impl KeeperIdentity {
    fn of_this_process() -> io::Result<Self> {
        let program = fs::metadata("/proc/self/exe")?;
        Ok(Self {
            program: [
                program.dev(),
                program.ino(),
                program.size(),
                program.mtime().unsigned_abs(),
                program.mtime_nsec().unsigned_abs(),
            ],
            folder: std::env::current_dir()?,
        })
    }

    fn name(&self, factor: TimeFactor, lookup: impl Fn(&str) -> Option<String>) -> String {
        let names = READ_AT_START
            .iter()
            .map(|variable| variable.name)
            .chain(ALSO_READ)
            .chain(env::PROXIES);
        let values: Vec<_> = names.map(|name| (name, lookup(name))).collect();
        let text = format!("{:?} {:?} {factor:?} {values:?}", self.program, self.folder);
        let mut name = hex::encode(Sha256::digest(text));
        name.truncate(NAME_LENGTH);
        name
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn identity(inode: u64, folder: &str) -> KeeperIdentity {
        KeeperIdentity {
            program: [1, inode, 3, 4, 5],
            folder: folder.into(),
        }
    }

    #[test]
    fn another_build_folder_time_factor_or_engine_has_another_keeper() {
        let name = |identity: KeeperIdentity, factor: &str, host: &str| {
            let host = host.to_owned();
            let lookup = move |name: &str| (name == "DOCKER_HOST").then(|| host.clone());
            identity.name(factor.parse().unwrap(), lookup)
        };
        let first = name(identity(2, "/a"), "1", "unix:///x");
        assert_eq!(first, name(identity(2, "/a"), "1", "unix:///x"));
        for other in [
            name(identity(9, "/a"), "1", "unix:///x"),
            name(identity(2, "/b"), "1", "unix:///x"),
            name(identity(2, "/a"), "2", "unix:///x"),
            name(identity(2, "/a"), "1", "unix:///y"),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn the_folder_is_private_and_one_that_others_can_enter_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run").join("nodejoin");
        private_folder(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(
            private_folder(&path),
            Err(KeeperError::NotPrivate { .. })
        ));
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(parent.path(), &link).unwrap();
        assert!(matches!(
            private_folder(&link),
            Err(KeeperError::NotPrivate { .. })
        ));
    }

    #[test]
    fn the_folder_is_in_the_runtime_folder_else_in_the_cache() {
        let cache = Path::new("/cache");
        let set = |_: &str| Some("/run/user/7".to_owned());
        assert_eq!(folder(cache, set), Path::new("/run/user/7/nodejoin"));
        assert_eq!(folder(cache, |_| None), Path::new("/cache/keeper"));
        assert_eq!(
            folder(cache, |_| Some("relative".to_owned())),
            Path::new("/cache/keeper")
        );
    }

    #[tokio::test]
    async fn one_keeper_listens_and_a_dead_ones_socket_is_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let address = KeeperAddress {
            folder: private_folder(&parent.path().join("k")).unwrap(),
            name: "a".to_owned(),
        };
        let first = address.listen().unwrap();
        assert!(first.is_some());
        assert!(address.listen().unwrap().is_none());
        drop(first);
        assert!(address.socket().exists(), "a killed keeper leaves its socket");
        assert!(address.listen().unwrap().is_some());
    }
}
