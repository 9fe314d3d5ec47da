"""What cloud-init's EC2 data source gets of a metadata service: `crawl.py URL FOLDER`.

The one thing that is not cloud-init's is the platform, which it reads from DMI.
"""
import json
import sys

from cloudinit import helpers
from cloudinit.sources import DataSourceEc2 as ec2


class OnAws(ec2.DataSourceEc2):
    @property
    def cloud_name(self):
        return ec2.CloudNames.AWS


url, folder = sys.argv[1:]
settings = {"metadata_urls": [url], "max_wait": 3, "timeout": 2}
paths = helpers.Paths({"cloud_dir": folder, "run_dir": folder})
source = OnAws({"datasource": {"Ec2": settings}}, None, paths)
data = source.crawl_metadata()
print(json.dumps({"found": bool(data), **data}, default=lambda raw: raw.decode("latin-1")))
