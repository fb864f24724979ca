#!/bin/sh
# Makes the folders and files that containerd's configuration needs, and points containerd at the mirror for every
# registry that we use, or takes that away again when there is no mirror. containerd reads the files of certs.d at each
# pull, so nothing is restarted for them. Files that are not ours stay as they are.
# Reads MIRROR (an address, or empty), and on standard input what to say as Authorization (may be empty). Says `changed: …` for what it did.
set -eu
HEADER='# Written by gpustack; a change here is undone by the next install.'
read -r authorization || :
cd /etc/containerd
for folder in conf.d certs.d; do
  [ ! -d "$folder" ] || continue
  mkdir -m 0755 "$folder"
  echo "changed: made $folder"
done
if [ ! -e config.toml ]; then
  echo 'version = 3' >config.toml
  echo "changed: made config.toml"
fi
cd certs.d
for registry in docker.io ghcr.io nvcr.io quay.io registry.k8s.io; do
  file=$registry/hosts.toml
  if [ -e "$file" ] && [ "$(head -n 1 "$file")" != "$HEADER" ]; then
    continue
  fi
  if [ -z "$MIRROR" ]; then
    [ -e "$file" ] || continue
    rm "$file"
    rmdir --ignore-fail-on-non-empty "$registry"
    echo "changed: removed $file"
    continue
  fi
  # With the mirror as server, too, nothing is ever fetched from the public registry.
  expected="$HEADER
server = \"$MIRROR\"

[host.\"$MIRROR\"]
  capabilities = [\"pull\", \"resolve\"]"
  mode=0644
  if [ -n "$authorization" ]; then
    mode=0600 expected="$expected
[host.\"$MIRROR\".header]
  Authorization = \"$authorization\""
  fi
  [ "$(cat "$file" 2>/dev/null)" != "$expected" ] || [ "$(stat -c %04a "$file")" != "$mode" ] || continue
  mkdir -p "$registry"
  # Whole or not at all: half a file would pass for somebody else's.
  (umask 077 && printf '%s\n' "$expected" >"$file.new")
  chmod "$mode" "$file.new"
  mv "$file.new" "$file"
  echo "changed: wrote $file"
done
