//! Rules for `outside`: a URL that no request to the outside can have has no effect.

use std::collections::BTreeMap;

use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::Plan;
use crate::plan::outside::OutsideUrl;
use crate::vocabulary::outside_name;

pub(super) fn check(plan: &Plan, problems: &mut Problems<'_>) {
    let endpoint = plan.cluster.endpoint_host(&plan.region).to_ascii_lowercase();
    let mut seen: BTreeMap<OutsideUrl, &str> = BTreeMap::new();
    for text in plan.outside.keys() {
        let at = [PathStep::Key("outside"), PathStep::Key(text)];
        let mut add = |what: String, why: &str, hint: &str| problems.add_at(&at, what, why, hint);
        let url = match text.parse::<OutsideUrl>() {
            Ok(url) => url,
            Err(error) => {
                let hint = "for example `https://downloads.example.com/agent/*`";
                add(error.to_string(), "", hint);
                continue;
            }
        };
        if url.host == endpoint {
            let what = format!("`{}` is the endpoint of the cluster", url.host);
            add(what, "its API server answers", "remove the URL");
        } else if outside_name::is_of_aws(&url.host) {
            let what = format!("`{}` is a host of AWS", url.host);
            let hint = "use `aws.answers` with `host`, or `aws.buckets` for an object in S3";
            add(what, "the fake AWS answers it", hint);
        }
        if let Some(other) = seen.insert(url, text) {
            let what = format!("`{other}` and `{text}` are the same URL");
            add(what, "", "remove one of them");
        }
    }
}
