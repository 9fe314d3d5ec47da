//! The settings of Bottlerocket: those of the group, and those of eksctl.

use super::fields::refused;
use super::group::EksctlGroup;
use crate::error::ImportError;
use crate::toml_table::{set_labels, set_taints, subtable};
use crate::tree::Tree;

/// Settings of the kubelet, each with the field of the group that stands for it.
const OF_GROUP: [(&str, &str); 3] = [
    ("node-labels", "labels"),
    ("node-taints", "taints"),
    ("max-pods", "maxPodsPerNode"),
];
/// Settings that EKS adds for managed groups.
const OF_EKS: [&str; 4] = [
    "api-server",
    "cluster-certificate",
    "cluster-name",
    "cluster-dns-ip",
];

/// The user's settings, and those of eksctl, which win.
pub(super) fn render(group: &EksctlGroup<'_>) -> Result<Vec<u8>, ImportError> {
    let own = group.tree.at(&["bottlerocket", "settings"]).map(Tree::to_json);
    let mut table = toml::Table::new();
    let settings = subtable(&mut table, "settings");
    if let Some(own) = own {
        *settings = toml::Table::try_from(own).map_err(|error| {
            group.invalid(
                format!("invalid settings of Bottlerocket: {error}"),
                "correct `bottlerocket.settings`; TOML has no null",
            )
        })?;
    }
    if let Some(is_on) = group.admin_container() {
        let admin = subtable(subtable(settings, "host-containers"), "admin");
        admin.entry("enabled").or_insert(is_on.into());
    }
    let kubernetes = subtable(settings, "kubernetes");
    if let Some(max_pods) = group.max_pods() {
        kubernetes.insert("max-pods".to_owned(), i64::from(max_pods).into());
    }
    // EKS gives them to the nodes of a managed group, in its settings or after the join.
    if !group.is_managed {
        set_labels(kubernetes, &group.labels());
        set_taints(kubernetes, &group.taints());
    }
    if !group.is_bootstrapped_by_eks() {
        let values = [
            ("cluster-name", &group.cluster.name),
            ("api-server", &group.cluster.endpoint),
            ("cluster-certificate", &group.cluster.certificate_authority),
        ];
        for (key, value) in values {
            let value = value.as_deref().unwrap_or_default();
            kubernetes.insert(key.to_owned(), value.into());
        }
    }
    // Bottlerocket asks EKS for an address that its settings do not have. The node of a run does not, and knows an IPv6
    // cluster by that address alone.
    let is_found = !group.is_bootstrapped_by_eks() && !kubernetes.contains_key("cluster-dns-ip");
    let of_cluster = group.cluster.dns_ip.clone().filter(|_| is_found);
    let of_ipv6 = of_cluster.filter(|address| address.contains(':'));
    if let Some(address) = group.text("clusterDNS").or(of_ipv6) {
        kubernetes.insert("cluster-dns-ip".to_owned(), address.into());
    }
    Ok(table.to_string().into_bytes())
}

impl EksctlGroup<'_> {
    /// Checks that the group states no setting that eksctl or EKS writes itself.
    ///
    /// # Errors
    /// eksctl refuses the setting.
    pub(super) fn check_bottlerocket(&self) -> Result<(), ImportError> {
        let Some(settings) = self.tree.at(&["bottlerocket", "settings"]) else {
            return Ok(());
        };
        self.check_fields_of_group(settings)?;
        if self.is_managed {
            self.check_managed(settings)
        } else {
            self.check_dns(settings)
        }
    }

    fn check_fields_of_group(&self, settings: &Tree) -> Result<(), ImportError> {
        // A managed group can state the number of pods.
        let mut fields = OF_GROUP
            .iter()
            .filter(|(key, _)| !self.is_managed || *key != "max-pods");
        let found = fields.find_map(|(key, field)| Some((settings.at(&["kubernetes", key])?, key, field)));
        match found {
            None => Ok(()),
            Some((tree, key, field)) => Err(refused(
                tree,
                format!("eksctl refuses the setting `kubernetes.{key}` of Bottlerocket"),
                &format!("write it as `{field}` of the group"),
            )),
        }
    }

    fn check_managed(&self, settings: &Tree) -> Result<(), ImportError> {
        let found = OF_EKS
            .iter()
            .find_map(|key| Some((settings.at(&["kubernetes", key])?, key)));
        if let Some((tree, key)) = found {
            return Err(refused(
                tree,
                format!("eksctl refuses the setting `kubernetes.{key}` of a managed group: EKS adds it"),
                &format!("remove `{key}`"),
            ));
        }
        let admin = settings.at(&["host-containers", "admin", "enabled"]);
        match admin.filter(|_| self.admin_container().is_some()) {
            None => Ok(()),
            Some(tree) => Err(refused(
                tree,
                "eksctl refuses the setting `host-containers.admin.enabled` beside `enableAdminContainer` or `ssh`".to_owned(),
                "remove one of the two",
            )),
        }
    }

    fn check_dns(&self, settings: &Tree) -> Result<(), ImportError> {
        let address = settings.at(&["kubernetes", "cluster-dns-ip"]);
        match address.filter(|_| self.tree.get("clusterDNS").is_some()) {
            None => Ok(()),
            Some(tree) => Err(refused(
                tree,
                "eksctl refuses the setting `kubernetes.cluster-dns-ip` beside `clusterDNS`".to_owned(),
                "remove one of the two",
            )),
        }
    }

    /// Whether Bottlerocket starts its admin container; `None`: as its settings say. Access by SSH needs it.
    fn admin_container(&self) -> Option<bool> {
        let stated = self.tree.text_at(&["bottlerocket", "enableAdminContainer"]);
        let ssh = |key: &str| self.tree.text_at(&["ssh", key]);
        let has_key = ["publicKey", "publicKeyName", "publicKeyPath"]
            .iter()
            .any(|key| ssh(key).is_some());
        let by_ssh = match ssh("allow").as_deref() {
            Some("true") => true,
            Some("false") => false,
            _ => has_key,
        };
        match stated {
            Some(word) => Some(word == "true"),
            None => by_ssh.then_some(true),
        }
    }
}
