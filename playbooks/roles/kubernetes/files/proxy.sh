#!/bin/sh
# Says `restart: …` when the kubelet runs with a proxy that is older than our file.
set -eu
file=/etc/gpustack-cluster/proxy.env
[ -e "$file" ] && systemctl --quiet is-active kubelet || exit 0
# For the zone of TZ; only UTC's name means the same to every date(1). `--timestamp=unix` needs systemd 251.
start_time=$(TZ=UTC systemctl show -p ActiveEnterTimestamp --value kubelet)
start_time=$(date -d "$start_time" +%s)
[ "$(stat -c %Y "$file")" -le "$start_time" ] || echo "restart: $file is newer than the running kubelet"
