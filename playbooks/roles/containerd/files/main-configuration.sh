#!/bin/sh
# Says the main configuration as it is, and as the first copy that we kept of it was; base64, a line each.
# Follows kept-copies.sh.
set -eu
first=$(copies /etc/containerd/config.toml | head -n 1)
[ -e /etc/containerd/config.toml ] && [ -n "$first" ] || exit 0
base64 -w0 /etc/containerd/config.toml
echo
base64 -w0 "$first"
