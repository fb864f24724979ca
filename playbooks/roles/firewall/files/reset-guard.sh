#!/bin/sh
# Takes our tables $TABLES out of the kernel, and what loads them at boot: firewall-metrics, firewall-node-ports and their
# units, gpustack-firewall-metrics and gpustack-firewall-node-ports. Follows remove-agreed.sh.
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
for name in ${TABLES:?}; do
  dropin=/etc/systemd/system/nftables.service.d/gpustack-$name.conf
  if is_agreed remove "$dropin"; then
    drop "$dropin"
    systemctl daemon-reload
  fi
  unit=gpustack-firewall-$name.service
  if is_agreed remove "/etc/systemd/system/$unit"; then
    systemctl -q disable --now "$unit" >&2
    drop "/etc/systemd/system/$unit"
    systemctl daemon-reload
  fi
  drop "/usr/local/lib/gpustack/firewall-$name"
done
drop_empty /etc/systemd/system/nftables.service.d
drop_empty /usr/local/lib/gpustack

command -v nft >/dev/null || exit 0
tables=$(nft list tables)
for name in $TABLES; do
  table=gpustack_$(printf '%s' "$name" | tr - _)
  if printf '%s\n' "$tables" | grep -qx "table inet $table"; then
    nft delete table inet "$table"
    echo "changed: no table inet $table"
  fi
done
