//! The metadata tree: which paths exist, since which version, and what they hold.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::services::ec2::zones;
use crate::world::World;

/// The version roots, as `GET /` lists them.
pub const VERSIONS: &[&str] = &[
    "1.0",
    "2007-01-19",
    "2007-03-01",
    "2007-08-29",
    "2007-10-10",
    "2007-12-15",
    "2008-02-01",
    "2008-09-01",
    "2009-04-04",
    "2011-01-01",
    "2011-05-01",
    "2012-01-12",
    "2014-02-25",
    "2014-11-05",
    "2015-10-20",
    "2016-04-19",
    "2016-06-30",
    "2016-09-02",
    "2016-11-15",
    "2016-11-30",
    "2018-03-28",
    "2018-05-23",
    "2018-08-17",
    "2018-09-24",
    "2018-11-29",
    "2019-10-01",
    "2020-08-24",
    "2020-10-27",
    "2020-11-01",
    "2021-01-03",
    "2021-03-23",
    "2021-07-15",
    "latest",
];

/// What stands at the end of a path.
#[derive(Debug, Clone)]
pub enum Leaf {
    /// A text that does not change.
    Text(String),
    /// User data.
    UserData(Bytes),
    /// The role's credentials.
    Credentials,
    /// The instance profile.
    ProfileInfo,
    /// The credentials that EC2 itself knows the instance by. They sign nothing here, as they do nothing for users on EC2.
    IdentityCredentials,
    /// About those.
    IdentityInfo,
    /// The identity document.
    IdentityDocument,
    /// A signature of the identity document, of so many bytes.
    IdentitySignature(usize),
}

/// What a path leads to.
#[derive(Debug, Clone)]
pub enum Found {
    /// A value.
    Leaf(Leaf),
    /// The names of a folder, folders among them with a slash at their end.
    Listing(Vec<String>),
    /// Nothing.
    Nothing,
}

/// The metadata tree of an instance.
#[derive(Debug)]
pub struct Tree {
    leaves: BTreeMap<String, (&'static str, Leaf)>,
    /// Folders that exist even where they are empty.
    folders: BTreeMap<String, &'static str>,
}

impl Tree {
    /// The tree of a world's instance.
    #[must_use]
    pub fn of(world: &World) -> Self {
        let mut tree = Self {
            leaves: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        tree.add_instance(world);
        tree.add_network(world);
        tree.add_placement(world);
        tree.add_role(world);
        tree.add_tags(world);
        tree.add_dynamic();
        if let Some(bytes) = &world.user_data {
            tree.leaves.insert(
                "user-data".to_owned(),
                ("1.0", Leaf::UserData(Bytes::copy_from_slice(bytes))),
            );
        }
        tree
    }

    /// What a path below a version root leads to. Versions compare as text: `1.0` before every date, `latest` after.
    #[must_use]
    pub fn find(&self, version: &str, path: &str) -> Found {
        let path = path.trim_end_matches('/');
        if let Some((since, leaf)) = self.leaves.get(path) {
            return if *since <= version {
                Found::Leaf(leaf.clone())
            } else {
                Found::Nothing
            };
        }
        let names = self.names(version, path);
        let exists = self.folders.get(path).is_some_and(|since| *since <= version);
        if names.is_empty() && !exists {
            Found::Nothing
        } else {
            Found::Listing(names)
        }
    }

    fn names(&self, version: &str, folder: &str) -> Vec<String> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let visible = self
            .leaves
            .iter()
            .filter(|(_, (since, _))| *since <= version)
            .map(|(path, _)| path);
        let folders = self
            .folders
            .iter()
            .filter(|(_, since)| **since <= version)
            .map(|(path, _)| path);
        let mut names = BTreeSet::new();
        for rest in visible.filter_map(|path| path.strip_prefix(&prefix)) {
            names.insert(first_name(rest));
        }
        for rest in folders
            .filter_map(|path| path.strip_prefix(&prefix))
            .filter(|rest| !rest.is_empty())
        {
            names.insert(first_name(&format!("{rest}/")));
        }
        // The root's folders stand there without their slash.
        let root = folder.is_empty();
        names
            .into_iter()
            .map(|(name, is_folder)| {
                if is_folder && !root {
                    format!("{name}/")
                } else {
                    name
                }
            })
            .collect()
    }

    /// Adds a value below `meta-data/`.
    fn text(&mut self, path: &str, since: &'static str, value: impl Into<String>) {
        self.leaves
            .insert(format!("meta-data/{path}"), (since, Leaf::Text(value.into())));
    }

