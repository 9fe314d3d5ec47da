#!/bin/sh
# Installs nodejoin: downloads the binary of a release, verifies its checksum, and puts it into a folder.
#
#   install.sh [--to FOLDER] [--from URL] [--attested-by OWNER/REPOSITORY]
#
# FOLDER is $HOME/.local/bin by default. URL is the address of a release's files; a published copy of this script has
# that of its own release. With `--attested-by`, and if gh is installed, the binary must be attested by a workflow of
# that repository on GitHub; gh needs a token for that. Needs curl or wget, tar, gzip and sha256sum.
#
# Exits with 3 if a file could not be downloaded, and with 1 for any other failure.
set -eu

from='@RELEASE@'
to=${HOME:-}/.local/bin
repository=

fail() {
  echo "error: $1" >&2
  [ -z "${2:-}" ] || echo "  do: $2" >&2
  exit "${3:-1}"
}

while [ $# -gt 0 ]; do
  case $1 in
    --to) to=${2:?--to needs a folder} ;;
    --from) from=${2:?--from needs a URL} ;;
    --attested-by) repository=${2:?--attested-by needs OWNER/REPOSITORY} ;;
    *) fail "unknown option \`$1\`" "use \`--to FOLDER\`, \`--from URL\` or \`--attested-by OWNER/REPOSITORY\`" ;;
  esac
  shift 2
done
case $from in
  *@RELEASE@*) fail "this copy of install.sh belongs to no release" "pass \`--from URL\`, or take the copy of a release" ;;
esac
case $(uname -s) in
  Linux) ;;
  *) fail "nodejoin runs on Linux, this is $(uname -s)" ;;
esac
case $(uname -m) in
  x86_64) arch=x86_64 ;;
  aarch64 | arm64) arch=aarch64 ;;
  *) fail "there is no binary for $(uname -m)" "build it: \`cargo install --git URL nodejoin\`" ;;
esac

name=nodejoin-linux-$arch.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

download() {
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --retry 2 --output "$work/$1" "$from/$1"
  elif command -v wget >/dev/null; then
    wget --quiet --output-document "$work/$1" "$from/$1"
  else
    fail "there is neither curl nor wget" "install one of them"
  fi || fail "could not download $from/$1" "check the address and your network" 3
}

download "$name"
download "$name.sha256"
(cd "$work" && sha256sum --check --status "$name.sha256") ||
  fail "$name does not match its checksum" "try again; if it fails again, report it: the file may have been replaced"
if [ -n "$repository" ] && command -v gh >/dev/null; then
  gh attestation verify "$work/$name" --repo "$repository" ||
    fail "$name is not attested by a workflow of $repository" "report it: the file may have been replaced"
fi
tar -xzf "$work/$name" -C "$work" nodejoin || fail "$name contains no nodejoin"
mkdir -p "$to" || fail "could not create $to" "pass \`--to FOLDER\` with a folder of yours"
# Moved within one file system, so that a running nodejoin keeps its file.
cp "$work/nodejoin" "$to/.nodejoin.$$" || fail "could not write to $to" "pass \`--to FOLDER\` with a folder of yours"
chmod 0755 "$to/.nodejoin.$$"
mv "$to/.nodejoin.$$" "$to/nodejoin"
echo "installed $("$to/nodejoin" --version) as $to/nodejoin"
case :${PATH:-}: in
  *":$to:"*) ;;
  *) echo "note: $to is not on your PATH" ;;
esac
