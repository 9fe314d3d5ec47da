//! Cluster API: bootstrap configurations for nodes of EKS and kubeadm, and the Secret that holds rendered user data.
//!
//! | file | content |
//! | --- | --- |
//! | `manifests.rs` | finds the manifests that belong together |
//! | `cluster.rs` | the cluster of machines |
//! | `images.rs` | the AMI that Cluster API looks up |
//! | `config.rs` | a bootstrap configuration, and what other manifests state about its machines |
//! | `eks_config.rs` | EKSConfig: cloud-config that calls bootstrap.sh |
//! | `nodeadm_config.rs` | NodeadmConfig: a MIME message with a NodeConfig |
//! | `kubeadm_config.rs` | KubeadmConfig: cloud-config that calls kubeadm |
//! | `managed_pool.rs` | AWSManagedMachinePool: EKS bootstraps its nodes |
//! | `references.rs` | manifests that the file does not define |
//! | `sections.rs` | files, users, disks and mounts as sections of a cloud-config |
//! | `machines.rs` | the machine of a bootstrap configuration |
//! | `secret.rs` | the bootstrap Secret |

mod cluster;
mod config;
mod eks_config;
mod images;
mod kubeadm_config;
mod machines;
mod managed_pool;
mod manifests;
mod nodeadm_config;
mod references;
mod secret;
mod sections;

use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use config::BootstrapConfig;

/// Whether a manifest belongs to Cluster API.
pub(crate) fn is_manifest(document: &Tree) -> bool {
    document
        .text_at(&["apiVersion"])
        .is_some_and(|api| api.contains(".cluster.x-k8s.io/"))
}

/// Whether a manifest is a bootstrap Secret.
pub(crate) fn is_secret(document: &Tree) -> bool {
    document.text_at(&["kind"]).as_deref() == Some("Secret")
        && ["data", "stringData"]
            .iter()
            .any(|key| document.at(&[key, "value"]).is_some())
}

/// Reads a stream of manifests.
pub(crate) fn read(input: &Import<'_>, documents: &[&Tree]) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::ClusterApi);
    for config in documents
        .iter()
        .filter_map(|document| BootstrapConfig::of(input, document, documents))
    {
        reading.add(&config.name, config.machine());
    }
    for document in documents.iter().filter(|document| is_secret(document)) {
        let name = secret_name(document);
        if config::is_unused_secret(&name, documents) {
            continue;
        }
        let machine = secret::machine(&name, document);
        reading.add(
            &name,
            machine.map(|machine| config::with_owner(machine, &name, documents)),
        );
    }
    for document in documents
        .iter()
        .filter(|document| managed_pool::is_alone(document))
    {
        if let Some(machine) = managed_pool::described(document) {
            let name = machine.name.clone();
            reading.add(&name, config::of_pool(machine, document, documents));
        }
    }
    reading.notes.extend(references::missing(documents));
    reading.finish(
        "it has neither EKSConfig, NodeadmConfig, KubeadmConfig nor a bootstrap Secret",
        "give the bootstrap configuration of a MachineDeployment or MachinePool, or its Secret: `kubectl get secret NAME -o yaml`",
    )
}

/// Reads bootstrap Secrets.
pub(crate) fn read_secrets(documents: &[&Tree]) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::BootstrapSecret);
    for document in documents.iter().filter(|document| is_secret(document)) {
        let name = secret_name(document);
        reading.add(&name, secret::machine(&name, document));
    }
    reading.finish("the Secret has no value", "wait until Cluster API has written it")
}

fn secret_name(document: &Tree) -> String {
    document
        .text_at(&["metadata", "name"])
        .unwrap_or_else(|| "secret".to_owned())
}
