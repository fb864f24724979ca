#!/bin/sh
# Takes our table for the metrics out of the kernel, and what loads it at boot. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
cd /etc/systemd/system
if [ -e nftables.service.d/gpustack-metrics.conf ]; then
  rm nftables.service.d/gpustack-metrics.conf
  rmdir --ignore-fail-on-non-empty nftables.service.d
  systemctl daemon-reload
  echo "changed: nftables.service loads our table no more"
fi
if [ -e gpustack-firewall-metrics.service ]; then
  systemctl -q disable --now gpustack-firewall-metrics.service >&2
  rm gpustack-firewall-metrics.service
  systemctl daemon-reload
  echo "changed: no gpustack-firewall-metrics.service"
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
