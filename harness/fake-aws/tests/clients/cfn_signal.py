"""Runs AWS' cfn-signal, which is written for Python 2 and was translated: `cfn_signal.py PROGRAM ARGUMENTS...`

Its own copy of requests is as old as it is, so today's takes its place; the link-local address leads to METADATA, as it is
redirected in a node. Nothing of what it asks and signs is touched.
"""
import base64
import hashlib
import os
import runpy
import sys
import threading
import types

import requests
import requests.api
import requests.exceptions

# Gone from Python 3.12 on; asked only whether the program was made by py2exe.
sys.modules["imp"] = types.SimpleNamespace(is_frozen=lambda name: False)
import cfnbootstrap
import cfnbootstrap.packages

for name in ("requests", "requests.api", "requests.exceptions"):
    sys.modules["cfnbootstrap.packages." + name] = sys.modules[name]
cfnbootstrap.packages.requests = requests
# It would write below /var/log.
cfnbootstrap.configureLogging = lambda *_, **__: None
get, encode = requests.get, base64.b64encode
requests.get = lambda url, **more: get(url.replace("http://169.254.169.254", os.environ["METADATA"]), **more)
# What Python 2 has under these names.
threading.Thread.isAlive = threading.Thread.is_alive
sha256 = hashlib.sha256
hashlib.sha256 = lambda text=b"": sha256(text.encode() if isinstance(text, str) else text)
base64.b64encode = lambda text: encode(text.encode()).decode()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
