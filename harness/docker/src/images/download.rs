//! Downloads over HTTP: through the proxies of the settings, with timeouts, and with ring as the crypto provider of
//! TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::time_factor::TimeFactor;
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Response};
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::error::DockerError;
use crate::settings::ImageSettings;

/// Timeout between two pieces of a download.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_REDIRECTS: usize = 5;

/// Interval between two reports of a download.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);

/// How much of a file has been downloaded.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DownloadProgress {
    /// Name of the file.
    pub file: String,
    /// Bytes so far.
    pub bytes: u64,
    /// Size of the file, if the server states it.
    pub total: Option<u64>,
}

/// A client for downloads.
#[derive(Debug, Clone)]
pub(crate) struct Downloader {
    client: Client,
    /// Timeout until the headers of the response arrive, redirects included.
    response_timeout: Duration,
    idle_timeout: Duration,
}

impl Downloader {
    /// A client with the proxies and timeouts of the settings.
    ///
    /// # Errors
    /// When a proxy of the settings is invalid.
    pub(crate) fn new(settings: &ImageSettings, factor: TimeFactor) -> Result<Self, DockerError> {
        let connect_timeout = factor.scale(settings.connect_timeout);
        let client = Client::builder()
            .tls_backend_preconfigured(tls())
            .connect_timeout(connect_timeout)
            .redirect(redirects())
            // The settings carry the proxies of the environment; the client must not read it a second time.
            .no_proxy();
        let client = proxies(&settings.proxies)?
            .into_iter()
            .fold(client, |client, proxy| client.proxy(proxy));
        Ok(Self {
            client: client
                .build()
                .map_err(|error| failed(&settings.release_url, chain(&error)))?,
            response_timeout: connect_timeout * 2,
            idle_timeout: factor.scale(IDLE_TIMEOUT),
        })
    }

    /// Downloads a short text.
    pub(crate) async fn text(&self, url: &str) -> Result<String, DockerError> {
        let response = self.get(url).await?;
        let text = timeout(self.idle_timeout, response.text())
            .await
            .map_err(|_| failed(url, self.idle()))?;
        text.map_err(|error| failed(url, chain(&error)))
    }

    /// Downloads a file and returns its SHA-256 checksum. Reports the first piece, the last, and one in between about
    /// twice a second.
    pub(crate) async fn file(
        &self,
        url: &str,
        to: &Path,
        report: impl Fn(DownloadProgress),
    ) -> Result<String, DockerError> {
        let mut response = self.get(url).await?;
        let mut progress = DownloadProgress {
            file: url.rsplit('/').next().unwrap_or(url).to_owned(),
            bytes: 0,
            total: response.content_length(),
        };
        let mut reported: Option<Instant> = None;
        let mut file = tokio::fs::File::create(to)
            .await
            .map_err(DockerError::io("write", to))?;
        let mut checksum = Sha256::new();
        loop {
            let piece = timeout(self.idle_timeout, response.chunk())
                .await
                .map_err(|_| failed(url, self.idle()))?;
            let Some(piece) = piece.map_err(|error| failed(url, chain(&error)))? else {
                break;
            };
            checksum.update(&piece);
            file.write_all(&piece)
                .await
                .map_err(DockerError::io("write", to))?;
            progress.bytes += piece.len() as u64;
            if reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
                report(progress.clone());
                reported = Some(Instant::now());
            }
        }
        report(progress);
        file.flush().await.map_err(DockerError::io("write", to))?;
        Ok(hex::encode(checksum.finalize()))
    }

    async fn get(&self, url: &str) -> Result<Response, DockerError> {
        let response = timeout(self.response_timeout, self.client.get(url).send()).await;
        let response = response
            .map_err(|_| {
                failed(
                    url,
                    format!("no response within {} s", self.response_timeout.as_secs()),
                )
            })?
            .map_err(|error| failed(url, chain(&error.without_url())))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(failed(url, status.to_string())),
        }
    }

    fn idle(&self) -> String {
        format!("no data for {} s", self.idle_timeout.as_secs())
    }
}

fn failed(url: &str, reason: String) -> DockerError {
    DockerError::Download {
        url: url.to_owned(),
        reason,
    }
}

/// TLS with the roots of Mozilla and of this host: behind a proxy that inspects TLS only the host has the proxy's root.
fn tls() -> ClientConfig {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    // Explicit, because the process may have no default provider yet.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has cipher suites for the default versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Follows redirects, but not from https to http.
fn redirects() -> Policy {
    Policy::custom(|attempt| {
        let is_from_https = attempt
            .previous()
            .last()
            .is_some_and(|url| url.scheme() == "https");
        if is_from_https && attempt.url().scheme() != "https" {
            return attempt.error("the server redirects from https to http");
        }
        if attempt.previous().len() > MAX_REDIRECTS {
            return attempt.error(format!("more than {MAX_REDIRECTS} redirects"));
        }
        attempt.follow()
    })
}

/// The proxies of `http_proxy`, `https_proxy` and `all_proxy`, except for the hosts of `no_proxy`. A name in lower case
/// takes precedence over the same name in upper case.
fn proxies(variables: &[(String, String)]) -> Result<Vec<Proxy>, DockerError> {
    type Build = fn(&str) -> reqwest::Result<Proxy>;
    let find = |name: &str| {
        let named = |name: &str| variables.iter().find(|(variable, _)| variable == name);
        named(name).or_else(|| named(&name.to_uppercase()))
    };
    let no_proxy = find("no_proxy").and_then(|(_, hosts)| NoProxy::from_string(hosts));
    // The first proxy that accepts a URL is used: `all_proxy` is the fallback.
    let known: [(&str, Build); 3] = [
        ("http_proxy", |url| Proxy::http(url)),
        ("https_proxy", |url| Proxy::https(url)),
        ("all_proxy", |url| Proxy::all(url)),
    ];
    let mut proxies = Vec::new();
    for (name, build) in known {
        if let Some((variable, url)) = find(name) {
            // The value may hold a password: only the variable is named.
            let proxy = build(url).map_err(|_| DockerError::Proxy {
                variable: variable.clone(),
            })?;
            proxies.push(proxy.no_proxy(no_proxy.clone()));
        }
    }
    Ok(proxies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn an_invalid_proxy_is_reported_by_its_variable_without_its_value() {
        let error = proxies(&variable("HTTPS_PROXY", "http://user:secret@[bad")).unwrap_err();
        assert!(error.to_string().contains("HTTPS_PROXY"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn each_proxy_variable_configures_a_proxy() {
        for name in [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
        ] {
            assert_eq!(
                proxies(&variable(name, "proxy.example:3128")).unwrap().len(),
                1,
                "{name}"
            );
        }
        assert!(proxies(&variable("no_proxy", "localhost")).unwrap().is_empty());
    }

    #[test]
    fn the_time_factor_multiplies_the_timeouts_of_downloads() {
        let settings = ImageSettings::with_cache("/cache");
        let downloader = Downloader::new(&settings, "3".parse().unwrap()).unwrap();
        assert_eq!(downloader.idle_timeout, IDLE_TIMEOUT * 3);
        assert_eq!(downloader.response_timeout, settings.connect_timeout * 6);
    }
}
