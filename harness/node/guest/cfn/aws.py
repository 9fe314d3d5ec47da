"""Requests of the programs of aws-cfn-bootstrap: to CloudFormation, S3 and the metadata service."""
import base64
import collections
import datetime
import hashlib
import hmac
import json
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request

METADATA = os.environ.get("NODEJOIN_METADATA", "http://169.254.169.254") + "/latest/"
METADATA_TRIES, API_TRIES, LONGEST_PAUSE = 10, 5, 20.0
# Without a proxy of the environment.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Credentials = collections.namedtuple("Credentials", "key secret token")


class AwsError(Exception):
    """A request that failed, with the message of the service."""


def request(url, method="GET", headers=None, opener=None, tries=API_TRIES):
    """The body of a response. Requests that may succeed later are repeated after growing random pauses."""
    opener = opener or urllib.request.build_opener()
    for attempt in range(tries):
        is_last = attempt + 1 == tries
        try:
            sent = urllib.request.Request(url, method=method, headers=headers or {})
            with opener.open(sent, timeout=10) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            if is_last or (error.code < 500 and "Throttl" not in text):
                raise AwsError(message_of(error, text))
        except OSError as error:
            if is_last:
                raise AwsError(f"{getattr(error, 'reason', error)}: {url.split('?')[0]}")
        time.sleep(random.uniform(0, min(LONGEST_PAUSE, 2.0**attempt)))


def message_of(error, text):
    try:
        details = json.loads(text)["Error"]
        return f"{details['Code']}: {details['Message']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code} {error.reason}: {text.strip()[:300]}"


def metadata(path):
    """A value of the metadata service, with a session token."""
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "600"}
    token = request(METADATA + "api/token", "PUT", lifetime, DIRECT, METADATA_TRIES).decode()
    return request(METADATA + path, "GET", {"X-aws-ec2-metadata-token": token}, DIRECT, METADATA_TRIES)


def role_credentials(role):
    found = json.loads(metadata("meta-data/iam/security-credentials/" + urllib.parse.quote(role)))
    return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["Token"])


def file_credentials(path):
    """The keys of a file with lines such as `AWSAccessKeyId=KEY`."""
    with open(path) as file:
        pairs = dict(line.strip().split("=", 1) for line in file if "=" in line)
    try:
        return Credentials(pairs["AWSAccessKeyId"], pairs["AWSSecretKey"], None)
    except KeyError as missing:
        raise AwsError(f"{path} has no {missing.args[0]}")


def chosen_credentials(options):
    """The credentials that the options select. Without any, the instance proves itself with its identity document."""
    if options.credential_file:
        return file_credentials(options.credential_file)
    if options.role:
        return role_credentials(options.role)
    if options.access_key and options.secret_key:
        return Credentials(options.access_key, options.secret_key, None)
    return None


def cloudformation(options, action, parameters):
    """The response to an action, which is JSON."""
    suffix = "amazonaws.com.cn" if options.region.startswith("cn-") else "amazonaws.com"
    base = options.url or f"https://cloudformation.{options.region}.{suffix}"
    parameters = dict(parameters, Action=action, ContentType="JSON", Version="2010-05-15")
    query = urllib.parse.urlencode(sorted(parameters.items()), quote_via=urllib.parse.quote)
    url = f"{base.rstrip('/')}/?{query}"
    headers = {"Accept": "application/json"}
    credentials = chosen_credentials(options)
    if credentials:
        headers.update(signature(url, options.region, "cloudformation", credentials))
    else:
        headers["Authorization"] = identity()
    given = {"http": options.http_proxy, "https": options.https_proxy}
    given = {scheme: proxy for scheme, proxy in given.items() if proxy}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(given)) if given else None
    return json.loads(request(url, "GET", headers, opener))


def identity():
    """The identity document and its signature, under the scheme CFN_V1."""
    document = base64.b64encode(metadata("dynamic/instance-identity/document")).decode()
    signed = metadata("dynamic/instance-identity/signature").decode().replace("\n", "")
    return f"CFN_V1 {document}:{signed}"


def signature(url, region, service, credentials):
    """The headers that sign a GET request, Signature Version 4."""
    parts = urllib.parse.urlsplit(url)
    now = datetime.datetime.utcnow().strftime("%Y%m%dT%H%M%SZ")
    payload = hashlib.sha256(b"").hexdigest()
    headers = {"host": parts.netloc, "x-amz-content-sha256": payload, "x-amz-date": now}
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = ";".join(sorted(headers))
    lines = [f"{name}:{headers[name]}" for name in sorted(headers)]
    pairs = sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    query = urllib.parse.urlencode(pairs, quote_via=urllib.parse.quote)
    path = urllib.parse.quote(urllib.parse.unquote(parts.path or "/"), safe="/-_.~")
    canonical = "\n".join(["GET", path, query, *lines, "", names, payload])
    scope = f"{now[:8]}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + credentials.secret.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signed = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    del headers["host"]
    proof = f"AWS4-HMAC-SHA256 Credential={credentials.key}/{scope}, SignedHeaders={names}, Signature={signed}"
    return dict(headers, Authorization=proof)
