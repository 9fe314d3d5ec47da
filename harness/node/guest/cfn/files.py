"""The sections `files` and `sources` of cfn-init, and the downloads of both."""
import base64
import binascii
import grp
import io
import json
import os
import pwd
import re
import stat
import tarfile
import urllib.parse
import zipfile

import aws
import mustache
from report import LOG, BuildError, Unknown

S3_HOST = re.compile(r"^(?:(?P<bucket>[-\w.]+)\.)?s3(?:[.-](?P<region>[a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?$")
GITHUB_ARCHIVE = re.compile(r"^https?://github\.com/.*?/(zipball|tarball)/")


def write(entries, downloads):
    """Writes files. Returns the paths whose content is new."""
    return [path for path, entry in sorted(entries.items()) if write_one(path, entry or {}, downloads)]


def write_one(path, entry, downloads):
    if not os.path.isabs(path):
        raise BuildError(f"File specified with non-absolute path: {path}")
    mode = mode_of(path, entry)
    # Only the mode shows that an entry is a link.
    is_link = mode is not None and stat.S_ISLNK(mode)
    if is_link and "content" not in entry:
        raise BuildError("Symbolic link specified without a destination")
    if is_link and os.path.realpath(path) == os.path.realpath(entry["content"]):
        return False
    content = None if is_link else content_of(path, entry, downloads)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    is_new = is_link or not has_content(path, content)
    if os.path.lexists(path) and (is_new or not os.path.exists(path + ".bak")):
        os.replace(path, path + ".bak")
    if is_link:
        os.symlink(entry["content"], path)
    else:
        with open(path, "wb") as file:
            file.write(content)
    if mode is not None:
        # That of a link's target, as there.
        os.chmod(path, stat.S_IMODE(mode))
    set_owner(path, entry.get("owner"), entry.get("group"))
    return is_new


def mode_of(path, entry):
    if "mode" not in entry:
        return None
    try:
        return int(str(entry["mode"]), 8)
    except ValueError:
        raise BuildError(f"invalid mode `{entry['mode']}` of {path}: expected an octal number, such as 000644")


def has_content(path, content):
    try:
        with open(path, "rb") as file:
            return file.read() == content
    except OSError:
        return False


def set_owner(path, owner, group):
    user_id = group_id = -1
    if owner:
        try:
            user_id = pwd.getpwnam(owner).pw_uid
        except KeyError:
            raise BuildError(f"{owner} is not a valid user name")
    if group:
        try:
            group_id = grp.getgrnam(group).gr_gid
        except KeyError:
            raise BuildError(f"{group} is not a valid group name")
    os.lchown(path, user_id, group_id)


def content_of(path, entry, downloads):
    content, context = entry.get("content", ""), entry.get("context")
    encoding = entry.get("encoding", "plain")
    if encoding not in ("plain", "base64"):
        raise BuildError(f"invalid encoding `{encoding}` of {path}: expected plain or base64")
    if not content:
        if not entry.get("source"):
            raise BuildError(f"File specified without source or content: {path}")
        found = downloads.get(entry["source"], entry.get("authentication"))
        return found if context is None else rendered(found.decode(), context)
    if not isinstance(content, str):
        return json.dumps(content).encode()
    if encoding == "base64":
        try:
            return base64.b64decode(content.strip())
        except binascii.Error:
            raise BuildError(f"Malformed base64: {content}")
    return content.encode() if context is None else rendered(content, context)


def rendered(template, context):
    try:
        return mustache.render(template, context).encode()
    except ValueError as error:
        raise BuildError(f"Failed to render content as a Mustache template: {error}")


def check_sources(at, entries):
    for folder, location in entries.items():
        if not isinstance(location, str):
            raise Unknown(f"`{at}.{folder}` is not a location")
        if GITHUB_ARCHIVE.match(location.lower()):
            raise Unknown(f"`{at}.{folder}` is an archive that GitHub makes of a tree")


def unpack(entries, downloads):
    """Unpacks archives into folders. Returns the folders."""
    for folder, location in sorted(entries.items()):
        if re.match(r"^https?://", location):
            archive = io.BytesIO(downloads.get(location, None))
        else:
            with open(location, "rb") as file:
                archive = io.BytesIO(file.read())
        LOG.debug("Expanding %s into %s", location, folder)
        extract(archive, folder, location)
    return sorted(entries)


def extract(archive, folder, location):
    try:
        opened = tarfile.open(fileobj=archive, mode="r:*")
        names = opened.getnames()
    except tarfile.TarError:
        try:
            opened = zipfile.ZipFile(archive)
            names = opened.namelist()
        except zipfile.BadZipFile:
            raise BuildError(f"Unsupported source file (not zip or tarball): {location}")
    inside = os.path.join(os.path.abspath(folder), "")
    for name in names:
        if not os.path.join(os.path.abspath(os.path.join(inside, name)), "").startswith(inside):
            raise BuildError(f"{name} is not a sub-path of {folder}")
    os.makedirs(folder, exist_ok=True)
    opened.extractall(folder)


class Downloads:
    """Reads URLs, with the proofs of `AWS::CloudFormation::Authentication`."""

    def __init__(self, authentication, region):
        self.authentication, self.region = authentication, region

    def get(self, url, name):
        if not re.match(r"^https?://", url):
            raise BuildError(f"Failed to retrieve {url}: expected a URL of http or https")
        LOG.debug("Retrieving contents from %s", url)
        try:
            return aws.request(url, headers=self.proof(url, name))
        except aws.AwsError as error:
            raise BuildError(f"Failed to retrieve {url}: {error}")

    def proof(self, url, name):
        """The headers of the entry that has the name, or else lists the bucket or the host."""
        host = urllib.parse.urlsplit(url).netloc
        for key, entry in sorted(self.authentication.items()):
            kind = entry.get("type", "").lower()
            if kind not in ("s3", "basic"):
                raise BuildError(f"Unrecognized authentication type: {entry.get('type')}")
            listed = entry.get("buckets" if kind == "s3" else "uris", [])
            listed = [listed] if isinstance(listed, str) else listed
            is_listed = (bucket_of(url) if kind == "s3" else host) in listed
            if key == name or (name not in self.authentication and is_listed):
                return self.s3(url, entry) if kind == "s3" else basic(entry)
        return {}

    def s3(self, url, entry):
        if entry.get("accessKeyId") and entry.get("secretKey"):
            credentials = aws.Credentials(entry["accessKeyId"], entry["secretKey"], None)
        elif entry.get("roleName"):
            credentials = aws.role_credentials(entry["roleName"])
        else:
            raise BuildError('S3 auth requires either "accessKeyId" and "secretKey" or "roleName"')
        found = S3_HOST.match(urllib.parse.urlsplit(url).netloc)
        region = found.group("region") if found else None
        return aws.signature(url, region or self.region, "s3", credentials)


def bucket_of(url):
    parts = urllib.parse.urlsplit(url)
    found = S3_HOST.match(parts.netloc)
    if not found:
        return None
    return found.group("bucket") or parts.path.lstrip("/").split("/")[0]


def basic(entry):
    pair = f"{entry.get('username')}:{entry.get('password')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
