"""EC2's data source for a container, where cloud-init reads no DMI and so does not detect AWS.

Each stage of cloud-init loads it, so that it also puts yum in place of Debian's package tools.
"""
import os
import shutil

from cloudinit import sources
from cloudinit.distros import debian
from cloudinit.sources import DataSourceEc2 as ec2


class DataSourceEc2(ec2.DataSourceEc2):
    """Overrides the detected platform and the network; everything else, including the name, is the original."""

    dsname = "Ec2"

    @property
    def cloud_name(self):
        return ec2.CloudNames.AWS

    @property
    def network_config(self):
        """None: the interface is configured, and newer releases fail without a program that would configure it."""
        return None


PACKAGES = "/opt/nodejoin/packages"


def call_yum(_distribution, command, _arguments=None, pkgs=None):
    """Not dnf, which Amazon Linux 2 does not have; on Amazon Linux 2023 yum is a link to it."""
    from cloudinit import subp, util
    subp.subp(["yum", "-y", command, *util.expand_package_list("%s-%s", pkgs or [])], capture=False)


# `packages` and `package_update` call the stand-in for yum where the node has one.
if os.path.realpath(shutil.which("yum") or "") == PACKAGES:
    debian.Distro.package_command = call_yum
    debian.Distro.install_packages = lambda self, names: self.package_command("install", pkgs=names)
    debian.Distro.update_package_sources = lambda self, **_: self.package_command("makecache")

datasources = [(DataSourceEc2, (sources.DEP_FILESYSTEM, sources.DEP_NETWORK))]


def get_datasource_list(depends):
    return sources.list_from_depends(depends, datasources)
