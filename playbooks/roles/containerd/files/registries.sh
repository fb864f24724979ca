#!/bin/sh
# Points containerd at the mirror for every registry that we use, or takes that away again when there is no mirror.
# containerd reads these files at each pull, so nothing is restarted. Files that are not ours stay as they are.
# Reads MIRROR (an address, or empty). Says `changed: …` for what it did.
set -eu
cd /etc/containerd/certs.d
ours() { grep -qs '^# Written by gpustack' "$1"; }
for registry in docker.io ghcr.io nvcr.io quay.io registry.k8s.io; do
  file=$registry/hosts.toml
  if [ -e "$file" ] && ! ours "$file"; then
    continue
  fi
  if [ -z "$MIRROR" ]; then
    [ -e "$file" ] || continue
    rm "$file"
    rmdir --ignore-fail-on-non-empty "$registry"
    echo "changed: removed $file"
    continue
  fi
  wanted="# Written by gpustack; a change here is undone by the next install.
# The server is the mirror, too: nothing is fetched from the public registry.
server = \"$MIRROR\"

[host.\"$MIRROR\"]
  capabilities = [\"pull\", \"resolve\"]"
  [ "$(cat "$file" 2>/dev/null)" != "$wanted" ] || continue
  mkdir -p "$registry"
  printf '%s\n' "$wanted" >"$file"
  chmod 0644 "$file"
  echo "changed: wrote $file"
done
