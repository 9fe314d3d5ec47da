"""The logs of cfn-init, and its errors."""
import logging

LOG = logging.getLogger("cfn.init")
COMMANDS = logging.getLogger("cfn.init.cmd")


class BuildError(Exception):
    """An error that cfn-init reports, too."""


class Unknown(Exception):
    """What this program does not know."""
