"""EC2's data source for a container, where cloud-init reads no DMI and so does not detect AWS."""
from cloudinit import sources
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


datasources = [(DataSourceEc2, (sources.DEP_FILESYSTEM, sources.DEP_NETWORK))]


def get_datasource_list(depends):
    return sources.list_from_depends(depends, datasources)
