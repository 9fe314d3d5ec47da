//! The configuration of a plan: the arguments of its resources as they are written, and its providers.

use nodejoin_core::plan::region::Region;

use super::address::{steps, without_indexes};
use super::resource::TerraformResource;
use crate::tree::Tree;

/// The provider of resources that name none.
const DEFAULT_PROVIDER: &str = "aws";

/// The configuration of a plan, and the values of its variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Configuration<'a> {
    root: &'a Tree,
    providers: Option<&'a Tree>,
    variables: Option<&'a Tree>,
}

impl<'a> Configuration<'a> {
    /// The configuration of a document, if it has one.
    pub(super) fn of(document: &'a Tree) -> Option<Self> {
        Some(Self {
            root: document.at(&["configuration", "root_module"])?,
            providers: document.at(&["configuration", "provider_config"]),
            variables: document.get("variables"),
        })
    }

    /// A module by its address, which ends with a `.`, or is empty for the root module.
    pub(super) fn module(&self, address: &str) -> Option<&'a Tree> {
        let plain = without_indexes(address);
        let mut names = plain.split('.').skip(1).step_by(2);
        names.try_fold(self.root, |module, name| {
            module.at(&["module_calls", name, "module"])
        })
    }

    /// A resource as it is written.
    pub(super) fn resource(&self, resource: &TerraformResource<'_>) -> Option<&'a Tree> {
        let module = resource.module();
        let plain = without_indexes(&resource.address[module.len()..]);
        let mut resources = self.module(module)?.items_at(&["resources"]).iter();
        resources.find(|one| one.text_at(&["address"]).as_deref() == Some(plain.as_str()))
    }

    /// The region of the resource's provider.
    pub(super) fn region(&self, resource: &TerraformResource<'_>) -> Option<String> {
        let own = self
            .resource(resource)
            .and_then(|own| own.text_at(&["provider_config_key"]));
        // A module's key for a provider that it inherits begins with the module.
        let inherited = own.as_deref().and_then(|key| key.rsplit(':').next());
        let keys = [own.as_deref(), inherited, Some(DEFAULT_PROVIDER)];
        let providers = keys
            .into_iter()
            .flatten()
            .filter_map(|key| self.providers?.get(key));
        let mut with_region =
            providers.filter_map(|provider| Some((provider, provider.at(&["expressions", "region"])?)));
        let (provider, region) = with_region.next()?;
        let is_of_root = provider.get("module_address").is_none();
        let value = match region.text_at(&["constant_value"]) {
            Some(value) => value,
            None => self.variable(&region.text_at(&["references", "0"]).filter(|_| is_of_root)?)?,
        };
        value.parse::<Region>().ok().map(|_| value)
    }

    /// The value of a variable of the root module, such as `var.region` or `var.settings.region`.
    fn variable(&self, reference: &str) -> Option<String> {
        let steps = steps(reference);
        let ["var", name, rest @ ..] = &steps[..] else {
            return None;
        };
        let value = |tree: Option<&Tree>, key: &str| tree?.at(&[*name, key])?.text_at(rest);
        value(self.variables, "value").or_else(|| value(self.root.get("variables"), "default"))
    }
}
