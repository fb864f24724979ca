#!/bin/sh
# Says `restart: …` when the kubelet runs with a proxy that is older than our file.
set -eu
file=/etc/gpustack/proxy.env
[ -e "$file" ] && systemctl --quiet is-active kubelet || exit 0
started=$(systemctl show --timestamp=unix -p ActiveEnterTimestamp --value kubelet)
[ "$(stat -c %Y "$file")" -le "${started#@}" ] || echo "restart: $file is newer than the running kubelet"
