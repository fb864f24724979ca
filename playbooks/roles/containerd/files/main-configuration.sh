#!/bin/sh
# Says the main configuration as it is, and as it was before us by the copy of the record; base64, a line each.
set -eu
main=/etc/containerd/config.toml
id=$(printf %s "$main" | sha256sum | cut -c 1-16)
copy=/var/lib/gpustack-cluster/before/$id-config.toml
[ -e "$main" ] && [ -e "$copy" ] || exit 0
base64 -w0 "$main"
echo
base64 -w0 "$copy"
