#!/bin/sh
# Takes our table for the metrics out of the kernel, and what loads it at boot. Follows remove-agreed.sh. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
if is_agreed remove /etc/systemd/system/nftables.service.d/gpustack-metrics.conf; then
  drop /etc/systemd/system/nftables.service.d/gpustack-metrics.conf
  systemctl daemon-reload
fi
if is_agreed remove /etc/systemd/system/gpustack-firewall-metrics.service; then
  systemctl -q disable --now gpustack-firewall-metrics.service >&2
  drop /etc/systemd/system/gpustack-firewall-metrics.service
  systemctl daemon-reload
fi
drop /usr/local/lib/gpustack/firewall-metrics
drop_empty /etc/systemd/system/nftables.service.d
drop_empty /usr/local/lib/gpustack

command -v nft >/dev/null || exit 0
tables=$(nft list tables)
if printf '%s\n' "$tables" | grep -qx 'table inet gpustack_metrics'; then
  nft delete table inet gpustack_metrics
  echo "changed: no table inet gpustack_metrics"
fi
