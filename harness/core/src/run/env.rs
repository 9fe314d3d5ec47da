//! Every environment variable that `nodejoin` reads, with its meaning. Flags take precedence over variables, and
//! variables over `nodejoin.yaml`.

/// An environment variable.
#[derive(Debug, PartialEq, Eq)]
pub struct EnvVar {
    pub name: &'static str,
    /// Its meaning in Markdown, for the reference page.
    pub doc: &'static str,
    /// The flag with the same meaning, if there is one.
    pub flag: Option<&'static str>,
}

const fn variable(name: &'static str, flag: Option<&'static str>, doc: &'static str) -> EnvVar {
    EnvVar { name, doc, flag }
}

// Runs
pub const JOBS: EnvVar = variable(
    "NODEJOIN_JOBS",
    Some("--jobs"),
    "Number of scenarios that run at the same time (default: 1).",
);
pub const KEEP: EnvVar = variable(
    "NODEJOIN_KEEP",
    Some("--keep"),
    "When to keep nodes, network and control plane after the run: `never`, `on-failure` or `always` (default: `never`).",
);
pub const KEEPER: EnvVar = variable(
    "NODEJOIN_KEEPER",
    Some("--keeper"),
    "`true` runs scenarios in a keeper, which keeps control planes for later runs (default: `false`).",
);
pub const KEEPER_IDLE: EnvVar = variable(
    "NODEJOIN_KEEPER_IDLE",
    Some("--idle"),
    "Seconds without a run after which a keeper stops (default: 600).",
);
pub const CI: EnvVar = variable(
    "CI",
    None,
    "If set and not `false`, runs use no keeper unless `--keeper` is passed.",
);
pub const ARTIFACTS: EnvVar = variable(
    "NODEJOIN_ARTIFACTS",
    Some("--artifacts-dir"),
    "Folder for the evidence of runs (default: `target/nodejoin` in a cargo project, else `.nodejoin`).",
);
pub const SHARD: EnvVar = variable(
    "NODEJOIN_SHARD",
    Some("--shard"),
    "The shard of the scenarios to run, such as `1/4` for the first of four (default: all scenarios).",
);
pub const TIMES: EnvVar = variable(
    "NODEJOIN_TIMES",
    Some("--times"),
    "Report of earlier runs by whose times the shards are balanced, as `nodejoin merge` reads it (default: the id of a \
     scenario determines its shard).",
);
pub const CONTROL_PLANE: EnvVar = variable(
    "NODEJOIN_CONTROL_PLANE",
    Some("--control-plane"),
    "Provider of the control plane: `local`, `k3s`, `kind` or `external` (default: the choice of each scenario).",
);
pub const REQUIRE: EnvVar = variable(
    "NODEJOIN_REQUIRE",
    Some("--require"),
    "Control planes that must be available, comma-separated; without one its scenarios error instead of being skipped.",
);
pub const TIME_FACTOR: EnvVar = variable(
    "NODEJOIN_TIME_FACTOR",
    Some("--time-factor"),
    "Factor that multiplies all timeouts on slow machines: a number from 1 to 1000 (default: 1).",
);
pub const AWS_FOLDER: EnvVar = variable(
    "NODEJOIN_AWS_FOLDER",
    Some("--folder"),
    "Folder of a served account (`nodejoin aws`): its certificate and its control socket.",
);

// Kubernetes
pub const KUBERNETES: EnvVar = variable(
    "NODEJOIN_KUBERNETES",
    Some("--kubernetes"),
    "Kubernetes versions to test, such as `1.32` or `1.20,v1.29.4`. Each comes from the folder of `NODEJOIN_ASSETS`, an existing \
     image, an official release, or the source package of Debian (default: the newest version in `NODEJOIN_ASSETS`, else 1.20.2).",
);
pub const KUBELET: EnvVar = variable(
    "NODEJOIN_KUBELET",
    Some("--kubelet"),
    "Version of the kubelet (default: the version of the control plane).",
);
pub const ASSETS: EnvVar = variable(
    "NODEJOIN_ASSETS",
    None,
    "Folder with the programs `kube-apiserver`, `kube-controller-manager`, `kubelet`, `kubeadm` and `kubectl`, or with one such \
     folder per version.",
);
pub const KUBEBUILDER_ASSETS: EnvVar = variable(
    "KUBEBUILDER_ASSETS",
    None,
    "Folder of envtest, read if `NODEJOIN_ASSETS` is unset. Archives of envtest have no kubelet; add one.",
);
pub const RELEASE_URL: EnvVar = variable(
    "NODEJOIN_RELEASE_URL",
    None,
    "Base URL of the official releases, with the layout `release/<version>/bin/linux/<architecture>/<program>` below it.",
);

// Images
pub const BASE: EnvVar = variable(
    "NODEJOIN_BASE",
    None,
    "Base image of the node and control plane images; it must have apt (default: `debian:bookworm-slim`).",
);
pub const K3S_IMAGE: EnvVar = variable(
    "NODEJOIN_K3S_IMAGE",
    None,
    "Image of k3s (default: `rancher/k3s` of the requested version). `stand-in` is an image that implements the command line of \
     k3s with programs of Kubernetes: it tests the harness and is not k3s.",
);
pub const KIND_IMAGE: EnvVar = variable(
    "NODEJOIN_KIND_IMAGE",
    None,
    "Node image of kind (default: `kindest/node` of the requested version).",
);
pub const DEBIAN_MIRROR: EnvVar = variable(
    "NODEJOIN_DEBIAN_MIRROR",
    None,
    "Mirror of Debian for the base image, if the image cannot be pulled.",
);
pub const CACHE: EnvVar = variable(
    "NODEJOIN_CACHE",
    None,
    "Folder for downloads, build output and locks (default: `$XDG_CACHE_HOME/nodejoin`, else `~/.cache/nodejoin`).",
);

