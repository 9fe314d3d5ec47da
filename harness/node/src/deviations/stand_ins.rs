//! The programs and units of deviations.

use super::DeviationKind;

impl DeviationKind {
    /// The programs and units that the harness lays down in place of those of an AMI. `stubs: none` switches them off.
    #[must_use]
    pub fn stand_ins(self) -> &'static [&'static str] {
        match self {
            Self::DiskTools => &[
                "/usr/sbin/mkfs",
                "/usr/sbin/mkfs.ext4",
                "/usr/sbin/mdadm",
                "/usr/sbin/blkid",
                "/usr/bin/file",
                "/usr/sbin/wipefs",
                "/usr/sbin/fdisk",
                "/usr/sbin/blockdev",
                "/usr/sbin/partprobe",
                "/usr/sbin/resize2fs",
                "/usr/sbin/xfs_growfs",
                "/usr/sbin/pvcreate",
                "/usr/sbin/vgcreate",
                "/usr/sbin/vgextend",
                "/usr/sbin/lvcreate",
                "/usr/bin/lsblk",
                "/usr/bin/mount",
            ],
            Self::PackageStubs => &[
                "/usr/bin/yum",
                "/usr/bin/dnf",
                "/usr/bin/rpm",
                "/usr/bin/amazon-linux-extras",
            ],
            Self::AgentStub => &[
                "/usr/lib/systemd/system/amazon-ssm-agent.service",
                "/usr/lib/systemd/system/auditd.service",
                "/usr/lib/systemd/system/chronyd.service",
                "/usr/lib/systemd/system/crond.service",
                "/usr/lib/systemd/system/irqbalance.service",
                "/usr/lib/systemd/system/rsyslog.service",
                "/usr/lib/systemd/system/sshd.service",
            ],
            Self::TrustStoreTool => &["/usr/bin/update-ca-trust"],
            Self::MetadataTool => &["/usr/bin/ec2-metadata"],
            Self::SystemTools => &[
                "/usr/bin/udevadm",
                "/usr/bin/getenforce",
                "/usr/bin/setenforce",
                "/usr/bin/sestatus",
                "/usr/bin/restorecon",
                "/usr/bin/chronyc",
                "/usr/bin/chkconfig",
                "/usr/bin/crontab",
                "/usr/bin/dracut",
                "/usr/sbin/auditctl",
                "/usr/sbin/augenrules",
                "/usr/sbin/ebsnvme-id",
                "/usr/sbin/mkfs.xfs",
                "/usr/sbin/nvme",
            ],
            Self::ModuleTool => &["/usr/local/sbin/modprobe"],
            Self::CloudFormationTools => &[
                "/opt/aws/bin/cfn-init",
                "/opt/aws/bin/cfn-signal",
                "/opt/aws/bin/cfn-get-metadata",
            ],
            _ => &[],
        }
    }
}
