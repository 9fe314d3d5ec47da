//! A class and a pool together: what Karpenter tells the node, and what the node must be.

use std::collections::BTreeMap;

use nodejoin_core::plan::instance_type::DEFAULT_INSTANCE_TYPE;

use super::fields::{check_class, check_pool};
use super::labels::{is_kept, not_checked, notes};
use super::node_class::{NodeClass, one_of_all};
use super::node_options::NodeOptions;
use super::node_pool::NodePool;
use super::refusals::{check_class_values, check_pool_values, missing_fields, unstated_terms};
use super::render::user_data;
use super::replaced_dns::replaced_dns;
use super::unknown_types::unknown_type;
use crate::adopt::Stated;
use crate::architecture::add_arm64_type;
use crate::error::ImportError;
use crate::input::Import;
use crate::instance_types::max_pods;
use crate::machine::{AmiFamily, ClusterTraits, Machine, Taint, TaintEffect};
use crate::tree::Tree;
use crate::words::{dns_ip, family_of_image, service_network};

/// Karpenter removes this taint when it has seen the node, and ends nodes without it.
const UNREGISTERED: &str = "karpenter.sh/unregistered";

/// The node that a pool starts.
pub(super) struct KarpenterNode<'a> {
    pub(super) input: &'a Import<'a>,
    pub(super) class: &'a NodeClass<'a>,
    pub(super) pool: Option<&'a NodePool<'a>>,
    /// Pools whose class the file does not define.
    pub(super) strays: &'a [&'a NodePool<'a>],
    /// Another tool, such as Terraform, makes text of numbers and booleans before the API server sees them.
    pub(super) is_converted: bool,
}

/// Whether the user data of a class calls the bootstrap script itself.
fn starts_kubelet(text: &str) -> bool {
    let words = ["", "exec ", "sudo ", "bash "];
    text.lines().map(str::trim).any(|line| {
        words.iter().any(|word| {
            let rest = line
                .strip_prefix(word)
                .and_then(|rest| rest.strip_prefix("/etc/eks/bootstrap.sh"));
            // Not a copy of the script, such as /etc/eks/bootstrap.sh.orig.
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        })
    })
}

