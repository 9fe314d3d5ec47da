//! Endpoints at which no cluster of EKS answers: another scheme or port, or signs beside the host.

use nodejoin_core::plan::EndpointUrl;
use nodejoin_core::vocabulary::region::Region;

/// How a URL begins that is one of EKS.
const SCHEME: &str = "https://";
/// A scheme that a cluster outside of EKS can have.
const PLAIN: &str = "http";

/// A text that is almost an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndpointMistake {
    text: String,
    what: String,
    /// The endpoint that its author means.
    pub(super) meant: Option<EndpointUrl>,
}

impl EndpointMistake {
    pub(super) fn sentence(&self) -> String {
        let write = self.meant.as_ref().map(|meant| format!(", write `{meant}`"));
        format!(
            "the endpoint `{}` in the user data {}: EKS answers on `{SCHEME}` and port 443 alone{}; it stays as it is, and no program \
             reaches the API server with it",
            self.text,
            self.what,
            write.unwrap_or_default()
        )
    }
}

/// The mistake in an endpoint. An address, or a valid host outside of EKS with any port, is none.
pub(super) fn endpoint_mistake(text: &str) -> Option<EndpointMistake> {
    let is_endpoint = |text: &str| text.parse::<EndpointUrl>().is_ok();
    if is_endpoint(text) || is_endpoint(&format!("{SCHEME}{text}")) || is_valid(text) {
        return None;
    }
    let host = host_of_eks(text);
    let what = match host {
        Some(host) => what_is_wrong(text, host)?,
        None => other_scheme(text)?,
    };
    let meant = host.and_then(|host| format!("{SCHEME}{host}").parse().ok());
    Some(EndpointMistake {
        text: text.to_owned(),
        what,
        meant,
    })
}

/// Whether clients read a text as an endpoint in other letters.
fn is_valid(text: &str) -> bool {
    let scheme = text.get(..SCHEME.len());
    let rest = scheme
        .filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
        .map(|scheme| &text[scheme.len()..]);
    rest.is_some_and(|rest| format!("{SCHEME}{rest}").parse::<EndpointUrl>().is_ok())
}

/// The host in a text, if it is one of EKS.
fn host_of_eks(text: &str) -> Option<&str> {
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let hosts = text
        .split(|c: char| !is_of_host(c))
        .map(|host| host.trim_matches('.'));
    let mut hosts = hosts.filter(|host| host.contains(".eks."));
    let host = hosts.next()?;
    Region::all()
        .any(|region| host.contains(&format!(".{region}.eks.")))
        .then_some(host)
}

/// What is wrong with a text that has a host of EKS. A dot may end the host.
fn what_is_wrong(text: &str, host: &str) -> Option<String> {
    let (before, after) = text.split_once(host)?;
    if !before.is_empty() && !before.eq_ignore_ascii_case(SCHEME) {
        return Some(format!("begins with `{before}`"));
    }
    let after = after.strip_prefix('.').unwrap_or(after);
    let port = after
        .strip_prefix(':')
        .map(|port| port.split('/').next().unwrap_or_default());
    match port {
        Some(port) if is_number(port) && port != "443" => Some(format!("has the port {port}")),
        _ => (!after.is_empty()).then(|| format!("has `{after}` behind its host")),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A scheme that no client of Kubernetes knows, such as `htps`.
fn other_scheme(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let is_known = [PLAIN, "https"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme));
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_scheme && !is_known && !rest.is_empty()).then(|| format!("begins with `{scheme}://`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "ABCDEF0123456789ABCDEF0123456789.gr7.us-east-1.eks.amazonaws.com";

    fn mistake(text: &str) -> Option<String> {
        endpoint_mistake(&text.replace("HOST", HOST)).map(|mistake| mistake.what)
    }

    #[test]
    fn another_scheme_or_port_and_signs_beside_the_host_are_mistakes() {
        for (text, what) in [
            ("htps://HOST", "begins with `htps://`"),
            ("http://HOST", "begins with `http://`"),
            ("https//HOST", "begins with `https//`"),
            ("https:/HOST", "begins with `https:/`"),
            ("https://https://HOST", "begins with `https://https://`"),
            ("\"https://HOST\"", "begins with `\"https://`"),
            ("https://HOST:6443", "has the port 6443"),
            ("HOST:6443", "has the port 6443"),
            ("https://HOST,", "has `,` behind its host"),
            ("https://HOST/api", "has `/api` behind its host"),
            ("htps://api.example.com", "begins with `htps://`"),
        ] {
            assert_eq!(mistake(text).as_deref(), Some(what), "{text}");
        }
        let mistake = endpoint_mistake(&format!("http://{HOST}")).unwrap();
        assert_eq!(mistake.meant, format!("https://{HOST}").parse().ok());
        assert!(
            mistake
                .sentence()
                .contains(&format!("write `https://{HOST}`; it stays"))
        );
    }

    #[test]
    fn endpoints_and_those_outside_of_eks_are_none() {
        for text in [
            "https://HOST",
            "https://HOST/",
            "https://HOST:443",
            "HTTPS://HOST",
            "https://HOST.",
            "HOST",
            "https://test-cluster",
            "https://10.0.0.1",
            "10.0.0.1",
            "https://10.0.0.1:6443",
            "http://10.0.0.1:8080",
            "https://api.k8s.example.com:6443",
            "api.k8s.example.com:6443",
            "https://[fd00::1]",
            "",
        ] {
            assert_eq!(mistake(text), None, "{text}");
        }
    }
}
