//! Rules for `http_proxy`: the address of something else is not one of a proxy.

use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::{Network, Plan};
use crate::vocabulary::outside_name;

pub(super) fn check(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(proxy) = &plan.http_proxy else {
        return;
    };
    let mut add = |what: String, hint: &str| {
        problems.add_at(&[PathStep::Key("http_proxy")], what, "", hint);
    };
    let host = proxy.host();
    if plan.network == Network::Open {
        let what = "an open network has proxies of its own".to_owned();
        add(what, "remove `http_proxy`, or `network: open`");
    } else if outside_name::is_of_aws(host) {
        let what = format!("`{host}` is a host of AWS");
        add(what, "use the name of the proxy in the user data");
    } else if host == plan.cluster.endpoint_host(&plan.region).to_ascii_lowercase() {
        let what = format!("`{host}` is the endpoint of the cluster");
        add(what, "use the name of the proxy in the user data");
    } else if let Some(address) = proxy.address()
        && (address.is_loopback() || address.is_link_local() || address.is_unspecified())
    {
        let what = format!("{address} is an address of the node itself");
        let hint = "a proxy on the node is a program that the user data starts: remove the key";
        add(what, hint);
    } else if let Some(instance) = plan
        .instances()
        .find(|one| Some(one.private_ip) == proxy.address())
    {
        let what = format!("{} is the address of an instance", instance.private_ip);
        add(what, "use the address of the proxy in the user data");
    }
}
