//! DescribeRepositories, DescribeImages and BatchGetImage: the images that the registry serves.

use nodejoin_core::vocabulary::operation::EcrOperation as Operation;
use serde_json::{Value, json};

use crate::http::{Response, ServiceError};
use crate::images::{Blob, RegistryImage, RegistryScope, Tags};
use crate::instance::Instance;
use crate::wire;

/// The members that an operation reads.
pub(super) const fn accepted(operation: Operation) -> &'static [&'static str] {
    match operation {
        // A registry returns the manifest in its own format, as ECR does for a format that it cannot convert to.
        Operation::BatchGetImage => &["acceptedMediaTypes", "imageIds", "registryId", "repositoryName"],
        Operation::DescribeImages => &["imageIds", "registryId", "repositoryName"],
        Operation::DescribeRepositories => &["registryId", "repositoryNames"],
        Operation::GetAuthorizationToken => &["registryIds"],
    }
}

/// The repositories of the account, as one request sees them.
pub(super) struct Repositories<'a> {
    pub instance: &'a Instance,
    pub region: &'a str,
    pub body: &'a Value,
}

impl Repositories<'_> {
    /// The resource that policies check.
    pub(super) fn resource(&self) -> String {
        match self.body["repositoryName"].as_str() {
            Some(name) => self.arn(name),
            None => "*".to_owned(),
        }
    }

    fn arn(&self, name: &str) -> String {
        let world = &self.instance.world;
        let (partition, account) = (world.region.partition(), &world.account);
        format!("arn:{partition}:ecr:{}:{account}:repository/{name}", self.region)
    }

    /// The names of the repositories; none in another region or of another account.
    fn names(&self) -> Vec<&str> {
        let world = &self.instance.world;
        let account = self.body["registryId"].as_str();
        let is_here = self.region == world.region.as_str()
            && account.is_none_or(|account| account == world.account.as_str());
        let all = world.aws.repositories.iter().filter(|_| is_here);
        all.map(|repository| repository.name.as_str()).collect()
    }

    fn check(&self, name: &str) -> Result<(), ServiceError> {
        if self.names().contains(&name) {
            return Ok(());
        }
        let own = self.instance.world.account.as_str();
        let account = self.body["registryId"].as_str().unwrap_or(own);
        let message =
            format!("The repository with name '{name}' does not exist in the registry with id '{account}'");
        Err(ServiceError::new(400, "RepositoryNotFoundException", message))
    }

    fn created(&self) -> u64 {
        let created = self.instance.launched.duration_since(std::time::UNIX_EPOCH);
        created.unwrap_or_default().as_secs()
    }

    pub(super) fn describe(&self) -> Result<Response, ServiceError> {
        let world = &self.instance.world;
        let requested: Vec<&str> = texts(&self.body["repositoryNames"]);
        requested.iter().try_for_each(|name| self.check(name))?;
        let mut names = self.names();
        names.retain(|name| requested.is_empty() || requested.contains(name));
        let host = format!(
            "{}.dkr.ecr.{}.{}",
            world.account,
            self.region,
            world.region.dns_suffix()
        );
        let repositories = names.iter().map(|name| {
            json!({
                "createdAt": self.created(),
                "encryptionConfiguration": { "encryptionType": "AES256" },
                "imageScanningConfiguration": { "scanOnPush": false },
                "imageTagMutability": "MUTABLE",
                "registryId": world.account,
                "repositoryArn": self.arn(name),
                "repositoryName": name,
                "repositoryUri": format!("{host}/{name}"),
            })
        });
        Ok(wire::json11(
            &json!({ "repositories": repositories.collect::<Vec<_>>() }),
        ))
    }

    /// The images of the requested repository.
    fn images(&self) -> Result<(&str, Vec<&RegistryImage>), ServiceError> {
        let name = self.body["repositoryName"].as_str().unwrap_or_default();
        self.check(name)?;
        let all = self.instance.world.images.iter();
        let images = all.filter(|image| image.repository == name && image.scope == RegistryScope::OwnAccount);
        Ok((name, images.collect()))
    }

    pub(super) fn describe_images(&self) -> Result<Response, ServiceError> {
        let (name, images) = self.images()?;
        let requested: Vec<ImageId<'_>> = ids(self.body);
        if let Some(missing) = requested.iter().find(|id| id.find(&images).is_none()) {
            let account = &self.instance.world.account;
            let message = format!(
                "The image with imageId {missing} does not exist within the repository with name '{name}' in the registry \
                 with id '{account}'"
            );
            return Err(ServiceError::new(400, "ImageNotFoundException", message));
        }
        let is_requested = |image: &&RegistryImage| {
            requested.is_empty() || requested.iter().any(|id| id.find(&[*image]).is_some())
        };
        let found = images.into_iter().filter(is_requested);
        let details = found.filter_map(|image| {
            let manifest = image.first_manifest()?;
            let mut written = json!({
                "artifactMediaType": image.config_type(),
                "imageDigest": manifest.digest,
                "imageManifestMediaType": manifest.media_type,
                "imagePushedAt": self.created(),
                "imageSizeInBytes": image.size(),
                "registryId": self.instance.world.account,
                "repositoryName": name,
            });
            if let Tags::Only(tags) = &image.tags
                && !tags.is_empty()
            {
                written["imageTags"] = json!(tags);
            }
            Some(written)
        });
        Ok(wire::json11(
            &json!({ "imageDetails": details.collect::<Vec<_>>() }),
        ))
    }

    pub(super) fn get_images(&self) -> Result<Response, ServiceError> {
        let (name, images) = self.images()?;
        let (mut found, mut failures) = (Vec::new(), Vec::new());
        for id in ids(self.body) {
            match id.find(&images) {
                Some(manifest) => found.push(json!({
                    "imageId": { "imageDigest": manifest.digest, "imageTag": id.tag },
                    "imageManifest": manifest.text(),
                    "imageManifestMediaType": manifest.media_type,
                    "registryId": self.instance.world.account,
                    "repositoryName": name,
                })),
                None => failures.push(json!({
                    "failureCode": "ImageNotFound",
                    "failureReason": "Requested image not found",
                    "imageId": { "imageDigest": id.digest, "imageTag": id.tag },
                })),
            }
        }
        Ok(wire::json11(&json!({ "failures": failures, "images": found })))
    }
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

/// A tag or a digest in a request.
struct ImageId<'a> {
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

fn ids(body: &Value) -> Vec<ImageId<'_>> {
    let ids = body["imageIds"].as_array().into_iter().flatten();
    let ids = ids.map(|id| ImageId {
        tag: id["imageTag"].as_str(),
        digest: id["imageDigest"].as_str(),
    });
    ids.collect()
}

impl ImageId<'_> {
    fn find<'i>(&self, images: &[&'i RegistryImage]) -> Option<&'i Blob> {
        let reference = self.digest.or(self.tag)?;
        let mut manifests = images.iter().filter_map(|image| image.manifest(reference));
        manifests.next()
    }
}

impl std::fmt::Display for ImageId<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = |value: Option<&str>| match value {
            Some(value) => format!("'{value}'"),
            None => "'null'".to_owned(),
        };
        write!(
            f,
            "{{imageDigest:{}, imageTag:{}}}",
            part(self.digest),
            part(self.tag)
        )
    }
}