    fn add_instance(&mut self, world: &World) {
        let instance = &world.instance;
        let rows: [(&str, &'static str, &str); 23] = [
            ("ami-id", "1.0", &instance.ami),
            ("ami-launch-index", "1.0", "0"),
            ("ami-manifest-path", "1.0", "(unknown)"),
            ("block-device-mapping/ami", "2007-12-15", "/dev/xvda"),
            ("block-device-mapping/root", "2007-12-15", "/dev/xvda"),
            ("events/maintenance/history", "2018-08-17", "[]"),
            ("events/maintenance/scheduled", "2018-08-17", "[]"),
            ("hibernation/configured", "2018-11-29", "false"),
            ("hostname", "1.0", &instance.host_name),
            ("instance-action", "2008-09-01", "none"),
            ("instance-id", "1.0", instance.id.as_str()),
            ("instance-life-cycle", "2019-10-01", &instance.life_cycle),
            ("instance-type", "2007-08-29", &instance.instance_type),
            ("local-hostname", "2007-01-19", &instance.host_name),
            ("local-ipv4", "1.0", &instance.private_ip.to_string()),
            ("mac", "2011-01-01", &instance.mac),
            (
                "metrics/vhostmd",
                "2011-05-01",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            ),
            ("profile", "2007-12-15", "default-hvm"),
            ("reservation-id", "1.0", &zones::reservation_id(instance)),
            ("security-groups", "1.0", zones::SECURITY_GROUP),
            ("services/domain", "2014-02-25", world.region.dns_suffix()),
            ("services/partition", "2015-10-20", world.region.partition()),
            ("system", "2018-08-17", "nitro"),
        ];
        for (path, since, value) in rows {
            self.text(path, since, value);
        }
    }

    fn add_network(&mut self, world: &World) {
        let instance = &world.instance;
        let address = instance.private_ip.to_string();
        let primary = instance.vpc_cidrs.first().map(String::as_str).unwrap_or_default();
        let rows: [(&str, &'static str, &str); 14] = [
            ("device-number", "2011-01-01", "0"),
            ("interface-id", "2011-01-01", &instance.network_interface_id),
            ("local-hostname", "2011-01-01", &instance.host_name),
            ("local-ipv4s", "2011-01-01", &address),
            ("mac", "2011-01-01", &instance.mac),
            ("owner-id", "2011-01-01", world.account.as_str()),
            ("security-group-ids", "2011-01-01", &instance.security_group_id),
            ("security-groups", "2011-01-01", zones::SECURITY_GROUP),
            ("subnet-id", "2011-01-01", &instance.subnet_id),
            ("subnet-ipv4-cidr-block", "2011-01-01", &instance.subnet_cidr),
            ("vpc-id", "2011-01-01", &instance.vpc_id),
            ("vpc-ipv4-cidr-block", "2011-01-01", primary),
            (
                "vpc-ipv4-cidr-blocks",
                "2016-06-30",
                &instance.vpc_cidrs.join("\n"),
            ),
            ("network-card", "2020-11-01", "0"),
        ];
        for (path, since, value) in rows {
            self.text(
                &format!("network/interfaces/macs/{}/{path}", instance.mac),
                since,
                value,
            );
        }
    }

    fn add_placement(&mut self, world: &World) {
        let zone = &world.instance.availability_zone;
        self.text("placement/availability-zone", "2008-02-01", zone);
        self.text(
            "placement/availability-zone-id",
            "2020-08-24",
            zones::zone_id(world.region.as_str(), zone),
        );
        self.text("placement/region", "2020-08-24", world.region.as_str());
    }

    fn add_role(&mut self, world: &World) {
        let identity = [
            ("info", Leaf::IdentityInfo),
            ("security-credentials/ec2-instance", Leaf::IdentityCredentials),
        ];
        for (path, leaf) in identity {
            self.leaves.insert(
                format!("meta-data/identity-credentials/ec2/{path}"),
                ("2018-05-23", leaf),
            );
        }
        let Some(role) = &world.role else { return };
        self.leaves
            .insert("meta-data/iam/info".to_owned(), ("2012-01-12", Leaf::ProfileInfo));
        let path = format!("meta-data/iam/security-credentials/{}", role.name);
        self.leaves.insert(path, ("2012-01-12", Leaf::Credentials));
    }

    fn add_tags(&mut self, world: &World) {
        if !world.instance.metadata.instance_tags {
            return;
        }
        // An instance without tags has the folder all the same, empty.
        self.folders
            .insert("meta-data/tags/instance".to_owned(), "2021-03-23");
        for (key, value) in &world.instance.tags {
            self.text(&format!("tags/instance/{key}"), "2021-03-23", value);
        }
    }

    fn add_dynamic(&mut self) {
        let rows = [
            (
                "fws/instance-monitoring",
                "2009-04-04",
                Leaf::Text("disabled".to_owned()),
            ),
            ("instance-identity/document", "2009-04-04", Leaf::IdentityDocument),
            // RSA of 1024 bits, a PKCS 7 structure around one, and a PKCS 7 structure with RSA of 2048 bits.
            (
                "instance-identity/signature",
                "2009-04-04",
                Leaf::IdentitySignature(128),
            ),
            (
                "instance-identity/pkcs7",
                "2009-04-04",
                Leaf::IdentitySignature(914),
            ),
            (
                "instance-identity/rsa2048",
                "2016-06-30",
                Leaf::IdentitySignature(1_264),
            ),
        ];
        for (path, since, leaf) in rows {
            self.leaves.insert(format!("dynamic/{path}"), (since, leaf));
        }
    }
}

fn first_name(rest: &str) -> (String, bool) {
    match rest.split_once('/') {
        Some((name, _)) => (name.to_owned(), true),
        None => (rest.to_owned(), false),
    }
}