impl KarpenterNode<'_> {
    pub(super) fn name(&self) -> String {
        match self.pool {
            Some(pool) => pool.name.clone(),
            None => self.class.name.clone(),
        }
    }

    pub(super) fn machine(&self) -> Result<Machine, ImportError> {
        self.class.check_launch_template()?;
        let mut unknown = Vec::new();
        check_class(self.class.document, &self.class.kind, &mut unknown)?;
        check_class_values(self.class, self.is_converted)?;
        if let Some(pool) = self.pool {
            check_pool(pool.document, &mut unknown)?;
            check_pool_values(pool, self.is_converted)?;
        }
        let family = self.class.family()?;
        self.class.check_custom_user_data()?;
        let options = self.options(family);
        let own = self.class.user_data();
        let mut machine = Machine {
            name: self.name(),
            line: own.unwrap_or(self.class.document).line(),
            traits: self.class.traits(),
            notes: unknown,
            problems: match self.is_converted {
                true => unstated_terms(self.class).into_iter().collect(),
                false => missing_fields(self.class),
            },
            ..Machine::default()
        };
        let text = own.and_then(Tree::text).unwrap_or_default();
        machine.user_data = user_data(self.class, family, text, &options, &mut machine.notes)?;
        if family == AmiFamily::Al2023 {
            machine.notes.extend(replaced_dns(text, &options));
        }
        self.describe(&mut machine, family, text, options);
        Ok(machine)
    }

    fn describe(&self, machine: &mut Machine, family: AmiFamily, text: &str, options: NodeOptions<'_>) {
        let traits = &mut machine.traits;
        let cluster = options.cluster.name.clone().unwrap_or_default();
        traits
            .tags
            .insert(format!("kubernetes.io/cluster/{cluster}"), "owned".to_owned());
        traits.tags.insert("eks:eks-cluster-name".to_owned(), cluster);
        if let Some(pool) = self.pool {
            traits.tags.insert(pool.label.to_owned(), pool.name.clone());
            machine.notes.extend(notes(pool));
            machine.not_checked.extend(not_checked(pool));
            for tree in pool.instance_types() {
                unknown_type(tree, &mut machine.notes, &mut machine.problems);
            }
        }
        traits.ami_family = Some(self.booted_family(family, &mut machine.notes));
        traits.instance_type = self.pool.and_then(NodePool::instance_type);
        if self.pool.is_some_and(NodePool::is_arm64) || self.class.is_arm64() {
            add_arm64_type(traits);
        }
        traits.is_spot = self.pool.is_some_and(|pool| pool.capacity_type() == "spot");
        traits.taints = options.taints;
        traits.labels = options.labels;
        if family == AmiFamily::Custom {
            traits.leave_to_karpenter(UNREGISTERED);
        } else if starts_kubelet(text) && matches!(family, AmiFamily::Al2 | AmiFamily::Ubuntu) {
            traits.leave_to_karpenter(UNREGISTERED);
            let note = "the user data calls /etc/eks/bootstrap.sh before Karpenter's part does: the kubelet starts with the \
                        flags of this call and restarts with those of Karpenter's, and the Node keeps the labels and taints of the \
                        first start that registers it";
            let taint = match self.class.is_v1() {
                true => ", and Karpenter ends a node without the taint `karpenter.sh/unregistered`",
                false => "",
            };
            machine.notes.push(format!("{note}{taint}"));
        } else {
            traits.max_pods = options.max_pods;
        }
        traits.cluster = self.cluster();
        if self.pool.is_none() {
            let strays = self.strays.iter().map(|pool| pool.named_class());
            let strays = strays.collect::<Vec<_>>().join(", ");
            let strays = match strays.is_empty() {
                true => strays,
                false => format!(" ({strays}, which the file does not define)"),
            };
            let name = match self.class.name.is_empty() {
                true => String::new(),
                false => format!(" `{}`", self.class.name),
            };
            machine.notes.push(format!(
                "the file has no NodePool of the class{name}{strays}: its labels, taints and instance types are not tried"
            ));
        }
    }

    /// The family of the AMI that boots: that of its alias or name. Karpenter may write user data for another one.
    fn booted_family(&self, written_for: AmiFamily, notes: &mut Vec<String>) -> AmiFamily {
        // Without user data, Bottlerocket would be taken for a node of a managed group, to which EKS adds the cluster.
        let has_user_data = self.class.user_data().is_some();
        let of_alias = self.class.family_of_alias();
        let of_alias = of_alias.filter(|family| *family != AmiFamily::Bottlerocket || has_user_data);
        if let Some(family) = of_alias.filter(|_| written_for == AmiFamily::Custom) {
            return family;
        }
        let names = self.class.image_names();
        let named = one_of_all(names.iter().map(|name| family_of_image(name)));
        let named = named.filter(|named| {
            let is_of_linux =
                |family| matches!(family, AmiFamily::Al2 | AmiFamily::Al2023 | AmiFamily::Ubuntu);
            *named != written_for
                && is_of_linux(*named)
                && (is_of_linux(written_for) || written_for == AmiFamily::Custom)
        });
        let Some(booted) = named else {
            return written_for;
        };
        if written_for != AmiFamily::Custom {
            notes.push(format!(
                "the class selects the AMI `{}`, which is one of {}, and Karpenter writes user data for {}: the node boots that AMI \
                 here, with that user data",
                names.join("`, `"),
                booted.name(),
                written_for.name()
            ));
        }
        booted
    }

    /// The cluster of the command line, else the one that the user data of the class names.
    fn cluster(&self) -> ClusterTraits {
        let text = self.class.user_data().and_then(Tree::text).unwrap_or_default();
        let stated = Stated::of(text.as_bytes());
        let mut named = stated.cluster();
        // Karpenter asks the cluster for the address: the user data can have that of a cache on the node. A call of the
        // bootstrap script in the user data gives it to the kubelet.
        let is_of_call = !stated.calls.is_empty();
        named.dns_ip = named
            .dns_ip
            .filter(|dns| is_of_call || service_network(dns).is_some());
        self.input.cluster.clone().or(&named)
    }

    /// The cluster in Karpenter's part. `dns`: the address that class or pool states. An address of the cluster's DNS
    /// service tells the network, and the network tells the address.
    fn cluster_of_part(&self, dns: Option<String>) -> ClusterTraits {
        let mut cluster = self.cluster();
        let known = dns.as_deref().or(cluster.dns_ip.as_deref());
        let network = known.and_then(service_network).map(str::to_owned);
        cluster.service_cidr = cluster.service_cidr.or(network);
        let of_network = cluster.service_cidr.as_deref().and_then(dns_ip);
        cluster.dns_ip = dns.or(cluster.dns_ip).or(of_network);
        cluster.or(&ClusterTraits::stand_in())
    }

    fn options(&self, family: AmiFamily) -> NodeOptions<'_> {
        let kubelet = self
            .class
            .document
            .at(&["spec", "kubelet"])
            .or_else(|| self.pool.and_then(|pool| pool.kubelet));
        let instance_type = self.pool.and_then(NodePool::instance_type);
        // Karpenter's own choice depends on pending pods. The stand-in for arm64 has as many as the default type.
        let by_type = max_pods(instance_type.as_deref().unwrap_or(DEFAULT_INSTANCE_TYPE));
        let stated = kubelet.and_then(|kubelet| kubelet.text_at(&["maxPods"])?.parse().ok());
        let dns = kubelet.and_then(|kubelet| kubelet.text_at(&["clusterDNS", "0"]));
        NodeOptions {
            cluster: self.cluster_of_part(dns),
            labels: self.labels(family),
            taints: self.taints(),
            max_pods: stated.or(by_type),
            kubelet,
            is_raid0: self.class.text("instanceStorePolicy").as_deref() == Some("RAID0"),
        }
    }

    /// The kubelet may not set labels of Kubernetes' own domains itself: Karpenter adds those after the join.
    fn labels(&self, family: AmiFamily) -> BTreeMap<String, String> {
        let mut labels = self.pool.map(NodePool::labels).unwrap_or_default();
        labels.retain(|key, _| !is_kept(key));
        if let Some(pool) = self.pool {
            labels.insert("karpenter.sh/capacity-type".to_owned(), pool.capacity_type());
        }
        // Karpenter has this label since 1.1, which has no v1beta1.
        if self.class.kind == "EC2NodeClass" && self.class.is_v1() {
            labels.insert(
                "karpenter.k8s.aws/ec2nodeclass".to_owned(),
                self.class.name.clone(),
            );
        }
        if self.class.is_v1() && family != AmiFamily::Custom {
            labels.insert("karpenter.sh/do-not-sync-taints".to_owned(), "true".to_owned());
        }
        labels
    }

    fn taints(&self) -> Vec<Taint> {
        let mut taints = self.pool.map(NodePool::taints).unwrap_or_default();
        let unregistered = Taint {
            key: UNREGISTERED.to_owned(),
            value: String::new(),
            effect: TaintEffect::NoExecute,
        };
        if self.class.is_v1() && !taints.iter().any(|taint| taint.key == unregistered.key) {
            taints.push(unregistered);
        }
        taints
    }
}
