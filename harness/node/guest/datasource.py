"""EC2's own data source for a container: cloud-init reads no DMI there and so cannot tell that it is on AWS."""
from cloudinit import sources
from cloudinit.sources import DataSourceEc2 as ec2


class DataSourceEc2(ec2.DataSourceEc2):
    """Tells the platform; everything else, the name too, is the original."""

    dsname = "Ec2"

    @property
    def cloud_name(self):
        return ec2.CloudNames.AWS


datasources = [(DataSourceEc2, (sources.DEP_FILESYSTEM, sources.DEP_NETWORK))]


def get_datasource_list(depends):
    return sources.list_from_depends(depends, datasources)
