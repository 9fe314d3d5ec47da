//! The region that user data names: that of a command about the cluster, of the variables that the AWS CLI reads, or of
//! other commands and settings.

use nodejoin_core::plan::region::Region;

use super::eks_commands::{EksCommand, eks_commands};
use super::shell;

/// Variables with the region of the script's commands.
const VARIABLES: [&str; 4] = ["AWS_REGION", "AWS_DEFAULT_REGION", "REGION", "EKS_REGION"];

/// The region; comments name none.
pub(super) fn region_in(text: &str) -> Option<Region> {
    let variables = shell::read(text).variables;
    let known = |name: &str| name.parse::<Region>().ok();
    let commands = eks_commands(text, &variables);
    let of_commands = || commands.iter().filter_map(EksCommand::region).find_map(known);
    let mut values = VARIABLES.iter().filter_map(|name| variables.get(*name));
    let of_variables = || values.find_map(|value| known(value));
    of_commands()
        .or_else(of_variables)
        .or_else(|| of_forms(&without_comments(text)))
}

/// The first region in the forms of commands and settings. An image can be in another region than the cluster.
fn of_forms(text: &str) -> Option<Region> {
    let forms: [fn(&Region) -> Vec<String>; 4] = [
        |region| {
            VARIABLES
                .iter()
                .flat_map(|name| assignments(name, region))
                .collect()
        },
        |region| {
            vec![
                format!("{region}.eks.amazonaws."),
                format!(":eks:{region}:"),
                format!("set region {region}"),
                format!("region: {region}"),
            ]
        },
        |region| {
            let flags = ["-region ", "-region=", "REGION="];
            let quotes = ["", "\"", "'"];
            let all = flags
                .iter()
                .flat_map(|flag| quotes.iter().map(move |quote| format!("{flag}{quote}{region}")));
            all.collect()
        },
        |region| vec![format!(".ecr.{region}.")],
    ];
    forms.into_iter().find_map(|forms| {
        let places = Region::all().filter_map(|region| {
            let places = forms(&region);
            let place = places.iter().filter_map(|form| text.find(form)).min()?;
            Some((place, region))
        });
        places.min_by_key(|(place, _)| *place).map(|(_, region)| region)
    })
}

/// How a line sets a variable to a region.
fn assignments(name: &str, region: &Region) -> Vec<String> {
    let begins = ["\n", " ", "\"", "'"].into_iter();
    let quotes = ["", "\"", "'"];
    let all = begins.flat_map(|begin| quotes.map(|quote| format!("{begin}{name}={quote}{region}")));
    all.collect()
}

/// A text without its comments. Its first line is one in some formats, which names no region.
fn without_comments(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with(['#', ';']));
    let code = lines.map(|line| {
        let comment = line.find(" # ").filter(|at| !line[*at..].contains(['"', '\'']));
        &line[..comment.unwrap_or(line.len())]
    });
    code.map(|line| format!("\n{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(text: &str) -> Option<String> {
        region_in(&format!("#!/bin/bash\n{text}\n")).map(|region| region.to_string())
    }

    #[test]
    fn commands_about_the_cluster_come_first() {
        let image = "ctr image pull 1.dkr.ecr.eu-central-1.amazonaws.com/eks/pause:3.5";
        for text in [
            format!("REGION=us-west-2\n{image}\nX=$(aws eks describe-cluster --region $REGION --name demo)"),
            format!("{image}\nAWS_REGION=eu-west-1\naws eks update-kubeconfig --name a --region us-west-2"),
            "export AWS_REGION=us-west-2\naws s3 cp --region eu-central-1 s3://a/b .".to_owned(),
            "# this one is for region ap-south-1: --region ap-south-1\nREGION=\"us-west-2\"".to_owned(),
            "aws sts get-caller-identity --region us-west-2 # not --region ap-south-1".to_owned(),
            format!("{image}\naws s3 cp --region us-west-2 s3://a/b ."),
            "aws s3 cp --region us-west-2 s3://a/b .\naws s3 cp --region ap-south-1 s3://c/d .".to_owned(),
            "aws --region 'us-west-2' sts get-caller-identity".to_owned(),
            "if a; then\n  AWS_REGION=us-west-2\nfi".to_owned(),
            "NO_PROXY=.us-west-2.eks.amazonaws.com\naws s3 cp --region ap-south-1 s3://c/d .".to_owned(),
        ] {
            assert_eq!(region(&text).as_deref(), Some("us-west-2"), "{text}");
        }
        assert_eq!(region(image).as_deref(), Some("eu-central-1"));
        assert_eq!(region("# aws --region us-west-2\necho\n"), None);
    }
}
