#!/bin/sh
# Takes our chains and the jumps to them out of the tables of the host, and what loads those of gpustack at boot.
# Follows remove-agreed.sh. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
if is_agreed remove /etc/systemd/system/nftables.service.d/gpustack.conf; then
  drop /etc/systemd/system/nftables.service.d/gpustack.conf
  systemctl daemon-reload
fi
drop /usr/local/lib/gpustack/firewall-nftables /usr/share/netfilter-persistent/plugins.d/50-gpustack
drop_empty /etc/systemd/system/nftables.service.d
drop_empty /usr/local/lib/gpustack

command -v nft >/dev/null || exit 0
tables=$(nft list tables)
printf '%s\n' "$tables" | while read -r _ family table _; do
  case $family in ip | inet) ;; *) continue ;; esac
  rules=$(nft -a list table "$family" "$table")
  commands=$(printf '%s\n' "$rules" | awk -v path="$family $table" '
    $1 == "chain" { chain = $2 }
    $1 == "chain" && /^[ \t]*chain gpustack_(in|forward|out) / { ours = ours "flush chain " path " " $2 "\ndelete chain " path " " $2 "\n" }
    $1 == "jump" && $2 ~ /^gpustack_(in|forward|out)$/ { print "delete rule " path " " chain " handle " $NF }
    END { printf "%s", ours }')
  [ -n "$commands" ] || continue
  printf '%s\n' "$commands" | nft -f -
  echo "changed: our chains in table $family $table"
done
