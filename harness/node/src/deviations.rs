//! Names every change that the harness makes to what the AMI would have.

use nodejoin_core::observation::Deviation;
use nodejoin_core::plan::{Cni, Network, UserDataEngine};

use crate::ask::NodeAsk;
use crate::host::Host;

/// The changes made to this node.
pub(crate) fn of(ask: &NodeAsk<'_>, host: Host) -> Vec<Deviation> {
    let mut all = vec![
        deviation(
            "redirected-addresses",
            "169.254.169.254, the resolver and the addresses of AWS' host names are redirected by iptables in the node's own network",
            "the fake AWS is reached at the real addresses, so that no program needs to know that it is tested",
        ),
        deviation(
            "trusted-authority",
            "the system's bundle of certificate authorities has one more, and `/etc/resolv.conf` names the harness's resolver",
            "the fake AWS serves TLS under AWS' own host names",
        ),
        deviation(
            "private-kernel-settings",
            "/proc/sys/{kernel,vm,fs} are copies with EKS' kernel settings, each boot has an id of its own, /sys is read-only and its PCI bus empty but for a GPU of the instance's type, and the clock and kernel modules cannot be changed",
            "these belong to the host, and a kubelet rewrites them",
        ),
        deviation(
            "journal-stream",
            "a unit follows the journal into the container's output, and the journal leaves out the kernel's messages",
            "every line is seen from the first on, none is lost when the node is gone, and the kernel's are the host's",
        ),
    ];
    match ask
        .plan
        .user_data
        .as_ref()
        .map_or(UserDataEngine::CloudInit, |data| data.engine)
    {
        UserDataEngine::CloudInit => all.push(deviation(
            "cloud-init-data-source",
            "cloud-init is told by a module of a few lines that it is on EC2, leaves the network alone, and is loaded once for its four stages, as its release 24.3 does by itself",
            "in a container it does not read the firmware's tables, from which it would know; loading it four times takes longer than a join",
        )),
        UserDataEngine::Direct => all.push(deviation(
            "direct-user-data",
            "user data is run by a unit of the harness, and cloud-init is disabled",
            "the scenario asks for the engine `direct`",
        )),
    }
    if ask.plan.instance.clock_ahead_seconds != 0 {
        all.push(deviation(
            "clock-of-aws",
            "the clocks of AWS and of the authenticator are moved against the node's; certificates keep this machine's time",
            "a container has no clock of its own, and its kubelet is no program whose clock could be moved by itself",
        ));
    }
    if host.clamps_limits {
        all.push(deviation(
            "runc-clamp",
            "a `runc` first on PATH, and in the place of the real one, takes raised limits and negative OOM scores out of the containers' specifications",
            "this host lacks CAP_SYS_RESOURCE, without which no pod would start",
        ));
    }
    if host.is_refused {
        all.push(deviation(
            "cgroup-v1-allowed",
            "the kubelet is started with `--fail-cgroupv1=false` behind all other arguments",
            "this host has control groups of version 1, with which this kubelet would end at once",
        ));
    }
    if ask.plan.cni == Cni::Bridge {
        all.push(deviation(
            "cni-bridge",
            "a CNI configuration with addresses of the node's own is in /etc/cni/net.d",
            "on EKS the VPC CNI's pod lays one down, and it needs the real EC2",
        ));
    }
    if ask.plan.cluster.maps_windows() {
        all.push(deviation(
            "no-windows-kubelet",
            "a role that is mapped as one of Windows nodes is given to a node that runs Linux",
            "a container has the kernel of its host: what the API server lets such a role do is shown, and nothing of Windows",
        ));
    }
    if !ask.plan.instance.network.ipv6.is_empty() {
        all.push(deviation(
            "ipv6-on-loopback",
            "the node's addresses of IPv6 are on its loopback interface, and lead nowhere",
            "the run's network is one of IPv4, and rules that confine a node are for that",
        ));
    }
    if ask.plan.instance.metadata.ipv6 {
        all.push(deviation(
            "ipv6-metadata-on-loopback",
            "fd00:ec2::254 is on the node's loopback interface, and a socket unit leads its port 80 to 169.254.169.254",
            "the run's network is one of IPv4; the same service answers at both addresses",
        ));
    }
    if !ask.plan.instance.network.interfaces.is_empty() {
        all.push(deviation(
            "interfaces-lead-nowhere",
            "the network interfaces after the first one have their MAC and private addresses, and nobody is at their other ends",
            "a container is in its run's network once; what is done by way of the others would not be confined",
        ));
    }
    all.push(match ask.plan.network {
        Network::Isolated => deviation(
            "isolated-network",
            "the default route leads to a neighbour that is not there, and rules in the table `mangle` let the node reach nothing of the host but the fakes",
            "what a node cannot reach it cannot change, and a join that depends on anything else is not one that can be repeated",
        ),
        Network::Open => deviation(
            "open-network",
            "the node reaches what the container engine's networks reach, and names that are not faked are asked of the engine's resolver",
            "the scenario asks for `network: open`",
        ),
    });
    all
}

fn deviation(name: &str, what: &str, why: &str) -> Deviation {
    Deviation {
        name: name.to_owned(),
        what: what.to_owned(),
        why: why.to_owned(),
    }
}