// External clusters
pub const KUBECONFIG: EnvVar = variable(
    "KUBECONFIG",
    Some("--kubeconfig"),
    "Kubeconfig files of the provider `external`, colon-separated.",
);
pub const CONTEXT: EnvVar = variable(
    "NODEJOIN_CONTEXT",
    Some("--context"),
    "Context of the kubeconfig (default: the current context).",
);
pub const ALLOW_REMOTE: EnvVar = variable(
    "NODEJOIN_ALLOW_REMOTE",
    Some("--allow-remote"),
    "`true` lets nodes join an API server outside of loopback and private networks.",
);
pub const WIRING: EnvVar = variable(
    "NODEJOIN_WIRING",
    Some("--wiring"),
    "Folder of `nodejoin wiring` whose files the API server uses.",
);

// The host
pub const DOCKER_HOST: EnvVar = variable(
    "DOCKER_HOST",
    None,
    "Address of the container engine (default: the default of Docker).",
);
pub const XDG_CACHE_HOME: EnvVar = variable("XDG_CACHE_HOME", None, "The cache folder of the current user.");
pub const XDG_RUNTIME_DIR: EnvVar = variable(
    "XDG_RUNTIME_DIR",
    None,
    "Folder for the sockets of keepers, in a folder `nodejoin` (default: the folder `keeper` of the cache).",
);
pub const HOME: EnvVar = variable("HOME", None, "The home folder of the current user.");
pub const HTTP_PROXY: EnvVar = variable(
    "HTTP_PROXY",
    None,
    "Proxy of builds and downloads for `http://` URLs; also in lower case.",
);
pub const HTTPS_PROXY: EnvVar = variable(
    "HTTPS_PROXY",
    None,
    "Proxy of builds and downloads for `https://` URLs; also in lower case.",
);
pub const ALL_PROXY: EnvVar = variable(
    "ALL_PROXY",
    None,
    "Proxy of builds and downloads for all other URLs; also in lower case.",
);
pub const NO_PROXY: EnvVar = variable(
    "NO_PROXY",
    None,
    "Hosts that are accessed without a proxy; also in lower case.",
);

// GitHub Actions
pub const GITHUB_ACTIONS: EnvVar = variable(
    "GITHUB_ACTIONS",
    None,
    "`true` selects the output format `github` by default.",
);
pub const GITHUB_STEP_SUMMARY: EnvVar = variable(
    "GITHUB_STEP_SUMMARY",
    Some("--summary"),
    "File to which the Markdown summary is appended.",
);
pub const GITHUB_WORKSPACE: EnvVar = variable(
    "GITHUB_WORKSPACE",
    None,
    "Folder to which the paths of annotations are relative.",
);
pub const GITHUB_SERVER_URL: EnvVar = variable("GITHUB_SERVER_URL", None, "Part of the link to the run.");
pub const GITHUB_REPOSITORY: EnvVar = variable("GITHUB_REPOSITORY", None, "Part of the link to the run.");
pub const GITHUB_RUN_ID: EnvVar = variable("GITHUB_RUN_ID", None, "Part of the link to the run.");

// Development
pub const NO_SKIPS: EnvVar = variable(
    "NODEJOIN_NO_SKIPS",
    None,
    "If set, a skipped scenario is a failed test in `cargo test`.",
);
pub const RUST_LOG: EnvVar = variable(
    "RUST_LOG",
    None,
    "Log messages of the harness, such as `nodejoin=debug` (default: warnings).",
);

/// The proxy variables in both spellings, as builds receive them.
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

/// All variables, in the order of the reference page.
pub const ALL: &[EnvVar] = &[
    JOBS,
    KEEP,
    KEEPER,
    KEEPER_IDLE,
    CI,
    ARTIFACTS,
    SHARD,
    TIMES,
    CONTROL_PLANE,
    REQUIRE,
    TIME_FACTOR,
    AWS_FOLDER,
    KUBERNETES,
    KUBELET,
    ASSETS,
    KUBEBUILDER_ASSETS,
    RELEASE_URL,
    BASE,
    K3S_IMAGE,
    KIND_IMAGE,
    DEBIAN_MIRROR,
    CACHE,
    KUBECONFIG,
    CONTEXT,
    ALLOW_REMOTE,
    WIRING,
    DOCKER_HOST,
    XDG_CACHE_HOME,
    XDG_RUNTIME_DIR,
    HOME,
    HTTP_PROXY,
    HTTPS_PROXY,
    ALL_PROXY,
    NO_PROXY,
    GITHUB_ACTIONS,
    GITHUB_STEP_SUMMARY,
    GITHUB_WORKSPACE,
    GITHUB_SERVER_URL,
    GITHUB_REPOSITORY,
    GITHUB_RUN_ID,
    NO_SKIPS,
    RUST_LOG,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_variable_is_listed_once_with_a_sentence() {
        let names: BTreeSet<&str> = ALL.iter().map(|variable| variable.name).collect();
        assert_eq!(names.len(), ALL.len());
        let source = include_str!("env.rs");
        // The pattern below counts itself.
        assert_eq!(source.matches(": EnvVar = variable(").count(), ALL.len() + 1);
        assert!(ALL.iter().all(|variable| variable.doc.ends_with('.')));
    }
}
