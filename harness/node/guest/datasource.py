"""EC2's data source for a container, where cloud-init reads no DMI and so does not detect AWS."""
from cloudinit import sources
from cloudinit.sources import DataSourceEc2 as ec2


class DataSourceEc2(ec2.DataSourceEc2):
    """Overrides the detected platform; everything else, including the name, is the original."""

    dsname = "Ec2"

    @property
    def cloud_name(self):
        return ec2.CloudNames.AWS


datasources = [(DataSourceEc2, (sources.DEP_FILESYSTEM, sources.DEP_NETWORK))]


def get_datasource_list(depends):
    return sources.list_from_depends(depends, datasources)
