//! The environment variables that this crate reads.

/// Folder with `kube-apiserver`, `kube-controller-manager`, `kubelet`, `kubeadm` and `kubectl`, or with one such folder for each
/// version. Takes precedence over [`KUBEBUILDER_ASSETS`].
pub const NODEJOIN_ASSETS: &str = "NODEJOIN_ASSETS";

/// Folder of envtest, used if [`NODEJOIN_ASSETS`] is not set. The archives of envtest contain no kubelet: add it to the folder.
pub const KUBEBUILDER_ASSETS: &str = "KUBEBUILDER_ASSETS";

/// Kubernetes versions to test, such as `1.32` or `1.20,v1.29.4`. Each comes from the folder of [`NODEJOIN_ASSETS`], an existing
/// image, an official release, or Debian's source package. Default: the newest version that is available offline.
pub const NODEJOIN_KUBERNETES: &str = "NODEJOIN_KUBERNETES";

/// Version of the kubelet. Default: the version of the control plane.
pub const NODEJOIN_KUBELET: &str = "NODEJOIN_KUBELET";

/// Base URL of official releases; files are at `release/<version>/bin/linux/<architecture>/<program>` below it.
pub const NODEJOIN_RELEASE_URL: &str = "NODEJOIN_RELEASE_URL";

/// Folder for downloads, build logs and locks. Default: `$XDG_CACHE_HOME/nodejoin`, else `~/.cache/nodejoin`.
pub const NODEJOIN_CACHE: &str = "NODEJOIN_CACHE";

/// Base image of node and control-plane images; it must have apt. Default: `debian:bookworm-slim`.
pub const NODEJOIN_BASE: &str = "NODEJOIN_BASE";

/// Image of k3s. Default: `rancher/k3s` of the requested version. `stand-in` is an image that implements k3s' command line with
/// the programs of Kubernetes: it tests the harness and is not k3s.
pub const NODEJOIN_K3S_IMAGE: &str = "NODEJOIN_K3S_IMAGE";

/// Node image for kind. Default: `kindest/node` of the requested version.
pub const NODEJOIN_KIND_IMAGE: &str = "NODEJOIN_KIND_IMAGE";

/// Debian mirror for the base image if no registry provides it.
pub const NODEJOIN_DEBIAN_MIRROR: &str = "NODEJOIN_DEBIAN_MIRROR";

/// Factor that multiplies all timeouts on slow machines: a number from 1 to 1000.
pub const NODEJOIN_TIME_FACTOR: &str = "NODEJOIN_TIME_FACTOR";

/// Cache folder of the user.
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";

/// Home folder of the user.
pub const HOME: &str = "HOME";

/// Proxies for builds and downloads.
pub const PROXIES: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// Address of the container engine, also read by testcontainers. Default: Docker's default address.
pub const DOCKER_HOST: &str = "DOCKER_HOST";
