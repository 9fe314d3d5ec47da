//! The metadata of an instance: the paths of its tree, and their values.

mod network;
mod tree;

use bytes::Bytes;
use nodejoin_core::plan::aws::SpotAction;

pub(crate) use self::tree::{Leaf, Lookup, MetadataTree, TreeView};
use crate::ec2_names;
use crate::identity::DocumentSignature;
use crate::world::World;

/// The version roots, in the order of `GET /`.
pub(crate) const VERSIONS: &[&str] = &[
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

impl MetadataTree {
    #[must_use]
    pub(crate) fn of(world: &World) -> Self {
        let mut tree = Self::default();
        tree.add_instance(world);
        network::add(&mut tree, world);
        tree.add_placement(world);
        tree.add_role(world);
        tree.add_tags(world);
        tree.add_public_keys(world);
        tree.add_notices(world);
        tree.add_dynamic();
        if let Some(bytes) = &world.user_data {
            tree.add("user-data", Leaf::UserData(Bytes::copy_from_slice(bytes)));
        }
        tree
    }

    fn add_instance(&mut self, world: &World) {
        let instance = &world.instance;
        let host_name = network::local_host_name(instance);
        let rows: [(&str, &str); 23] = [
            ("ami-id", &instance.ami),
            ("ami-launch-index", "0"),
            ("ami-manifest-path", "(unknown)"),
            ("block-device-mapping/ami", "/dev/xvda"),
            ("block-device-mapping/root", "/dev/xvda"),
            ("events/maintenance/history", "[]"),
            ("events/maintenance/scheduled", "[]"),
            ("hibernation/configured", "false"),
            ("hostname", &host_name),
            ("instance-action", "none"),
            ("instance-id", instance.id.as_str()),
            ("instance-life-cycle", instance.life_cycle.as_str()),
            ("instance-type", &instance.instance_type),
            ("local-hostname", &host_name),
            ("local-ipv4", &instance.private_ip.to_string()),
            ("mac", &instance.mac),
            ("metrics/vhostmd", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"),
            ("profile", "default-hvm"),
            ("reservation-id", &ec2_names::reservation_id(instance)),
            ("security-groups", ec2_names::SECURITY_GROUP),
            ("services/domain", world.region.dns_suffix()),
            ("services/partition", world.region.partition()),
            ("system", "nitro"),
        ];
        for (path, value) in rows {
            self.text(path, value);
        }
        for (number, volume) in (1..).zip(&instance.volumes) {
            self.text(&format!("block-device-mapping/ebs{number}"), &volume.device);
        }
    }

    fn add_placement(&mut self, world: &World) {
        let zone = &world.instance.availability_zone;
        self.text("placement/availability-zone", zone);
        self.text("placement/availability-zone-id", world.region.zone_id(zone));
        self.text("placement/region", world.region.as_str());
    }

    fn add_role(&mut self, world: &World) {
        let identity = [
            ("info", Leaf::IdentityInfo),
            ("security-credentials/ec2-instance", Leaf::IdentityCredentials),
        ];
        for (path, leaf) in identity {
            self.add(&format!("meta-data/identity-credentials/ec2/{path}"), leaf);
        }
        let Some(role) = &world.role else { return };
        let after = world.instance.metadata.credentials.after_seconds;
        self.add_from("meta-data/iam/info", after, Leaf::ProfileInfo);
        let path = format!("meta-data/iam/security-credentials/{}", role.name);
        self.add_from(&path, after, Leaf::Credentials);
    }

    fn add_tags(&mut self, world: &World) {
        if !world.instance.metadata.instance_tags {
            return;
        }
        // An instance without tags has an empty directory.
        self.directories
            .insert("meta-data/tags/instance".to_owned(), "2021-03-23");
        for (key, value) in &world.instance.tags {
            self.text(&format!("tags/instance/{key}"), value);
        }
    }

    /// `0=name` in the listing, `0/openssh-key` below: clients parse the number from the listing.
    fn add_public_keys(&mut self, world: &World) {
        for (index, (name, key)) in world.instance.metadata.public_keys.iter().enumerate() {
            self.public_keys.push(format!("{index}={name}"));
            self.text(&format!("public-keys/{index}/openssh-key"), key);
        }
    }

    /// Paths that appear while the instance runs.
    fn add_notices(&mut self, world: &World) {
        let metadata = &world.instance.metadata;
        if let Some(notice) = &metadata.spot_notice {
            let (from, word) = (notice.after_seconds, notice.action.word());
            // The action follows two minutes after its notice.
            let seconds = from + 120.0;
            let form = format!("{{\"action\": \"{word}\", \"time\": \"{{}}\"}}");
            let action = Leaf::Later { form, seconds };
            self.add_from("meta-data/spot/instance-action", from, action);
            if notice.action == SpotAction::Terminate {
                let form = "{}".to_owned();
                let time = Leaf::Later { form, seconds };
                self.add_from("meta-data/spot/termination-time", from, time);
            }
        }
        if let Some(seconds) = metadata.rebalance_after_seconds {
            let form = "{\"noticeTime\": \"{}\"}".to_owned();
            let notice = Leaf::Later { form, seconds };
            let path = "meta-data/events/recommendations/rebalance";
            self.add_from(path, seconds, notice);
        }
        if let Some(state) = &metadata.lifecycle_state {
            self.text("autoscaling/target-lifecycle-state", state);
        }
    }

    fn add_dynamic(&mut self) {
        let monitoring = Leaf::Text("disabled".to_owned());
        let rows = [
            ("fws/instance-monitoring", monitoring),
            ("instance-identity/document", Leaf::IdentityDocument),
            (
                "instance-identity/signature",
                Leaf::IdentitySignature(DocumentSignature::Signature),
            ),
            (
                "instance-identity/pkcs7",
                Leaf::IdentitySignature(DocumentSignature::Pkcs7),
            ),
            (
                "instance-identity/rsa2048",
                Leaf::IdentitySignature(DocumentSignature::Rsa2048),
            ),
        ];
        for (path, leaf) in rows {
            self.add(&format!("dynamic/{path}"), leaf);
        }
    }
}
