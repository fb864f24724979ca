#!/bin/sh
# Takes our table for the metrics out of the kernel, and what loads it at boot. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
unit=gpustack-firewall-metrics.service
if [ -e "/etc/systemd/system/$unit" ]; then
  systemctl -q disable --now "$unit" >&2
  rm "/etc/systemd/system/$unit"
  systemctl daemon-reload
  echo "changed: no $unit"
fi
if [ -e /usr/local/lib/gpustack/firewall-metrics ]; then
  rm /usr/local/lib/gpustack/firewall-metrics
  rmdir --ignore-fail-on-non-empty /usr/local/lib/gpustack
  echo "changed: removed /usr/local/lib/gpustack/firewall-metrics"
fi

command -v nft >/dev/null || exit 0
tables=$(nft list tables)
if printf '%s\n' "$tables" | grep -qx 'table inet gpustack_metrics'; then
  nft delete table inet gpustack_metrics
  echo "changed: no table inet gpustack_metrics"
fi
