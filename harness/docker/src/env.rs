//! The environment variables that this crate reads, each with its meaning.

/// A folder with `kube-apiserver`, `kube-controller-manager`, `kubelet`, `kubeadm` and `kubectl`: they are used as they are. Or
/// a folder of such folders, one for each version. A second name, for people who have one already, is [`KUBEBUILDER_ASSETS`].
pub const NODEJOIN_ASSETS: &str = "NODEJOIN_ASSETS";

/// The folder of envtest; read where [`NODEJOIN_ASSETS`] is not set. Archives of envtest hold no kubelet: it must be added.
pub const KUBEBUILDER_ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The versions of Kubernetes to run on, such as `1.32` or `1.20,v1.29.4`. Each comes from the folder of [`NODEJOIN_ASSETS`], an
/// image that is there, an official release, or Debian's source package. Unset: what can be had without asking.
pub const NODEJOIN_KUBERNETES: &str = "NODEJOIN_KUBERNETES";

/// The version of the kubelet, where it is not the control plane's.
pub const NODEJOIN_KUBELET: &str = "NODEJOIN_KUBELET";

/// Where official releases are downloaded from; below it lies `release/<version>/bin/linux/<architecture>/<program>`.
pub const NODEJOIN_RELEASE_URL: &str = "NODEJOIN_RELEASE_URL";

/// The folder for downloads, build output and locks. Unset: `$XDG_CACHE_HOME/nodejoin`, else `~/.cache/nodejoin`.
pub const NODEJOIN_CACHE: &str = "NODEJOIN_CACHE";

/// The image that node and control-plane images start from, instead of `debian:bookworm-slim`; it must have apt.
pub const NODEJOIN_BASE: &str = "NODEJOIN_BASE";

/// The image of k3s, instead of `rancher/k3s` of the wanted version. `stand-in` is an image of ours that answers k3s' command line
/// with programs of Kubernetes: it tests the harness, and is not k3s.
pub const NODEJOIN_K3S_IMAGE: &str = "NODEJOIN_K3S_IMAGE";

/// A node image of kind's, instead of `kindest/node` of the wanted version.
pub const NODEJOIN_KIND_IMAGE: &str = "NODEJOIN_KIND_IMAGE";

/// A mirror of Debian, for the base image where none can be pulled.
pub const NODEJOIN_DEBIAN_MIRROR: &str = "NODEJOIN_DEBIAN_MIRROR";

/// By what every limit is multiplied, on a machine that is slower than the limits were made for: a number from 1 to 1000.
pub const NODEJOIN_TIME_FACTOR: &str = "NODEJOIN_TIME_FACTOR";

/// The user's cache folder.
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";

/// The user's home folder.
pub const HOME: &str = "HOME";

/// Proxies that builds and downloads go through, where they are set.
pub const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Where the container engine listens. Unset: where Docker listens by default. testcontainers reads it too.
pub const DOCKER_HOST: &str = "DOCKER_HOST";
